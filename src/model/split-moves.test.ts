import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { inState } from "../../tests/support/split-in-state.ts";
import { MOVE_CAUSES } from "./move-cause.ts";
import type { MoveCause } from "./move-cause.ts";
import { movedSplit, newSplit, restedSplit, SPLIT_MOVES } from "./split-moves.ts";
import { SPLIT_STATES } from "./split.ts";
import type { SplitRecord } from "./split.ts";

const partition = { namespaceId: "n", slice: "s", seriesId: "a", timeBucket: 0, eventBucket: 0 };
const seen = { bytes: 0, events: 0, immutable: false, detectedAt: 0 };
const split = { partition, namespace: "plays", epoch: 1, ...seen };
const NEW = newSplit(split, whyAt(0, "detection", "detected"));

function whyAt(at: number, cause: MoveCause, reason = "") {
  return { at, by: "w", cause, reason };
}

test("a split makes the moves of the table, for their causes, and no others", () => {
  let allowed = 0;
  for (const from of SPLIT_STATES) {
    for (const to of SPLIT_STATES) {
      for (const cause of MOVE_CAUSES) {
        const record = inState(NEW, from);
        const move = () => movedSplit(record, to, whyAt(1, cause));
        if (SPLIT_MOVES[from][to]?.includes(cause) !== true) {
          throws(move, {
            message: `assertion failed: a split may move from ${from} to ${to} by ${cause}`,
          });
          continue;
        }
        allowed++;
        const { state, history } = move();
        deepEqual([state, history.at(-1)], [to, { ...whyAt(1, cause), from, to, times: 1 }]);
      }
    }
  }
  equal(allowed, Object.values(SPLIT_MOVES).flatMap((row) => Object.values(row).flat()).length);
});

test("an operator can roll a split back in every state and restart it from there", () => {
  for (const from of SPLIT_STATES) {
    equal(SPLIT_MOVES[from].INVALIDATED?.includes("operator"), true, from);
  }
  equal(SPLIT_MOVES.INVALIDATED.DETECTED?.includes("operator"), true);
});

test("every cause moves some split, and every state is entered", () => {
  const rows = Object.values(SPLIT_MOVES);
  const causes = new Set(rows.flatMap((row) => Object.values(row).flat()));
  deepEqual(
    MOVE_CAUSES.filter((cause) => !causes.has(cause)),
    [],
  );
  const entered = new Set(rows.flatMap((row) => Object.keys(row)));
  deepEqual(
    SPLIT_STATES.filter((state) => !entered.has(state)),
    [],
  );
});

test("an operator's request lasts until the split begins again for another reason", () => {
  equal(NEW.askedBy, null);
  const asked = newSplit({ ...split, askedBy: "ada" }, whyAt(0, "operator"));
  equal(asked.askedBy, "ada");
  const again = movedSplit(asked, "DETECTED", whyAt(1, "reopened"));
  const refused = movedSplit(
    movedSplit(again, "PLANNING", whyAt(2, "claim")),
    "REFUSED",
    whyAt(3, "empty"),
  );
  equal(refused.askedBy, "ada");
  const detected = whyAt(4, "detection");
  equal(movedSplit(refused, "DETECTED", detected).askedBy, null);
  equal(movedSplit(refused, "DETECTED", detected, { askedBy: "bob" }).askedBy, "bob");
});

/** A worker claims it, and it rests again. */
function lookedAt(record: SplitRecord, at: number, cause: MoveCause): SplitRecord {
  const looking = movedSplit(record, "PLANNING", whyAt(at, "claim"));
  return restedSplit(looking, "PARKED", whyAt(at, cause, `at ${at}`), { dueAt: at + 1 });
}

test("rests for one cause are one entry of the history, with their number and the last reason", () => {
  let record = NEW;
  for (let at = 1; at <= 100; at++) record = lookedAt(record, at, "waiting");
  deepEqual(
    record.history.map(({ from, to, times }) => `${from} ${to} ${times}`),
    ["null DETECTED 1", "DETECTED PLANNING 1", "PLANNING PARKED 100"],
  );
  deepEqual([record.history.at(-1)?.reason, record.dueAt], ["at 100", 101]);
  // A rest needs no claim before it.
  record = restedSplit(record, "PARKED", whyAt(101, "waiting", "at 101"));
  deepEqual([record.history.length, record.history.at(-1)?.times], [3, 101]);
});

test("a rest for another cause is an entry of its own, and the count starts again", () => {
  let record = NEW;
  for (const [nth, cause] of (["waiting", "waiting", "paused", "waiting"] as const).entries()) {
    record = lookedAt(record, nth, cause);
  }
  deepEqual(
    record.history.map(({ cause, times }) => `${cause} ${times}`),
    ["detection 1", "claim 1", "waiting 2", "claim 1", "paused 1", "claim 1", "waiting 1"],
  );
});
