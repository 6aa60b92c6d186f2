import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { newestFirst, runsOf, testEvent } from "../../tests/support/part-events.ts";
import type { TestEvent } from "../../tests/support/part-events.ts";
import type { Position } from "../wire/frames.ts";
import { findDifference } from "./find-difference.ts";
import type { RunSource } from "../partition/merge-runs.ts";

const [a, b, c, d] = newestFirst([4, 3, 2, 1].map((time) => testEvent(time, "e", 8))) as [
  TestEvent,
  TestEvent,
  TestEvent,
  TestEvent,
];
/** The same identities, with other bytes. */
const other = (event: TestEvent): TestEvent => testEvent(event.position.time, "e", 9);

function sideOf(events: readonly TestEvent[]): RunSource {
  const runs = runsOf(events, 2, 1).values();
  return { next: () => Promise.resolve(runs.next().value) };
}

async function found(
  original: readonly TestEvent[],
  split: readonly TestEvent[],
  last?: Position,
): Promise<string> {
  const difference = await findDifference(sideOf(original), sideOf(split), "NEWEST_FIRST", last);
  return difference === undefined ? "none" : `${difference.kind} at ${difference.at.time}`;
}

test("C14: a difference is reported with its kind and its position", async () => {
  deepEqual(await found([a, b, c], [a, b, c]), "none");
  deepEqual(await found([a, b, c], [a, c]), "ONLY_IN_ORIGINAL at 3");
  deepEqual(await found([a, c], [a, b, c]), "ONLY_IN_SPLIT at 3");
  deepEqual(await found([a, b], [a, other(b)]), "OTHER_BYTES at 3");
  deepEqual(await found([], [d]), "ONLY_IN_SPLIT at 1");
  deepEqual(await found([a, b], [a], a.position), "none");
});

test("C14: a wrong copy is reported before events that only the original has", async () => {
  deepEqual(await found([a, b, c], [b, other(c)]), "OTHER_BYTES at 2");
  deepEqual(await found([a, b], [b, d]), "ONLY_IN_SPLIT at 1");
});
