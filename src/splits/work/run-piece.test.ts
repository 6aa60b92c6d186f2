import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Run } from "../../wire/frames.ts";
import { anyEvents, isHonest, runsOf } from "../../../tests/support/part-events.ts";
import { hashPieces } from "./copy-hashed.ts";
import { countParts, reserveParts, withPart } from "./part-numbers.ts";
import { framesOf, RunPiece } from "./run-piece.ts";
import type { SplitRecord } from "../../model/split.ts";

function bytesOf(runs: readonly (Run | undefined)[]): Buffer {
  return Buffer.concat(runs.flatMap((run) => run?.chunks ?? []));
}

test("pieces, cut anywhere, are honest runs and together the whole", () => {
  fc.assert(
    fc.property(anyEvents, fc.nat(7), fc.nat(7), fc.nat(7), (events, runEvents, chunk, cut) => {
      for (const run of runsOf(events, runEvents + 1, chunk + 1)) {
        const piece = new RunPiece();
        const pieces: Run[] = [];
        for (const { chunk: bytes, start, event } of framesOf(run)) {
          if (piece.count > cut) pieces.push(piece.take() as Run);
          piece.add(bytes, start, event);
        }
        pieces.push(piece.take() as Run);
        assert.equal(piece.take(), undefined);
        assert.ok(pieces.every(isHonest));
        assert.deepEqual(bytesOf(pieces), bytesOf([run]));
      }
    }),
  );
});

test("by hash every event is in one piece, always the same", () => {
  fc.assert(
    fc.property(anyEvents, fc.integer({ min: 1, max: 9 }), (events, parts) => {
      for (const run of runsOf(events, 100, 3)) {
        const pieces = hashPieces(run, parts);
        assert.equal(pieces.length, parts);
        const count = pieces.reduce((sum, piece) => sum + (piece?.count ?? 0), 0);
        assert.equal(count, run.count);
        for (const piece of pieces) assert.ok(piece === undefined || isHonest(piece));
        assert.deepEqual(hashPieces(run, parts), pieces);
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

test("numbers of parts end", () => {
  const record = (nextPart: number): SplitRecord => ({ nextPart }) as SplitRecord;
  assert.deepEqual(reserveParts(record(5), 2), { nextPart: 7 });
  assert.throws(() => reserveParts(record(1 << 20), 1), { code: "CONFLICT" });
});
