// Takes one message and holds it. It says held, and acks when it is told to.
#include <stdio.h>
#include <stdlib.h>
#include <nats/nats.h>

static void ok(natsStatus s) {
    if (s == NATS_OK)
        return;
    nats_PrintLastErrorStack(stderr);
    exit(1);
}

static void say(const char *word) {
    puts(word);
    fflush(stdout);
}

int main(void) {
    natsOptions *options = NULL;
    natsConnection *nc = NULL;
    jsCtx *js = NULL;
    jsSubOptions bound;
    natsSubscription *sub = NULL;
    natsMsgList list = {0};

    ok(natsOptions_Create(&options));
    ok(natsOptions_SetURL(options, getenv("NATS_URL")));
    ok(natsOptions_SetMaxReconnect(options, -1));
    ok(natsOptions_SetReconnectWait(options, 50));
    ok(natsConnection_Connect(&nc, options));
    ok(natsConnection_JetStream(&js, nc, NULL));
    ok(jsSubOptions_Init(&bound));
    bound.Stream = "orders";
    bound.Consumer = "w";
    ok(js_PullSubscribe(&sub, js, "orders.>", NULL, NULL, &bound, NULL));
    ok(natsSubscription_Fetch(&list, sub, 1, 60000, NULL));
    say("held");
    if (getchar() == EOF)
        return 1;
    ok(natsMsg_AckSync(list.Msgs[0], NULL, NULL));
    say("acked");
    return 0;
}
