/**
 * The state of one watched topic as items by key, each with the revision at which it last changed:
 * any watcher gets what has changed since the revision it saw, and all of it if that is not known
 * any more. Nothing is queued for a watcher, however slow it is. Pure.
 */
import { assert } from "../../lib/errors.ts";

export interface WatchedItem<T> {
  readonly key: string;
  readonly value: T;
  /** Equal bytes: it has not changed. */
  readonly bytes: Uint8Array;
}

export interface Changes<T> {
  /** What a watcher that got these has seen. */
  readonly revision: number;
  /** `values` is all there is. */
  readonly snapshot: boolean;
  readonly values: readonly T[];
  readonly removed: readonly string[];
  readonly truncated: boolean;
}

/** Further removals make watchers that have not seen them start again. */
const REMOVED_MAX = 1_000;

export class ChangeList<T> {
  readonly #items = new Map<string, WatchedItem<T> & { readonly changedAt: number }>();
  /** Oldest first. */
  readonly #removed: { readonly key: string; readonly at: number }[] = [];
  /** A watcher that has seen less than this cannot be told what it missed. */
  #since = Number.POSITIVE_INFINITY;
  #revision = 0;
  #truncated = false;

  /**
   * Replaces the items. `revision` is higher than every one before, also of other lists. Returns
   * false if nothing has changed; then the revision is not used.
   */
  update(items: Iterable<WatchedItem<T>>, truncated: boolean, revision: number): boolean {
    assert(revision > this.#revision, "revisions rise");
    const first = this.#revision === 0;
    let changed = first || truncated !== this.#truncated;
    const gone = new Set(this.#items.keys());
    for (const item of items) {
      gone.delete(item.key);
      const known = this.#items.get(item.key);
      if (known !== undefined && Buffer.compare(known.bytes, item.bytes) === 0) continue;
      this.#items.set(item.key, { ...item, changedAt: revision });
      changed = true;
    }
    for (const key of gone) {
      this.#items.delete(key);
      this.#removed.push({ key, at: revision });
      changed = true;
    }
    for (const { at } of this.#removed.splice(0, this.#removed.length - REMOVED_MAX)) {
      this.#since = at;
    }
    if (!changed) return false;
    if (first) this.#since = revision;
    this.#revision = revision;
    this.#truncated = truncated;
    return true;
  }

  /** Undefined if there is nothing new. `seen` undefined: nothing seen yet. */
  changesSince(seen: number | undefined): Changes<T> | undefined {
    if (this.#revision === 0 || seen === this.#revision) return undefined;
    const base = { revision: this.#revision, truncated: this.#truncated };
    const all = [...this.#items.values()];
    if (seen === undefined || seen < this.#since || seen > this.#revision) {
      return { ...base, snapshot: true, values: all.map(({ value }) => value), removed: [] };
    }
    const removed = this.#removed.filter(({ key, at }) => at > seen && !this.#items.has(key));
    return {
      ...base,
      snapshot: false,
      values: all.filter(({ changedAt }) => changedAt > seen).map(({ value }) => value),
      removed: [...new Set(removed.map(({ key }) => key))],
    };
  }
}
