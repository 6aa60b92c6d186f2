/**
 * Worlds that no commit before has seen, for some minutes; the seed of each is printed. With BRAID_SEED=0
 * they begin at the time of day, so each run sees others.
 */
import { ok } from "node:assert/strict";
import { test } from "node:test";
import { commitSeed } from "../support/commit-seed.ts";
import { tellStory } from "./story.ts";
import { SimFailure, simulate } from "./world.ts";

/** The last world begins by then. */
const MS = Number(process.env["BRAID_SIM_SECONDS"] ?? 170) * 1_000;
/** One full world for so many plain ones: about the same time for both. */
const PLAIN_PER_FULL = 8;
/** The last full world begins earlier: where other work has the processor, it takes a minute or two. */
const FULL_SHARE = 0.7;

test("no read is wrong in worlds that nobody has seen", async (t) => {
  const first = commitSeed() || Date.now() % 1_000_000_000;
  const beganMs = performance.now();
  const untilMs = beganMs + MS;
  let simulated = 0;
  let worlds = 0;
  for (let seed = first; performance.now() < untilMs; seed++) {
    const early = performance.now() < beganMs + FULL_SHARE * MS;
    const kind = early && worlds % (PLAIN_PER_FULL + 1) === PLAIN_PER_FULL ? "full" : "plain";
    process.stdout.write(`seed ${seed}, ${kind}\n`);
    try {
      simulated += (await simulate({ seed, kind })).seconds;
    } catch (error) {
      if (error instanceof SimFailure) process.stdout.write(tellStory(error.failure));
      throw error;
    }
    worlds++;
  }
  t.diagnostic(`${worlds} worlds, ${Math.round(simulated / 60)} simulated minutes`);
  ok(worlds > 0);
});
