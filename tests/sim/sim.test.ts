/** Worlds that are the same in every run. */
import { ok } from "node:assert/strict";
import { test } from "node:test";
import { reachedMarks } from "./marks.ts";
import { tellStory } from "./story.ts";
import { SimFailure, simulate } from "./world.ts";
import type { SimReport } from "./world.ts";
import type { WorldKind } from "./kinds.ts";

const WORLDS = { plain: 8, full: 2 } as const satisfies Record<WorldKind, number>;
/** Over all of them. */
const REACHED_MIN = 28;

test("no read is wrong and every split ends, whatever happens on the way", async (t) => {
  const reports: SimReport[] = [];
  for (const kind of ["plain", "full"] as const) {
    for (let seed = 1; seed <= WORLDS[kind]; seed++) {
      // Printed first, so that the seed of a world that never ends is known too.
      process.stdout.write(`seed ${seed}, ${kind}\n`);
      try {
        reports.push(await simulate({ seed, kind }));
      } catch (error) {
        if (error instanceof SimFailure) process.stdout.write(tellStory(error.failure));
        throw error;
      }
    }
  }
  // Worlds that reach nothing prove nothing.
  const marks = reachedMarks(reports);
  const never = marks.filter(({ times }) => times === 0).map(({ name }) => name);
  t.diagnostic(`never: ${never.join(", ")}`);
  ok(marks.length - never.length >= REACHED_MIN, `never: ${never.join(", ")}`);
  ok(reports.some(({ verified }) => verified > 0));
});
