import { equal } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../../src/lib/bytes.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import { frameLength, writeFrame } from "../../src/wire/frames.ts";
import { Checker } from "./checker.ts";
import type { ProblemKind } from "./checker.ts";
import { History } from "./history.ts";
import type { Outcome, SimEvent } from "./history.ts";

const ASKED = {
  namespace: "plays-1",
  series: "hot",
  start: 0,
  end: 1_000,
  newestFirst: false,
  limit: 0,
  mayMiss: false,
};

function eventOf(time: number, id: string): SimEvent {
  return { series: "hot", time, id, value: utf8(`value of ${id}`) };
}

const FIRST = eventOf(10, "a");
const SECOND = eventOf(20, "b");
const THIRD = eventOf(20, "c");

function frameOf({ series, time, id, value }: SimEvent): Uint8Array {
  const items = [{ key: utf8("p"), value }];
  const event = encodeEvent(utf8(series), time, utf8(id), items);
  const frame = new Uint8Array(frameLength(event.end - event.start));
  writeFrame(frame, 0, event);
  return frame;
}

/** The problem of a read of three events that were acknowledged, except as given. */
function problemOf(
  answer: readonly SimEvent[],
  change: Partial<typeof ASKED> & {
    outcome?: Outcome;
    filter?: Uint8Array;
    keptFrom?: number;
  } = {},
): ProblemKind | undefined {
  const { outcome = "acknowledged", keptFrom = 0, ...asked } = change;
  const checker = new Checker();
  const history = new History(() => 0);
  let problem: ProblemKind | undefined;
  history.onEntry = (entry) => (problem ??= checker.add(entry)?.kind);
  const write = history.writeBegins("server-1", "plays-1", [FIRST, SECOND, THIRD]);
  history.writeEnds(write, ["acknowledged", "acknowledged", outcome]);
  const read = history.readBegins("server-1", { ...ASKED, ...asked });
  history.readEnds(read, { answer: answer.map(frameOf), routes: [], keptFrom });
  return problem;
}

test("a right answer has no problem, in either order, with a limit or a filter", () => {
  equal(problemOf([FIRST, SECOND, THIRD]), undefined);
  equal(problemOf([THIRD, SECOND, FIRST], { newestFirst: true }), undefined);
  equal(problemOf([FIRST, SECOND], { limit: 2 }), undefined);
  equal(problemOf([SECOND], { filter: SECOND.value }), undefined);
});

test("an acknowledged event that does not come is lost, wherever it should have come", () => {
  equal(problemOf([SECOND, THIRD]), "LOST");
  equal(problemOf([FIRST, THIRD]), "LOST");
  equal(problemOf([FIRST, SECOND]), "LOST");
  equal(problemOf([]), "LOST");
  equal(problemOf([FIRST, THIRD], { limit: 2 }), "LOST");
  equal(problemOf([], { filter: SECOND.value }), "LOST");
});

test("an event may be missing that was not acknowledged, or whose retention has ended", () => {
  equal(problemOf([FIRST, SECOND], { outcome: "unknown" }), undefined);
  equal(problemOf([FIRST, SECOND, THIRD], { outcome: "unknown" }), undefined);
  equal(problemOf([SECOND, THIRD], { keptFrom: 15 }), undefined);
  equal(problemOf([FIRST, SECOND], { keptFrom: 15 }), "LOST");
  equal(problemOf([], { mayMiss: true }), undefined);
});

test("an event with other bytes is altered", () => {
  equal(problemOf([FIRST, { ...SECOND, value: utf8("value of B") }, THIRD]), "ALTERED");
});

test("an event that comes twice is duplicated, one that comes too early or too late reordered", () => {
  equal(problemOf([FIRST, FIRST, SECOND, THIRD]), "DUPLICATED");
  equal(problemOf([FIRST, THIRD, SECOND], { mayMiss: true }), "REORDERED");
  equal(problemOf([FIRST, SECOND, THIRD], { newestFirst: true, mayMiss: true }), "REORDERED");
});

test("an event that nobody wrote or asked for, or whose writer was refused, is a phantom", () => {
  equal(problemOf([FIRST, eventOf(15, "x"), SECOND, THIRD]), "PHANTOM");
  equal(problemOf([FIRST, SECOND, THIRD, eventOf(2_000, "y")]), "PHANTOM");
  equal(problemOf([FIRST, SECOND, THIRD], { outcome: "refused" }), "PHANTOM");
  equal(problemOf([FIRST, SECOND, THIRD], { limit: 2 }), "PHANTOM");
  equal(problemOf([FIRST, SECOND], { filter: SECOND.value, mayMiss: true }), "PHANTOM");
});

test("bytes that are no frames are unreadable", () => {
  const checker = new Checker();
  const history = new History(() => 0);
  let problem: ProblemKind | undefined;
  history.onEntry = (entry) => (problem ??= checker.add(entry)?.kind);
  const read = history.readBegins("server-1", ASKED);
  history.readEnds(read, { answer: [utf8("no frame")], routes: [], keptFrom: 0 });
  equal(problem, "UNREADABLE");
});

test("a call without an end is stuck", () => {
  const checker = new Checker();
  const history = new History(() => 5);
  history.onEntry = (entry) => void checker.add(entry);
  const write = history.writeBegins("server-1", "plays-1", [FIRST]);
  equal(checker.stuck(5), undefined);
  equal(checker.stuck(6)?.kind, "STUCK");
  history.writeEnds(write, ["unknown"]);
  equal(checker.stuck(6), undefined);
  history.readBegins("server-1", ASKED);
  equal(checker.stuck(6)?.kind, "STUCK");
});
