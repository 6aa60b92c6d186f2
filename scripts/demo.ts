/**
 * `npm run demo [-- --cassandra]`: shows the life of a wide partition while it happens.
 *
 * It loads and reads skewed data; Braid detects, splits, validates and serves the wide partitions.
 * The demo measures the same reads before and after, in this run, and leaves nothing behind.
 */
import { parseArgs } from "node:util";
import { tellStory } from "./demo/story.ts";
import { line, Untold } from "./demo/tell.ts";
import { startDemo } from "./demo/setup.ts";
import type { DemoSetup } from "./demo/setup.ts";

const USAGE = "usage: npm run demo [-- --cassandra]\n";

/** Ends everything that was started, once. */
async function end(setup: Promise<DemoSetup>): Promise<void> {
  // A start that failed has ended what it had begun.
  const started = await setup.catch(() => undefined);
  await started?.stop();
}

async function demo(cassandra: boolean): Promise<number> {
  const leaving = new AbortController();
  const setup = startDemo(cassandra, leaving.signal);
  const interrupted = new Promise<number>((resolve) => {
    const leave = (): void => {
      process.stdout.write("\nstopping what was started, and removing its data\n");
      leaving.abort(new Error("interrupted"));
      resolve(130);
    };
    process.once("SIGINT", leave);
    process.once("SIGTERM", leave);
  });
  const story = setup.then(tellStory).then(
    () => 0,
    async (error: unknown) => {
      if (leaving.signal.aborted) return 130;
      const why = error instanceof Error ? error.message : String(error);
      process.stderr.write(`\ndemo: ${error instanceof Untold ? "" : "it went wrong: "}${why}\n`);
      const warnings = await setup.then((started) => started.warnings()).catch(() => []);
      for (const warning of warnings) process.stderr.write(`  ${warning}\n`);
      return 1;
    },
  );
  const code = await Promise.race([story, interrupted]);
  await end(setup);
  if (code === 0) line("\nAll processes have ended, and the data of this demo is removed.");
  return code;
}

let cassandra: boolean;
try {
  const { values } = parseArgs({ options: { cassandra: { type: "boolean", default: false } } });
  ({ cassandra } = values);
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exit(2);
}
// What a step has left open must not keep the process alive.
process.exit(await demo(cassandra));
