/** Worlds by seeds: some that are always the same, and some that are new each time, with the seed printed. */
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
    // Of a world that never ends, too, the seed is known.
    process.stdout.write(`seed ${seed}\n`);
    const report = await simulate(seed);
    served += report.counts["served"] ?? 0;
    verified += report.verified;
    t.diagnostic(`seed ${seed}: ${report.reads} reads, ${JSON.stringify(report.splits)}`);
  }
  // A world in which nothing is served from a split proves nothing.
  ok(served > 0);
  ok(verified > 0);
});
