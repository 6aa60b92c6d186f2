import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { gatedCatalog, StopAfter } from "../../tests/support/stopped-process.ts";
import { settle } from "../../tests/support/virtual-clock.ts";
import type { Catalog } from "../ports/catalog.ts";
import { closeWindows, WINDOW_MICROS } from "./split-work-windows.ts";
import { listDue, putDue, readDue, removeDue } from "./split-work.ts";
import type { DueEntry } from "./split-work.ts";

const NOW = 1_774_699_200_000_000;
const MINUTE = 60_000_000;
const DAY = 1_440 * MINUTE;
const INDEX = "split-work";
const PARTITION = {
  namespaceId: "plays-1",
  slice: "data_20260328",
  seriesId: "a|b",
  timeBucket: 12,
  eventBucket: 0,
};

function put(catalog: Catalog, dueAt: number, seriesId = "a|b"): Promise<DueEntry | undefined> {
  const partition = { ...PARTITION, seriesId };
  return putDue(catalog, { index: INDEX, dueAt, partition, namespace: "plays", from: 1 });
}

async function timesDue(catalog: Catalog, now: number, limit = 1_000): Promise<number[]> {
  return (await listDue(catalog, INDEX, now, limit)).due.map(({ dueAt }) => dueAt);
}

test("due entries are listed by time across windows, a page at a time", async () => {
  const catalog = new MemoryCatalog();
  const times = [5, 0, 700, 11, 12, 1_300, 650, 21].map((minutes) => NOW + minutes * MINUTE);
  for (const time of times) await put(catalog, time);
  const sorted = times.toSorted((a, b) => a - b);
  deepEqual(await timesDue(catalog, NOW + DAY), sorted);
  deepEqual(await timesDue(catalog, NOW + 12 * MINUTE), sorted.slice(0, 4));
  const paged: number[] = [];
  for (let page = await listDue(catalog, INDEX, NOW + DAY, 3); ;) {
    paged.push(...page.due.map(({ dueAt }) => dueAt));
    if (page.cursor === undefined) break;
    page = await listDue(catalog, INDEX, NOW + DAY, 3, page.cursor);
  }
  deepEqual(paged, sorted);
});

const NEWER = '{"format":2,"closing":true,"more":1}';

for (const value of ["{", '{"format":1}', NEWER]) {
  test(`C28: a window whose record is ${value} takes entries, and they are found`, async () => {
    const catalog = new MemoryCatalog();
    const [space, key] = ["split-work-windows", String(NOW)];
    await catalog.write(space, key, value, 0);
    for (const minutes of [0, 1]) ok(await put(catalog, NOW + minutes * MINUTE));
    deepEqual(await timesDue(catalog, NOW + DAY), [NOW, NOW + MINUTE]);
    const after = await catalog.read(space, key);
    // A damaged record is replaced. One of a newer version keeps its value.
    equal(after?.value, value === NEWER ? NEWER : '{"format":1,"closing":false}');
  });
}

test("C28: a newer version that closes a window does not remove it under an entry made meanwhile", async () => {
  const catalog = new MemoryCatalog();
  const [space, key] = ["split-work-windows", String(NOW)];
  // The newer version has marked the window and found no entries.
  const marked = await catalog.write(space, key, NEWER, 0);
  ok(marked !== undefined && (await put(catalog, NOW)));
  equal(await catalog.remove(space, key, marked), false);
  deepEqual(await timesDue(catalog, NOW + DAY), [NOW]);
});

test("C28: an empty window is forgotten if its record is damaged, and left if it is of a newer version", async () => {
  const catalog = new MemoryCatalog();
  const space = "split-work-windows";
  await catalog.write(space, String(NOW), "{", 0);
  await catalog.write(space, String(NOW + WINDOW_MICROS), NEWER, 0);
  await closeWindows(catalog, INDEX, NOW + DAY, "");
  deepEqual(
    catalog.peek(space).map(({ value }) => value),
    [NEWER],
  );
});

test("days of removed entries are not walked over", async () => {
  const catalog = new MemoryCatalog();
  const removed = new Map<string, number>();
  catalog.changed = (space, _before, after) => {
    if (after === undefined) removed.set(space, (removed.get(space) ?? 0) + 1);
  };
  // One entry stays due all the time, and must not keep the windows behind it.
  await put(catalog, NOW, "stays");
  let [most, listed] = [0, 0];
  for (let at = NOW; at < NOW + 3 * DAY; at += 2 * MINUTE) {
    const entry = await put(catalog, at);
    ok(entry);
    await removeDue(catalog, entry);
    await closeWindows(catalog, INDEX, at, "");
    let walked = 0;
    listed = 0;
    catalog.before = (call, space) => {
      if (call !== "list") return;
      listed++;
      walked += removed.get(space) ?? 0;
    };
    deepEqual(await timesDue(catalog, at), [NOW]);
    catalog.before = () => undefined;
    most = Math.max(most, walked);
  }
  // Three days have 432 windows; each but the first, the last and the one before it is forgotten.
  ok(listed <= 5, `${listed} lists`);
  ok(most < 500, `${most} removed entries in what is listed`);
});

test("an old entry is still found when its space is reused, and entries of both windows are kept apart", async () => {
  const catalog = new MemoryCatalog();
  const turn = 2_048 * WINDOW_MICROS;
  await put(catalog, NOW);
  await put(catalog, NOW + turn);
  deepEqual(await timesDue(catalog, NOW + turn - 1), [NOW]);
  deepEqual(await timesDue(catalog, NOW + turn), [NOW, NOW + turn]);
  const later = await readDue(catalog, { index: INDEX, dueAt: NOW + turn, partition: PARTITION });
  const first = await readDue(catalog, { index: INDEX, dueAt: NOW, partition: PARTITION });
  ok(later && first);
  await removeDue(catalog, first);
  equal(await closeWindows(catalog, INDEX, NOW + turn, ""), "");
  deepEqual(await timesDue(catalog, NOW + turn), [NOW + turn]);
  equal(catalog.peek("split-work-windows").length, 1);
});

test("no entry is missed, wherever the process that adds it or the one that forgets its window stops, and whatever their clocks say", async () => {
  // Long over by the clock of the process that forgets windows.
  const late = NOW + DAY;
  const acts: Readonly<Record<string, (catalog: Catalog) => Promise<unknown>>> = {
    put: (catalog) => put(catalog, NOW),
    close: (catalog) => closeWindows(catalog, INDEX, late, ""),
  };
  for (const [stopping, other] of [
    ["put", "close"],
    ["close", "put"],
    ["close", "close"],
  ] as const) {
    for (const open of [true, false]) {
      for (let passes = 0; ; passes++) {
        const catalog = new MemoryCatalog();
        if (open) {
          const before = await put(catalog, NOW + 1, "before");
          ok(before);
          await removeDue(catalog, before);
        }
        const stop = new StopAfter(passes);
        const stopped = acts[stopping]?.(gatedCatalog(catalog, stop.gate));
        await settle();
        const made = await acts[other]?.(catalog);
        if (stopping !== "put" && other !== "put") await put(catalog, NOW);
        stop.resume();
        const madeLate = await stopped;
        const where = `${stopping} stopped after ${passes}, window ${open ? "there" : "not there"}`;
        ok(stopping !== "put" || madeLate !== undefined, where);
        ok(other !== "put" || made !== undefined, where);
        deepEqual(await timesDue(catalog, late), [NOW], where);
        await acts["close"]?.(catalog);
        deepEqual(await timesDue(catalog, late), [NOW], where);
        if (!stop.stopped) break;
        ok(passes < 100, "it ends");
      }
    }
  }
});
