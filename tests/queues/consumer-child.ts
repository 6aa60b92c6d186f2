/**
 * A worker that takes a message and never finishes it, for a test to kill. Arguments: broker,
 * prefix.
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
  // The least that a broker's defaults allow: the test waits this long for the group to notice.
  sessionTimeoutMs: 6_000,
});
await queue.consume(({ key }) => {
  process.stdout.write(`${key}\n`);
  return new Promise(() => undefined);
}, new AbortController().signal);
