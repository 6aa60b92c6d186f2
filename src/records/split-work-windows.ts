/**
 * The windows of time of an index (`split-work.ts`). Each window has a space for its entries, and
 * space `<index>-windows`, key = the start of the window, lists the windows that may have entries.
 *
 * A listing also walks over removed entries, for as long as the storage remembers them. Processes
 * make and remove entries all day, so one space for all would soon hold mostly removed ones. A
 * window's space is listed only while it has entries. The number of spaces is fixed and windows use
 * them in rotation; by the time a space is used again the storage has forgotten what was removed
 * from it.
 *
 * A process forgets a window only while it is empty, and relies on no clock for that: it first
 * marks the window as closing, then lists its entries. A process that makes an entry reads the mark
 * afterwards. So either the first sees the entry, or the second takes the mark back or makes the
 * window again.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
import { isUnreadable } from "../lib/stored-format.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { timeKey } from "./split-spaces.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

/** Which index an entry belongs to: due work, or routes that may not be published yet. */
export type WorkIndex = "split-work" | "split-publish";

export const WINDOW_MICROS = 600 * SECOND_MICROS;
/** Two weeks of windows: storages forget what was removed after ten days. */
const SPACES = 2_048;
const WINDOWS_PAGE = 100;
/** A process that is late or has a slow clock may still make entries in a window that has ended. */
const QUIET_MICROS = 60 * SECOND_MICROS;

/** The start of the window that contains a time. */
export function windowOf(micros: number): number {
  return Math.floor(Math.max(0, micros) / WINDOW_MICROS) * WINDOW_MICROS;
}

/**
 * Where the entries of a window lie. Entries of a window a whole rotation away may lie there too.
 */
export function windowSpace(index: WorkIndex, window: number): string {
  return `${index}/${(window / WINDOW_MICROS) % SPACES}`;
}

/** The windows from that of `from` to that of `to`, by time. */
export async function* listWindows(
  catalog: Catalog,
  index: WorkIndex,
  from: number,
  to: number,
): AsyncGenerator<number, void, undefined> {
  const first = windowOf(from);
  let after = first === 0 ? "" : timeKey(first - 1);
  for (;;) {
    const page = await catalog.list(listOf(index), after, WINDOWS_PAGE);
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
 * Makes sure that a window is listed. Call it before making an entry in the window, and again
 * afterwards: only then is the entry sure to be found. False if another process came between each
 * time.
 */
export async function openWindow(
  catalog: Catalog,
  index: WorkIndex,
  window: number,
): Promise<boolean> {
  const [space, key] = [listOf(index), timeKey(window)];
  const opened = await tryCompareAndSet(async () => {
    const there = await catalog.read(space, key);
    const state = there === undefined ? "DAMAGED" : stateOf(space, there);
    if (state === "OPEN") return true;
    // Of a newer version: it may be closing. A write of the same value keeps all that this process
    // does not know, and still lets no process remove the window.
    const value =
      state === "NEWER" && there !== undefined ? there.value : encodeStored({ closing: false });
    const written = await catalog.write(space, key, value, there?.version ?? 0);
    return written === undefined ? LOST : true;
  });
  return opened !== LOST;
}

/**
 * Forgets windows that have ended and are empty, a bounded number of them behind `after` ("" for
 * the first). Returns where to continue, "" at the end.
 */
export async function closeWindows(
  catalog: Catalog,
  index: WorkIndex,
  nowMicros: number,
  after: string,
): Promise<string> {
  const space = listOf(index);
  const page = await catalog.list(space, after, WINDOWS_PAGE);
  for (const stored of page) {
    const { key, version } = stored;
    const window = Number(key);
    if (window + WINDOW_MICROS + QUIET_MICROS > nowMicros) return "";
    if (stateOf(space, stored) === "NEWER" || (await hasEntries(catalog, index, window))) continue;
    const marked = await catalog.write(space, key, encodeStored({ closing: true }), version);
    // List once more: a process that makes an entry after this listing takes the mark back.
    if (marked === undefined || (await hasEntries(catalog, index, window))) continue;
    await catalog.remove(space, key, marked);
  }
  return page.length < WINDOWS_PAGE ? "" : (page.at(-1)?.key ?? "");
}

async function hasEntries(catalog: Catalog, index: WorkIndex, window: number): Promise<boolean> {
  const [first] = await catalog.list(windowSpace(index, window), timeKey(window), 1);
  return first !== undefined && first.key < timeKey(window + WINDOW_MICROS);
}

/**
 * A window is listed by its key alone, so a record that cannot be decoded keeps no process from
 * making entries (rule C28). DAMAGED: the next write replaces it. NEWER: only a newer version of
 * Braid may change it.
 */
function stateOf(space: string, stored: CatalogRecord): "OPEN" | "CLOSING" | "DAMAGED" | "NEWER" {
  try {
    return decodeStored(windowSchema, space, stored).closing ? "CLOSING" : "OPEN";
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return error instanceof ServiceError && error.code === "DATA_LOSS" ? "DAMAGED" : "NEWER";
  }
}

function listOf(index: WorkIndex): string {
  return `${index}-windows`;
}

const windowSchema = storedObject({ closing: z.boolean() });
