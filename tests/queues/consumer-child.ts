/**
 * A worker that takes a message and never finishes with it, for a test to kill.
 * Arguments: broker, prefix.
 */
import { openKafkaQueue } from "../../src/queues/kafka/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";

const [broker = "", prefix = ""] = process.argv.slice(2);
const queue = await openKafkaQueue({
  brokers: [broker],
  prefix,
  clock: systemClock,
  random: systemRandom,
  // The least a broker allows as it is shipped: so long the test waits for the group to miss it.
  sessionTimeoutMs: 6_000,
});
await queue.consume(({ key }) => {
  process.stdout.write(`${key}\n`);
  return new Promise(() => undefined);
}, new AbortController().signal);
