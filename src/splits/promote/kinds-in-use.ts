/**
 * Finds the kinds of splits that a namespace's reads can meet, and how many splits of each. It
 * reads them from the routes, so a kind that was never compared is known too and holds the read
 * mode back (rule C13).
 *
 * Bounded: it reads a limited number of routes and keeps an answer for one minute.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { isSealed } from "../../model/epochs.ts";
import type { EpochStarts } from "../../model/epochs.ts";
import type { Namespace } from "../../model/namespace.ts";
import { listRoutes } from "../../records/route-records.ts";
import { readSlices } from "../../records/slice-records.ts";
import { slicesWithSplits } from "../../records/split-records.ts";
import { kindName, kindOf } from "../../model/split-kind.ts";
import { SPLIT_MARKS_MAX, splitMarkOf } from "../../model/split-marks.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitKind } from "../../model/read-mode.ts";
import { SPLIT_LAYOUTS } from "../../model/layouts.ts";
import { SPLIT_STRATEGIES } from "../../model/strategies/strategies.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { KindInUse } from "./advance.ts";

/** The number of kinds that exist; a listing that has met enough of each can end. */
const KINDS = SPLIT_LAYOUTS.length * SPLIT_STRATEGIES.length;
/** In a namespace with more splits than this, only the newest slices count. */
const ROUTES_MAX = 50_000;
const KEPT_MS = 60_000;
const NAMESPACES_MAX = 1_000;

interface Kept {
  readonly kinds: readonly KindInUse[];
  readonly epoch: number;
  readonly askedAtMs: number;
}

export class KindsInUse {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #routesMax: number;
  /** By namespace id. */
  readonly #kept = new LRUCache<string, Kept>({ max: NAMESPACES_MAX });

  constructor(catalog: Catalog, clock: Clock, routesMax: number = ROUTES_MAX) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#routesMax = routesMax;
  }

  /** Undefined if no split can be served. */
  async of({
    id,
    epoch,
    epochStarts,
  }: Pick<Namespace, "id" | "epoch" | "epochStarts">): Promise<readonly KindInUse[] | undefined> {
    const askedAtMs = this.#clock.monotonicMs();
    const kept = this.#kept.get(id);
    if (kept?.epoch === epoch && askedAtMs - kept.askedAtMs < KEPT_MS) return kept.kinds;
    const kinds = await this.#list(id, epochStarts);
    this.#kept.delete(id);
    // Not kept: the first split of a namespace must not be missed for a minute.
    if (kinds.length === 0) return undefined;
    this.#kept.set(id, { kinds, epoch, askedAtMs });
    return kinds;
  }

  async #list(namespaceId: string, starts: EpochStarts): Promise<readonly KindInUse[]> {
    const found = new FoundKinds();
    const noted = await slicesWithSplits(this.#catalog, namespaceId);
    if (noted.size === 0) return [];
    const slices = await readSlices(this.#catalog, namespaceId);
    // Reads do not reach a closed slice, and its splits could hold the mode back for ever.
    const read = slices.filter(({ name, state }) => state === "OPEN" && noted.has(name));
    let listed = 0;
    for (const { name } of read.toSorted((a, b) => b.start - a.start)) {
      for await (const route of listRoutes(this.#catalog, { namespaceId, slice: name })) {
        if (++listed > this.#routesMax) return found.kinds();
        for (const segment of route.segments) {
          if (!segment.confirmed || !isSealed(starts, segment)) continue;
          found.add(kindOf(segment), route.partition);
        }
        if (found.isComplete()) return found.kinds();
      }
    }
    return found.kinds();
  }
}

class FoundKinds {
  readonly #found = new Map<string, { readonly kind: SplitKind; readonly marks: Set<number> }>();

  add(kind: SplitKind, partition: PartitionKey): void {
    const name = kindName(kind);
    const { marks } = this.#found.get(name) ?? { marks: new Set() };
    if (marks.size < SPLIT_MARKS_MAX) marks.add(splitMarkOf(partition));
    this.#found.set(name, { kind, marks });
  }

  /** Whether more routes would change nothing. */
  isComplete(): boolean {
    if (this.#found.size < KINDS) return false;
    return [...this.#found.values()].every(({ marks }) => marks.size === SPLIT_MARKS_MAX);
  }

  kinds(): KindInUse[] {
    return [...this.#found.values()].map(({ kind, marks }) => ({ ...kind, splits: marks.size }));
  }
}
