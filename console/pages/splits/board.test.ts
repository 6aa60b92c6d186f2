import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Split, SplitState } from "../../../client/connect.ts";
import { changed, COLUMNS, inColumn, keyOf, sentenceOf, STATE_TONES } from "./board.ts";

function split(splitId: string, state: SplitState, moveTime = "2026-11-18T00:00:00Z"): Split {
  // The board reads nothing else.
  return { namespace: "plays", splitId, state, moveTime } as unknown as Split;
}

test("every state has exactly one column", () => {
  const states = COLUMNS.flatMap((column) => column.states);
  deepEqual(states.toSorted(), Object.keys(STATE_TONES).toSorted());
});

test("a column has its splits, the last moved first", () => {
  const [detected] = COLUMNS;
  const all = [
    split("a", "DETECTED", "2026-11-18T00:00:00Z"),
    split("b", "COMPLETED"),
    split("c", "DETECTED", "2026-11-18T01:00:00Z"),
  ];
  deepEqual(detected && inColumn(all, detected).map(({ splitId }) => splitId), ["c", "a"]);
});

test("a change replaces and removes; a snapshot forgets the rest", () => {
  const known = new Map([split("a", "DETECTED"), split("b", "PLANNED")].map((s) => [keyOf(s), s]));
  const next = changed(known, {
    snapshot: false,
    splits: [split("a", "SPLITTING")],
    removed: ["plays/b"],
  });
  deepEqual(
    [...next.values()].map(({ splitId, state }) => [splitId, state]),
    [["a", "SPLITTING"]],
  );
  const all = changed(next, { snapshot: true, splits: [split("c", "DETECTED")], removed: [] });
  deepEqual([...all.keys()], ["plays/c"]);
});

test("the sentence names what failed before what moves", () => {
  equal(sentenceOf([]).tone, "idle");
  match(sentenceOf([split("a", "COMPLETED")]).text, /^1 split completed/);
  match(
    sentenceOf([split("a", "PLANNED"), split("b", "COMPLETED")]).text,
    /^1 split in progress, 1/,
  );
  match(sentenceOf([split("a", "FAILED"), split("b", "PLANNED")]).text, /^1 split failed/);
});
