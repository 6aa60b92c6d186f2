import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { newSplit } from "../../model/split-moves.ts";
import type { SplitRecord } from "../../model/split.ts";
import { movedAgain, movedOnce } from "./moves.ts";

const partition = {
  namespaceId: "plays-1",
  slice: "data_20260328_0",
  seriesId: "s",
  timeBucket: 0,
  eventBucket: 0,
};
const NEW = newSplit(
  {
    partition,
    namespace: "plays",
    epoch: 0,
    bytes: 1,
    events: 1,
    immutable: false,
    detectedAt: 0,
  },
  { at: 0, by: "w0", reason: "detected" },
);

function lookedAt(record: SplitRecord, at: number, reason: string): SplitRecord {
  const looking = movedOnce(
    record,
    "PLANNING",
    { at, by: "w1", reason: `looking at ${at}:00 on` },
    {},
  );
  return movedAgain(looking, "PARKED", { at, by: "w1", reason }, { dueAt: at + 1 });
}

test("looks that end alike are one line of the history, with how many there were and the last one's words", () => {
  let record = NEW;
  for (let at = 1; at <= 100; at++) {
    record = lookedAt(record, at, `not enough sealed yet: ${at} bytes`);
  }
  deepEqual(
    record.history.map(({ from, to }) => `${from} ${to}`),
    ["null DETECTED", "DETECTED PLANNING", "PLANNING PARKED"],
  );
  equal(record.history.at(-1)?.reason, "not enough sealed yet: 100 bytes (look 100)");
  equal(record.dueAt, 101);
});

test("a look that ends otherwise is a line of its own, and the count begins anew", () => {
  let record = lookedAt(NEW, 1, "not enough sealed yet: 1 bytes");
  record = lookedAt(record, 2, "not enough sealed yet: 2 bytes");
  record = lookedAt(record, 3, "paused by ada");
  record = lookedAt(record, 4, "not enough sealed yet: 4 bytes");
  const reasons = record.history.map(({ reason }) => reason);
  equal(record.history.length, 7);
  match(reasons[2] ?? "", /2 bytes \(look 2\)$/);
  equal(reasons[4], "paused by ada");
  equal(reasons[6], "not enough sealed yet: 4 bytes");
});
