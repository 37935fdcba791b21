// Takes one message and holds it. It says held, and acks when it is told to.
import { once } from "node:events";
import { connect } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const nc = await connect({ servers: process.env.NATS_URL, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
const consumer = await jetstream(nc).consumers.get("orders", "w");
const m = await consumer.next({ expires: 60_000 });
console.log("held");
await once(process.stdin, "data");
await m.ackAck();
console.log("acked");
process.exit(0);
