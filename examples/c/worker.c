// An ordinary JetStream program in C. Dsend serves it unchanged.
//   cc -o worker worker.c -lnats && NATS_URL=nats://127.0.0.1:4222 ./worker
#include <stdio.h>
#include <stdlib.h>
#include <nats/nats.h>

static void ok(natsStatus s) {
    if (s != NATS_OK) {
        nats_PrintLastErrorStack(stderr);
        exit(1);
    }
}

int main(void) {
    natsConnection *nc = NULL;
    jsCtx *js = NULL;
    ok(natsConnection_ConnectTo(&nc, getenv("NATS_URL")));
    ok(natsConnection_JetStream(&js, nc, NULL)); // jsOptions.Domain = "dsend" where the server has a JetStream of its own

    jsStreamConfig stream;
    const char *subjects[] = {"mails.>"};
    ok(jsStreamConfig_Init(&stream));
    stream.Name = "mails";
    stream.Subjects = subjects;
    stream.SubjectsLen = 1;
    stream.Retention = js_WorkQueuePolicy;
    ok(js_AddStream(NULL, js, &stream, NULL, NULL));

    jsConsumerConfig consumer;
    int64_t backoff[] = {100 * 1000 * 1000}; // ns
    ok(jsConsumerConfig_Init(&consumer));
    consumer.Durable = "senders";
    consumer.AckPolicy = js_AckExplicit;
    consumer.BackOff = backoff;
    consumer.BackOffLen = 1;
    consumer.MaxDeliver = 3;
    ok(js_AddConsumer(NULL, js, "mails", &consumer, NULL, NULL));

    jsPubAck *ack = NULL;
    ok(js_Publish(&ack, js, "mails.welcome", "to ann@example.org", 18, NULL, NULL));
    printf("on disk as %s %llu\n", ack->Stream, (unsigned long long)ack->Sequence);
    jsPubAck_Destroy(ack);

    natsSubscription *worker = NULL;
    ok(js_PullSubscribe(&worker, js, "mails.>", "senders", NULL, NULL, NULL));
    for (bool done = false; !done;) {
        natsMsgList list = {0};
        jsMsgMetaData *meta = NULL;
        ok(natsSubscription_Fetch(&list, worker, 1, 5000, NULL));
        natsMsg *m = list.Msgs[0];
        ok(natsMsg_GetMetaData(&meta, m));
        printf("%s %.*s, attempt %llu\n", natsMsg_GetSubject(m), natsMsg_GetDataLength(m), natsMsg_GetData(m),
               (unsigned long long)meta->NumDelivered);
        if (meta->NumDelivered == 1) {
            ok(natsMsg_Nak(m, NULL)); // the mail server was away: again in 100 ms
        } else {
            ok(natsMsg_AckSync(m, NULL, NULL));
            printf("done, and that is on disk\n");
            done = true;
        }
        jsMsgMetaData_Destroy(meta);
        natsMsgList_Destroy(&list);
    }
    natsSubscription_Destroy(worker);
    jsCtx_Destroy(js);
    natsConnection_Destroy(nc);
    nats_Close();
    return 0;
}
