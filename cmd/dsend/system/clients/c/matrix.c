// A JetStream client in C does all it can with a queue, and says how it goes:
// matrix [domain].
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <nats/nats.h>

#define PATIENCE 60000 // ms

static natsConnection *nc;
static jsCtx *js;
static natsSubscription *sub;
static char why[512];

// must ends an operation that fails.
#define must(condition)                                                                       \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            const char *last = nats_GetLastError(NULL);                                       \
            snprintf(why, sizeof why, "line %d: %s (%s)", __LINE__, #condition, last ? last : ""); \
            return false;                                                                     \
        }                                                                                     \
    } while (0)

#define ok(call) must((call) == NATS_OK)

static void op(const char *name, bool (*work)(void)) {
    if (work()) {
        printf("pass %s\n", name);
        fflush(stdout);
        return;
    }
    printf("fail %s: %s\n", name, why);
    exit(1);
}

static bool account_info(void) {
    jsAccountInfo *info = NULL;
    ok(js_GetAccountInfo(&info, js, NULL, NULL));
    must(info->Domain != NULL && strcmp(info->Domain, "dsend") == 0);
    jsAccountInfo_Destroy(info);
    return true;
}

static bool stream(natsStatus (*change)(jsStreamInfo **, jsCtx *, jsStreamConfig *, jsOptions *, jsErrCode *), int64_t max) {
    jsStreamConfig config;
    jsStreamInfo *info = NULL;
    const char *subjects[] = {"orders.>"};
    ok(jsStreamConfig_Init(&config));
    config.Name = "orders";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Retention = js_WorkQueuePolicy;
    config.Discard = js_DiscardNew;
    config.MaxMsgs = max;
    ok(change(&info, js, &config, NULL, NULL));
    must(info->Config->MaxMsgs == max);
    jsStreamInfo_Destroy(info);
    return true;
}

static bool stream_create(void) { return stream(js_AddStream, -1); }
static bool stream_update(void) { return stream(js_UpdateStream, 5000); }

static int64_t messages(const char *name) {
    jsStreamInfo *info = NULL;
    if (js_GetStreamInfo(&info, js, name, NULL, NULL) != NATS_OK)
        return -1;
    int64_t n = (int64_t)info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return n;
}

// holds waits until a stream holds so many messages.
static bool holds_in(const char *name, int64_t n) {
    for (int64_t begin = nats_Now(); messages(name) != n; nats_Sleep(10))
        must(nats_Now() - begin < PATIENCE);
    return true;
}

static bool holds(int64_t n) { return holds_in("orders", n); }

static bool stream_info(void) { return holds(0); }

static bool publish_one(const char *id, uint64_t seq, bool duplicate) {
    jsPubOptions options;
    jsPubAck *ack = NULL;
    ok(jsPubOptions_Init(&options));
    options.MsgId = id;
    ok(js_Publish(&ack, js, "orders.new", "one", 3, &options, NULL));
    must(strcmp(ack->Stream, "orders") == 0 && ack->Sequence == seq && ack->Duplicate == duplicate);
    must(ack->Domain != NULL && strcmp(ack->Domain, "dsend") == 0);
    jsPubAck_Destroy(ack);
    return true;
}

static bool publish(void) { return publish_one("1", 1, false); }
static bool publish_again(void) { return publish_one("1", 1, true); }

static bool publish_async(void) {
    jsPubOptions options;
    for (int i = 0; i < 20; i++)
        ok(js_PublishAsync(js, "orders.new", "more", 4, NULL));
    ok(jsPubOptions_Init(&options));
    options.MaxWait = PATIENCE;
    ok(js_PublishAsyncComplete(js, &options));
    return holds(21);
}

static bool stream_purge(void) {
    ok(js_PurgeStream(js, "orders", NULL, NULL));
    return holds(0);
}

static bool consumer(natsStatus (*change)(jsConsumerInfo **, jsCtx *, const char *, jsConsumerConfig *, jsOptions *, jsErrCode *),
                     int64_t ack_wait, int64_t max_deliver) {
    jsConsumerConfig config;
    jsConsumerInfo *info = NULL;
    ok(jsConsumerConfig_Init(&config));
    config.Durable = "w";
    config.AckPolicy = js_AckExplicit;
    config.AckWait = ack_wait * 1000 * 1000 * 1000;
    config.MaxDeliver = max_deliver;
    ok(change(&info, js, "orders", &config, NULL, NULL));
    must(strcmp(info->Name, "w") == 0 && info->Config->AckWait == config.AckWait);
    jsConsumerInfo_Destroy(info);
    return true;
}

static bool consumer_create(void) { return consumer(js_AddConsumer, 30, 3); }
static bool consumer_update(void) { return consumer(js_UpdateConsumer, 3, -1); }

static bool consumer_info(void) {
    jsConsumerInfo *info = NULL;
    ok(js_GetConsumerInfo(&info, js, "orders", "w", NULL, NULL));
    must(info->Config->MaxDeliver == 3);
    jsConsumerInfo_Destroy(info);
    return true;
}

static bool subscribe_by_subject(void) {
    natsSubscription *other = NULL;
    ok(js_PullSubscribe(&other, js, "orders.>", "w", NULL, NULL, NULL));
    ok(natsSubscription_Unsubscribe(other));
    natsSubscription_Destroy(other);
    return true;
}

static bool subscribe_bound(void) {
    jsSubOptions options;
    ok(jsSubOptions_Init(&options));
    options.Stream = "orders";
    options.Consumer = "w";
    ok(js_PullSubscribe(&sub, js, "orders.>", NULL, NULL, &options, NULL));
    return true;
}

static bool put(const char *body) {
    jsPubAck *ack = NULL;
    ok(js_Publish(&ack, js, "orders.new", body, (int)strlen(body), NULL, NULL));
    jsPubAck_Destroy(ack);
    return true;
}

// take waits for the next message. It is the caller's to destroy.
static bool take(natsMsg **msg) {
    natsMsgList list = {0};
    ok(natsSubscription_Fetch(&list, sub, 1, PATIENCE, NULL));
    *msg = list.Msgs[0];
    list.Msgs[0] = NULL;
    natsMsgList_Destroy(&list);
    return true;
}

static bool ack_sync(natsMsg *msg) {
    jsOptions options;
    ok(jsOptions_Init(&options));
    options.Wait = PATIENCE;
    ok(natsMsg_AckSync(msg, &options, NULL));
    natsMsg_Destroy(msg);
    return true;
}

// attempt checks which attempt of which body a message is.
static bool attempt(natsMsg *msg, uint64_t n, const char *body) {
    jsMsgMetaData *meta = NULL;
    ok(natsMsg_GetMetaData(&meta, msg));
    must(meta->NumDelivered == n);
    must(strcmp(meta->Stream, "orders") == 0 && strcmp(meta->Consumer, "w") == 0);
    must(meta->Domain != NULL && strcmp(meta->Domain, "dsend") == 0);
    must((size_t)natsMsg_GetDataLength(msg) == strlen(body) && memcmp(natsMsg_GetData(msg), body, strlen(body)) == 0);
    must(strcmp(natsMsg_GetSubject(msg), "orders.new") == 0);
    jsMsgMetaData_Destroy(meta);
    return true;
}

static bool fetch(void) {
    natsMsgList list = {0};
    must(put("a") && put("b") && put("c"));
    for (int left = 3; left > 0; left -= list.Count, natsMsgList_Destroy(&list)) {
        ok(natsSubscription_Fetch(&list, sub, left, PATIENCE, NULL));
        for (int i = 0; i < list.Count; i++)
            ok(natsMsg_Ack(list.Msgs[i], NULL));
    }
    return true;
}

static bool fetch_nothing(void) {
    natsMsgList list = {0};
    must(natsSubscription_Fetch(&list, sub, 1, 300, NULL) == NATS_TIMEOUT);
    return true;
}

static bool ack(void) { return holds(0); }

static bool double_ack(void) {
    natsMsg *msg = NULL;
    must(put("x") && take(&msg) && ack_sync(msg));
    return holds(0);
}

static bool metadata(void) {
    natsMsg *msg = NULL;
    must(put("x") && take(&msg) && attempt(msg, 1, "x"));
    ok(natsMsg_Nak(msg, NULL));
    natsMsg_Destroy(msg);
    return true;
}

static bool nak(void) {
    natsMsg *msg = NULL;
    return take(&msg) && attempt(msg, 2, "x") && ack_sync(msg);
}

static bool nak_with_delay(void) {
    natsMsg *msg = NULL;
    must(put("x") && take(&msg));
    int64_t failed = nats_Now();
    ok(natsMsg_NakWithDelay(msg, 700, NULL));
    natsMsg_Destroy(msg);
    must(take(&msg));
    must(nats_Now() - failed >= 690);
    return ack_sync(msg);
}

static bool in_progress(void) {
    natsMsg *msg = NULL;
    must(put("x") && take(&msg));
    ok(natsMsg_InProgress(msg, NULL));
    ok(natsMsg_InProgress(msg, NULL));
    return ack_sync(msg);
}

static bool term(void) {
    natsMsg *msg = NULL;
    must(put("x") && take(&msg));
    ok(natsMsg_Term(msg, NULL));
    natsMsg_Destroy(msg);
    return holds(0) && holds_in("orders-dlq", 1);
}

static bool life(void) {
    natsMsg *msg = NULL;
    ok(js_PurgeStream(js, "orders-dlq", NULL, NULL));
    must(put("life"));
    for (uint64_t n = 1; n <= 3; n++) {
        must(take(&msg) && attempt(msg, n, "life"));
        ok(natsMsg_Nak(msg, NULL));
        natsMsg_Destroy(msg);
    }
    must(holds(0) && holds_in("orders-dlq", 1));
    ok(natsConnection_RequestString(&msg, nc, "dsend.api.dlq.replay", "{\"queue\":\"orders\"}", PATIENCE));
    natsMsg_Destroy(msg);
    must(holds_in("orders-dlq", 0));
    return take(&msg) && attempt(msg, 1, "life") && ack_sync(msg) && holds(0);
}

// server_killed publishes and works while the server goes away and comes back: what
// fails is tried again, and each message is worked.
static bool server_killed(void) {
    enum { N = 200 };
    bool done[N] = {false};
    int published = 0, worked = 0;
    bool killed = false;
    for (int64_t begin = nats_Now(); worked < N;) {
        must(nats_Now() - begin < PATIENCE);
        for (int burst = 0; published < N && burst < 20; burst++) {
            char body[32];
            jsPubOptions options;
            snprintf(body, sizeof body, "message %d", published);
            ok(jsPubOptions_Init(&options));
            options.MsgId = body;
            options.MaxWait = 1000;
            if (js_Publish(NULL, js, "orders.new", body, (int)strlen(body), &options, NULL) != NATS_OK)
                break; // tried again
            published++;
        }
        natsMsgList list = {0};
        if (natsSubscription_Fetch(&list, sub, 10, 1000, NULL) == NATS_OK) {
            for (int i = 0; i < list.Count; i++) {
                int n = atoi(natsMsg_GetData(list.Msgs[i]) + strlen("message "));
                jsOptions options;
                ok(jsOptions_Init(&options));
                options.Wait = 1000;
                if (natsMsg_AckSync(list.Msgs[i], &options, NULL) == NATS_OK && !done[n]) {
                    done[n] = true;
                    worked++;
                }
            }
            natsMsgList_Destroy(&list);
        }
        if (!killed && worked > N / 3) {
            killed = true;
            printf("kill\n");
            fflush(stdout);
        }
    }
    return holds(0);
}

static bool consumer_delete(void) {
    jsConsumerInfo *info = NULL;
    ok(js_DeleteConsumer(js, "orders", "w", NULL, NULL));
    must(js_GetConsumerInfo(&info, js, "orders", "w", NULL, NULL) == NATS_NOT_FOUND);
    return true;
}

static bool stream_delete(void) {
    jsStreamInfo *info = NULL;
    ok(js_DeleteStream(js, "orders", NULL, NULL));
    must(js_GetStreamInfo(&info, js, "orders", NULL, NULL) == NATS_NOT_FOUND);
    return true;
}

static bool connect_to(const char *domain) {
    natsOptions *options = NULL;
    jsOptions jetstream;
    ok(natsOptions_Create(&options));
    ok(natsOptions_SetURL(options, getenv("NATS_URL")));
    ok(natsOptions_SetMaxReconnect(options, -1));
    ok(natsOptions_SetReconnectWait(options, 50));
    ok(natsConnection_Connect(&nc, options));
    natsOptions_Destroy(options);
    ok(jsOptions_Init(&jetstream));
    jetstream.Domain = domain;
    ok(natsConnection_JetStream(&js, nc, &jetstream));
    return true;
}

int main(int argc, char **argv) {
    if (!connect_to(argc > 1 ? argv[1] : NULL)) {
        printf("fail connect: %s\n", why);
        return 1;
    }
    op("account info", account_info);
    op("stream create", stream_create);
    op("stream update", stream_update);
    op("stream info", stream_info);
    op("publish", publish);
    op("publish again", publish_again);
    op("publish async", publish_async);
    op("stream purge", stream_purge);
    op("consumer create", consumer_create);
    op("consumer info", consumer_info);
    op("pull subscribe by subject", subscribe_by_subject);
    op("pull subscribe, bound", subscribe_bound);
    op("fetch", fetch);
    op("fetch of nothing", fetch_nothing);
    op("ack", ack);
    op("double ack", double_ack);
    op("metadata", metadata);
    op("nak", nak);
    op("nak with delay", nak_with_delay);
    op("in progress", in_progress);
    op("term", term);
    op("life", life);
    op("consumer update", consumer_update); // what was on its way when the server dies comes again soon
    op("server killed", server_killed);
    op("consumer delete", consumer_delete);
    op("stream delete", stream_delete);
    natsSubscription_Destroy(sub);
    jsCtx_Destroy(js);
    natsConnection_Destroy(nc);
    nats_Close();
    return 0;
}
