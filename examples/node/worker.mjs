// An ordinary JetStream program in JavaScript. Dsend serves it unchanged.
//   npm install && NATS_URL=nats://127.0.0.1:4222 node worker.mjs
import { connect, nanos } from "@nats-io/transport-node";
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";

const nc = await connect({ servers: process.env.NATS_URL });
const jsm = await jetstreamManager(nc); // (nc, { domain: "dsend" }) where the server has a JetStream of its own
await jsm.streams.add({ name: "mails", subjects: ["mails.>"], retention: RetentionPolicy.Workqueue });
await jsm.consumers.add("mails", {
  durable_name: "senders", ack_policy: AckPolicy.Explicit, backoff: [nanos(100)], max_deliver: 3,
});

const js = jetstream(nc);
const ack = await js.publish("mails.welcome", "to ann@example.org");
console.log(`on disk as ${ack.stream} ${ack.seq}`);

const worker = await js.consumers.get("mails", "senders");
for await (const m of await worker.consume()) {
  console.log(`${m.subject} ${m.string()}, attempt ${m.info.deliveryCount}`);
  if (m.info.deliveryCount === 1) {
    m.nak(); // the mail server was away: again in 100 ms
    continue;
  }
  await m.ackAck();
  console.log("done, and that is on disk");
  break;
}
await nc.close();
