/**
 * Worlds by seed: some are the same in every run, some are new each time, with the seed printed.
 */
import { ok } from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./world.ts";

const ALWAYS = 8;
const NEW = 4;

test("no read is wrong and every split ends, whatever happens on the way", async (t) => {
  const first = Date.now() % 1_000_000;
  const seeds = [
    ...Array.from({ length: ALWAYS }, (_, nth) => nth + 1),
    ...Array.from({ length: NEW }, (_, nth) => first + nth),
  ];
  let served = 0;
  let verified = 0;
  for (const seed of seeds) {
    // Printed first, so that the seed of a world that never ends is known too.
    process.stdout.write(`seed ${seed}\n`);
    const report = await simulate(seed);
    served += report.counts["served"] ?? 0;
    verified += report.verified;
    t.diagnostic(`seed ${seed}: ${report.reads} reads, ${JSON.stringify(report.splits)}`);
  }
  // A world that serves nothing from a split proves nothing.
  ok(served > 0);
  ok(verified > 0);
});
