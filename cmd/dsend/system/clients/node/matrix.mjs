// A JetStream client in JavaScript does all it can with a queue, and says how it
// goes: node matrix.mjs [domain].
import assert from "node:assert/strict";
import { connect, nanos } from "@nats-io/transport-node";
import { AckPolicy, DiscardPolicy, jetstream, jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";

const domain = process.argv[2];
const patience = 60_000;
const nc = await connect({ servers: process.env.NATS_URL, maxReconnectAttempts: -1, reconnectTimeWait: 50, timeout: patience });
const js = jetstream(nc, { domain, timeout: patience });
let jsm, consumer;

async function op(name, work) {
  try {
    await work();
    console.log(`pass ${name}`);
  } catch (err) {
    console.log(`fail ${name}: ${err.stack?.replaceAll("\n", " ") ?? err}`);
    process.exit(1);
  }
}

const put = (body, opts) => js.publish("orders.new", body, opts);

async function take() {
  const m = await consumer.next({ expires: patience });
  assert.ok(m, "nothing came");
  return m;
}

// eventually looks until something holds.
async function eventually(holds) {
  for (const begin = Date.now();;) {
    try {
      return await holds();
    } catch (err) {
      if (Date.now() - begin > patience) throw err;
      await new Promise((ok) => setTimeout(ok, 20));
    }
  }
}

const holds = (n, stream = "orders") =>
  eventually(async () => assert.equal((await jsm.streams.info(stream)).state.messages, n));

async function all(lister) {
  const found = [];
  for await (const one of lister) found.push(one);
  return found;
}

await op("account info", async () => {
  jsm = await jetstreamManager(nc, { domain, timeout: patience });
  assert.equal((await jsm.getAccountInfo()).domain, "dsend");
});
await op("stream create", async () => {
  const info = await jsm.streams.add({
    name: "orders", subjects: ["orders.>"], retention: RetentionPolicy.Workqueue, discard: DiscardPolicy.New,
  });
  assert.equal(info.config.name, "orders");
});
await op("stream update", async () => {
  assert.equal((await jsm.streams.update("orders", { max_msgs: 5000 })).config.max_msgs, 5000);
});
await op("stream info", async () => {
  const { config, state } = await jsm.streams.info("orders");
  assert.deepEqual([config.retention, config.subjects, state.messages], ["workqueue", ["orders.>"], 0]);
});
await op("stream names", async () => assert.deepEqual(await all(jsm.streams.names()), ["orders"]));
await op("stream list", async () => assert.equal((await all(jsm.streams.list())).length, 1));
await op("stream of a subject", async () => assert.equal(await jsm.streams.find("orders.new"), "orders"));
await op("no such stream", () => assert.rejects(jsm.streams.info("nothing"), /stream not found/));

await op("publish", async () => {
  const ack = await put("one", { msgID: "1" });
  assert.deepEqual([ack.stream, ack.seq, ack.duplicate, ack.domain], ["orders", 1, false, "dsend"]);
});
await op("publish again", async () => {
  const ack = await put("one", { msgID: "1" });
  assert.deepEqual([ack.seq, ack.duplicate], [1, true]);
});
await op("publish async", async () => {
  const acks = await Promise.all(Array.from({ length: 20 }, () => put("more")));
  assert.deepEqual(acks.map((a) => a.seq), Array.from({ length: 20 }, (_, i) => i + 2));
});
await op("message get", async () => {
  const m = await jsm.streams.getMessage("orders", { seq: 1 });
  assert.deepEqual([m.string(), m.subject, m.header.get("Nats-Msg-Id")], ["one", "orders.new", "1"]);
});
await op("message delete", async () => {
  await jsm.streams.deleteMessage("orders", 1);
  await holds(20);
});
await op("stream purge", async () => {
  assert.equal((await jsm.streams.purge("orders")).purged, 20);
  await holds(0);
});

await op("consumer create", async () => {
  const info = await jsm.consumers.add("orders", {
    durable_name: "w", ack_policy: AckPolicy.Explicit, ack_wait: nanos(30_000), max_deliver: 3,
  });
  assert.equal(info.name, "w");
});
await op("consumer update", async () => {
  const info = await jsm.consumers.update("orders", "w", { max_ack_pending: 1000 });
  assert.equal(info.config.max_ack_pending, 1000);
});
await op("consumer info", async () => {
  consumer = await js.consumers.get("orders", "w");
  assert.equal((await consumer.info()).config.max_deliver, 3);
});
await op("consumer list", async () => assert.deepEqual((await all(jsm.consumers.list("orders"))).map((c) => c.name), ["w"]));
await op("consumer pause", async () => {
  await jsm.consumers.pause("orders", "w", new Date(Date.now() + 3600_000));
  assert.equal((await consumer.info()).paused, true);
});
await op("consumer resume", async () => {
  await jsm.consumers.resume("orders", "w");
  assert.ok(!(await consumer.info()).paused);
});
await op("no such consumer", () => assert.rejects(js.consumers.get("orders", "nobody"), /consumer not found/));

await op("fetch", async () => {
  for (const body of ["a", "b", "c"]) await put(body);
  const got = [];
  for await (const m of await consumer.fetch({ max_messages: 3, expires: patience })) {
    got.push(m.string());
    m.ack();
  }
  assert.deepEqual(got, ["a", "b", "c"]);
  await holds(0);
});
await op("fetch of nothing", async () => assert.deepEqual(await all(await consumer.fetch({ max_messages: 1, expires: 1000 })), []));
await op("fetch bytes", async () => {
  await put("f");
  await put("g".repeat(5000));
  const got = [];
  await assert.rejects(async () => {
    for await (const m of await consumer.fetch({ max_bytes: 2000, expires: 2000 })) {
      got.push(m.string());
      m.ack();
    }
  }, /message size exceeds maxbytes/); // as of JetStream: the next one is too large
  assert.deepEqual(got, ["f"]);
  await (await take()).ackAck();
});
await op("next", async () => {
  await put("h");
  const m = await take();
  assert.equal(m.string(), "h");
  await m.ackAck();
});
await op("consume", async () => {
  for (let i = 0; i < 100; i++) await put(`m${i}`);
  const got = [];
  const messages = await consumer.consume({ max_messages: 7 });
  for await (const m of messages) {
    got.push(m.string());
    m.ack();
    if (got.length === 100) break;
  }
  assert.deepEqual(got, Array.from({ length: 100 }, (_, i) => `m${i}`));
  await messages.close();
});
await op("ack", () => holds(0));
await op("double ack", async () => {
  await put("x");
  assert.equal(await (await take()).ackAck(), true);
  await holds(0);
});
await op("metadata", async () => {
  await put("x");
  const m = await take();
  const { stream, consumer: name, deliveryCount, pending, domain: at, timestampNanos } = m.info;
  assert.deepEqual([stream, name, deliveryCount, pending, at, m.redelivered, m.subject], ["orders", "w", 1, 0, "dsend", false, "orders.new"]);
  assert.ok(Math.abs(timestampNanos / 1e6 - Date.now()) < 3600_000);
  m.nak();
});
await op("nak", async () => {
  const m = await take();
  assert.deepEqual([m.info.deliveryCount, m.redelivered], [2, true]);
  await m.ackAck();
});
await op("nak with delay", async () => {
  await put("x");
  const m = await take();
  const failed = Date.now();
  m.nak(700);
  await (await take()).ackAck();
  assert.ok(Date.now() - failed >= 690, `it came after ${Date.now() - failed} ms`);
});
await op("in progress", async () => {
  await put("x");
  const m = await take();
  m.working();
  m.working();
  assert.equal((await consumer.info()).num_ack_pending, 1);
  await m.ackAck();
});
await op("term", async () => {
  await put("x");
  (await take()).term();
  await holds(0);
  await holds(1, "orders-dlq");
});
await op("term with reason", async () => {
  await put("x");
  (await take()).term("no use");
  await holds(2, "orders-dlq");
});

await op("life", async () => {
  await jsm.streams.purge("orders-dlq");
  await put("life");
  for (let attempt = 1; attempt <= 3; attempt++) {
    const m = await take();
    assert.equal(m.info.deliveryCount, attempt);
    m.nak();
  }
  await holds(0);
  await holds(1, "orders-dlq");
  await nc.request("dsend.api.dlq.replay", JSON.stringify({ queue: "orders" }), { timeout: patience });
  await holds(0, "orders-dlq");
  const m = await take();
  assert.deepEqual([m.string(), m.info.deliveryCount], ["life", 1]);
  await m.ackAck();
  await holds(0);
});

await op("server killed", async () => {
  const n = 300;
  const done = new Set();
  // What was on its way when the server died comes again after the ack wait.
  await jsm.consumers.update("orders", "w", { ack_wait: nanos(3000), max_deliver: -1 });
  const publishing = (async () => {
    for (let i = 0; i < n; i++) {
      await eventually(() => js.publish("orders.new", `message ${i}`, { msgID: `message ${i}`, timeout: 1000 }));
    }
  })();
  const messages = await consumer.consume({ max_messages: 20, expires: 5000 });
  let killed = false;
  for await (const m of messages) {
    m.ack();
    done.add(m.string());
    if (!killed && done.size > n / 3) {
      killed = true;
      console.log("kill");
    }
    if (done.size === n) break;
  }
  await messages.close();
  await publishing;
});

await op("consumer delete", async () => {
  await jsm.consumers.delete("orders", "w");
  await assert.rejects(js.consumers.get("orders", "w"), /consumer not found/);
});
await op("stream delete", async () => {
  await jsm.streams.delete("orders");
  await assert.rejects(jsm.streams.info("orders"), /stream not found/);
});
await nc.close();
