import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Run } from "../../wire/frames.ts";
import { anyEvents, isHonest, runsOf } from "../../../tests/support/part-events.ts";
import { hash } from "../../model/strategies/hash.ts";
import { spreadRun } from "./copy-spread.ts";
import { countParts, reserveParts, withPart } from "./part-numbers.ts";
import { framesOf, RunBuilder } from "./run-builder.ts";
import type { SplitRecord } from "../../model/split.ts";

function bytesOf(runs: readonly (Run | undefined)[]): Buffer {
  return Buffer.concat(runs.flatMap((run) => run?.chunks ?? []));
}

test("subranges, cut anywhere, are valid runs and together the whole", () => {
  fc.assert(
    fc.property(anyEvents, fc.nat(7), fc.nat(7), fc.nat(7), (events, runEvents, chunk, cut) => {
      for (const run of runsOf(events, runEvents + 1, chunk + 1)) {
        const builder = new RunBuilder();
        const builders: Run[] = [];
        for (const { chunk: bytes, start, event } of framesOf(run)) {
          if (builder.count > cut) builders.push(builder.take() as Run);
          builder.add(bytes, start, event);
        }
        builders.push(builder.take() as Run);
        assert.equal(builder.take(), undefined);
        assert.ok(builders.every(isHonest));
        assert.deepEqual(bytesOf(builders), bytesOf([run]));
      }
    }),
  );
});

test("by hash every event is in one run, always the same", () => {
  fc.assert(
    fc.property(anyEvents, fc.integer({ min: 1, max: 9 }), (events, parts) => {
      for (const run of runsOf(events, 100, 3)) {
        const builders = spreadRun(run, hash, parts);
        assert.equal(builders.length, parts);
        const count = builders.reduce((sum, builder) => sum + (builder?.count ?? 0), 0);
        assert.equal(count, run.count);
        for (const builder of builders) assert.ok(builder === undefined || isHonest(builder));
        assert.deepEqual(spreadRun(run, hash, parts), builders);
      }
    }),
  );
});

test("parts that follow one another are one run, others begin a new one", () => {
  const runs = [0, 1, 2, 5, 6, 9].reduce(withPart, []);
  assert.deepEqual(runs, [
    { start: 0, count: 3 },
    { start: 5, count: 2 },
    { start: 9, count: 1 },
  ]);
  assert.equal(countParts(runs), 6);
});

test("CP14: part numbers are bounded", () => {
  const record = (nextPart: number): SplitRecord => ({ nextPart }) as SplitRecord;
  assert.deepEqual(reserveParts(record(5), 2), { nextPart: 7 });
  assert.throws(() => reserveParts(record(1 << 20), 1), { code: "CONFLICT" });
});
