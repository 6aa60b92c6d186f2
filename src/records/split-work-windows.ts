/**
 * The windows of time that splits are due in: each has a space of its own for its entries, and space
 * `split-work-windows`, key = the start of the window, says which of them there are.
 *
 * What was removed from a space is walked over by whoever lists it, for as long as the storage remembers
 * it. Entries are made and removed all day long, so one space for all of them would soon be mostly
 * that; a window's space is listed while it has entries, and then no more. The spaces take turns, so that
 * there are only so many of them; by its next turn what was removed from one is forgotten.
 *
 * A window is forgotten only while it is empty, and nobody's clock is relied on for that: who is about to
 * forget one says so first, then looks; who makes an entry looks after it at what was said. So either the
 * entry is seen, or what was said is taken back and the window stays, or is made anew.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { z } from "zod";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { Catalog } from "../ports/catalog.ts";
import { timeKey } from "./split-spaces.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "split-work-windows";
export const WINDOW_MICROS = 600 * SECOND_MICROS;
/** A fortnight of them: storages forget what was removed after ten days. */
const SPACES = 2_048;
const WINDOWS_PAGE = 100;
/** Who is late or has a slow clock may still make entries in one that is over. */
const QUIET_MICROS = 60 * SECOND_MICROS;

/** The start of the window that a time is in. */
export function windowOf(micros: number): number {
  return Math.floor(Math.max(0, micros) / WINDOW_MICROS) * WINDOW_MICROS;
}

/** Where the entries of a window lie. Those of a window a whole turn away may lie there too. */
export function windowSpace(window: number): string {
  return `split-work/${(window / WINDOW_MICROS) % SPACES}`;
}

/** The windows from that of `from` to that of `to`, by time. */
export async function* listWindows(
  catalog: Catalog,
  from: number,
  to: number,
): AsyncGenerator<number, void, undefined> {
  const first = windowOf(from);
  let after = first === 0 ? "" : timeKey(first - 1);
  for (;;) {
    const page = await catalog.list(SPACE, after, WINDOWS_PAGE);
    for (const { key } of page) {
      if (Number(key) > to) return;
      yield Number(key);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < WINDOWS_PAGE) return;
    after = last.key;
  }
}

/**
 * Sees to it that a window is listed. To be called before an entry is made in it, and again after that:
 * only then is the entry sure to be found. False if others came between each time.
 */
export async function openWindow(catalog: Catalog, window: number): Promise<boolean> {
  const key = timeKey(window);
  const opened = await tryCompareAndSet(async () => {
    const there = await catalog.read(SPACE, key);
    if (there !== undefined && !decodeStored(windowSchema, SPACE, there).closing) return true;
    const value = encodeStored({ closing: false });
    return (await catalog.write(SPACE, key, value, there?.version ?? 0)) === undefined
      ? LOST
      : true;
  });
  return opened !== LOST;
}

/**
 * Forgets windows that are over and empty, a bounded number of them behind `after` ("" for the first).
 * What to go on behind is given back, "" at the end.
 */
export async function closeWindows(
  catalog: Catalog,
  nowMicros: number,
  after: string,
): Promise<string> {
  const page = await catalog.list(SPACE, after, WINDOWS_PAGE);
  for (const { key, version } of page) {
    const window = Number(key);
    if (window + WINDOW_MICROS + QUIET_MICROS > nowMicros) return "";
    if (await hasEntries(catalog, window)) continue;
    const said = await catalog.write(SPACE, key, encodeStored({ closing: true }), version);
    // Looked at once more: an entry that comes later than this look takes back what was said.
    if (said === undefined || (await hasEntries(catalog, window))) continue;
    await catalog.remove(SPACE, key, said);
  }
  return page.length < WINDOWS_PAGE ? "" : (page.at(-1)?.key ?? "");
}

async function hasEntries(catalog: Catalog, window: number): Promise<boolean> {
  const [first] = await catalog.list(windowSpace(window), timeKey(window), 1);
  return first !== undefined && first.key < timeKey(window + WINDOW_MICROS);
}

const windowSchema = storedObject({ closing: z.boolean() });
