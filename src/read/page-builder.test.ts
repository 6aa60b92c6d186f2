import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../lib/bytes.ts";
import { encodeEvent } from "../wire/event-record.ts";
import { comparePositions, frameLength, positionOf, writeFrame } from "../wire/frames.ts";
import type { Run } from "../wire/frames.ts";
import { PageBuilder } from "./page-builder.ts";

test("cut at runs, a run that does not fit begins the next page, whole and unchanged", () => {
  const [first, second] = [runOf(0, 4), runOf(4, 4)];
  const page = new PageBuilder(6, 1 << 20, [], "RUN");
  equal(page.add(first), undefined);
  equal(page.add(second), second);
  equal(page.full, true);
  equal(page.count, 4);
  deepEqual(page.examined, first.last);
  equal(page.examinedBytes, first.bytes);
  const next = new PageBuilder(6, 1 << 20, [], "RUN");
  next.add(second);
  // The very bytes that came from the storage: no event was parsed.
  equal(next.chunks[0], second.chunks[0]);
});

test("cut at runs, a run that fits no page at all is cut at an event: pages make progress", () => {
  const run = runOf(0, 10);
  const page = new PageBuilder(4, 1 << 20, [], "RUN");
  const rest = page.add(run);
  equal(page.count, 4);
  equal(rest?.count, 6);
  const small = new PageBuilder(100, 1, [], "RUN");
  equal(small.add(run)?.count, 9);
  equal(small.count, 1);
});

test("cut at runs, a page of one event is not filled up from a run that does not fit", () => {
  const page = new PageBuilder(6, 1 << 20, [], "RUN");
  page.add(runOf(0, 1));
  const next = runOf(1, 6);
  equal(page.add(next), next);
  equal(page.count, 1);
});

test("cut at events, a page takes as many as its bytes allow, and not one more", () => {
  const [first, second] = [runOf(1, 4), runOf(5, 4)];
  const each = first.bytes / 4;
  for (const [bytesMax, count] of [
    [6 * each, 6],
    [6 * each - 1, 5],
    [6 * each + 1, 6],
  ] as const) {
    const page = new PageBuilder(100, bytesMax, [], "EVENT");
    page.add(first);
    equal(page.add(second)?.count, 8 - count);
    equal(page.count, count);
  }
});

test("cut at events, a page is as full as it can be", () => {
  const page = new PageBuilder(6, 1 << 20, [], "EVENT");
  page.add(runOf(0, 4));
  equal(page.add(runOf(4, 4))?.count, 2);
  equal(page.count, 6);
  equal(page.full, true);
  equal(page.examinedEvents, 6);
});

test("C11: events that a filter drops were examined all the same", () => {
  const run = runOf(0, 4);
  const page = new PageBuilder(6, 1 << 20, [{ key: utf8("k"), value: utf8("v") }], "EVENT");
  equal(page.add(run), undefined);
  equal(page.count, 0);
  ok(page.examined && comparePositions(page.examined, run.last) === 0);
});

test("C20: a match of a filter is copied, and does not keep its whole run in memory", () => {
  const run = runOf(0, 4);
  const [source] = run.chunks;
  const all = new PageBuilder(6, 1 << 20, [], "EVENT");
  all.add(run);
  ok(all.chunks.every((chunk) => chunk.buffer === source?.buffer));
  for (const filters of [1, 2]) {
    const items = Array.from({ length: filters }, () => ({ key: utf8("k"), value: utf8("v") }));
    const page = new PageBuilder(6, 1 << 20, items, "EVENT");
    const given = runOf(0, 4, items.slice(0, 1));
    page.add(given);
    equal(page.count, 4);
    ok(page.chunks.every((chunk) => chunk.buffer !== given.chunks[0]?.buffer));
  }
});

/** One chunk with `count` events. */
function runOf(from: number, count: number, items: Parameters<typeof encodeEvent>[3] = []): Run {
  const events = Array.from({ length: count }, (_, n) =>
    encodeEvent(utf8("s"), from + n, utf8("e"), items),
  );
  const bytes = events.reduce((sum, event) => sum + frameLength(event.end - event.start), 0);
  const chunk = new Uint8Array(bytes);
  let at = 0;
  for (const event of events) at = writeFrame(chunk, at, event);
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) throw new Error("a run is never empty");
  return { chunks: [chunk], count, bytes, first: positionOf(first), last: positionOf(last) };
}
