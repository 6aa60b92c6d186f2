/**
 * Rechecks a difference between a split and its original before it acts on it (rule C14).
 *
 * A write that failed may surface in the original hours later. So it reads both sides again, at
 * ALL. If only the original has an event, or the split cannot be read, the split is copied again,
 * from the segment where the difference was found. Other bytes, or an event that only the split
 * has, mean that the copying itself is wrong: then the namespace falls back, and that split is held
 * until an operator retries it.
 *
 * The split is quarantined from the first difference on: this server does not serve it until a
 * recheck finds that both sides agree, or that no server follows that copy any more. A recheck that
 * fails is repeated, however long that takes. Meanwhile the evidence says that a difference is not
 * settled, so that no read mode advances on what other servers see.
 */
import { abortable } from "../../lib/abortable.ts";
import { LOST, tryCompareAndSet } from "../../lib/compare-and-set.ts";
import type { Clock } from "../../lib/clock.ts";
import { moveSplit, publishSplit } from "../record/move-split.ts";
import { locateNamespace } from "../../records/locate-namespace.ts";
import { markUnsettled, UNSETTLED_EVERY_MS } from "../../records/evidence-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { partitionText } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { kindName, kindOf } from "../../model/split-kind.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { ComparisonReaders } from "./comparison-readers.ts";
import type { Comparison } from "../serve/comparison.ts";
import type { ServeObserver } from "../serve/observer.ts";
import { isSameCopy, isServed, recheckDifference } from "./recheck-difference.ts";
import type { Recheck } from "./recheck-difference.ts";
import { held, reasonOf, recopied } from "./recopy.ts";
import type { TrustStates } from "./trust-states.ts";

export interface DifferencesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** The name of this process, for the history. */
  readonly by: string;
  readonly readers: ComparisonReaders;
  readonly trustStates: TrustStates;
  readonly observe: Pick<ServeObserver, "differenceChecked" | "trouble">;
  /** Makes the namespace serve originals again. */
  readonly fallBack: (
    namespace: { readonly name: string; readonly id: string },
    reason: string,
  ) => void | Promise<void>;
  readonly differed: (comparison: Comparison) => void;
  /** Called after this process has changed the partition's route. */
  readonly changed: (partition: PartitionKey) => void;
}

/** A copy that this server does not serve. Trust states bound how many there are. */
interface Quarantine {
  /** Resolved when a recheck has settled it. */
  readonly settled: PromiseWithResolvers<void>;
  /** What the next recheck reads. */
  comparison: Comparison;
  /** What has differed since. Several differences become one range that spans them all. */
  later: Comparison | undefined;
  /** The number of rechecks that did not settle it. */
  rechecks: number;
  /** When the next recheck is due, on the monotonic clock. */
  dueMs: number;
}

const ATTEMPTS_MAX = 5;
/** The wait between rounds while some copies wait for another recheck. */
const ROUND_MS = 1_000;
const AGAIN_FIRST_MS = 5_000;
const AGAIN_MAX_MS = 60_000;

export class Differences {
  readonly #options: DifferencesOptions;
  readonly #quarantined = new Map<string, Quarantine>();
  readonly #leaving = new AbortController();
  #working: Promise<void> | undefined;
  #marking: Promise<void> | undefined;

  constructor(options: DifferencesOptions) {
    this.#options = options;
  }

  /** Returns at once. The split is quarantined from now on. Rechecks run one at a time. */
  submit(comparison: Comparison): void {
    this.#quarantine(comparison);
  }

  /**
   * Submits, and resolves to true when a recheck has settled it. False if it was not submitted, for
   * lack of room or because this is closing: submit it again later. Rejects when the signal aborts.
   */
  async settle(comparison: Comparison, signal: AbortSignal): Promise<boolean> {
    const quarantine = this.#quarantine(comparison);
    if (quarantine === undefined) return false;
    await abortable(quarantine.settled.promise, signal);
    return true;
  }

  async close(): Promise<void> {
    this.#leaving.abort(new Error("no longer wanted"));
    await Promise.all([this.#working, this.#marking]);
    this.#quarantined.clear();
  }

  #quarantine(comparison: Comparison): Quarantine | undefined {
    if (this.#leaving.signal.aborted) return undefined;
    const { segment } = comparison.read;
    const partition = partitionText(comparison.partition);
    const key = `${segment.generation}@${segment.from}#${partition}`;
    const known = this.#quarantined.get(key);
    if (known !== undefined) {
      known.later = known.later === undefined ? comparison : covering(known.later, comparison);
      return known;
    }
    if (!this.#options.trustStates.quarantine(partition, segment)) return undefined;
    const quarantine: Quarantine = {
      settled: Promise.withResolvers(),
      comparison,
      later: undefined,
      rechecks: 0,
      dueMs: this.#options.clock.monotonicMs(),
    };
    this.#quarantined.set(key, quarantine);
    this.#working ??= this.#work();
    this.#marking ??= this.#mark();
    return quarantine;
  }

  async #work(): Promise<void> {
    const { clock, trustStates } = this.#options;
    const { signal } = this.#leaving;
    while (this.#quarantined.size > 0 && !signal.aborted) {
      // This loop also reaches a copy that is submitted during the recheck of another.
      for (const [key, quarantine] of this.#quarantined) {
        if (signal.aborted) break;
        if (quarantine.dueMs > clock.monotonicMs() || !(await this.#settle(quarantine))) continue;
        const { partition, read } = quarantine.comparison;
        this.#quarantined.delete(key);
        trustStates.clear(partitionText(partition), read.segment);
        quarantine.settled.resolve();
      }
      if (this.#quarantined.size > 0) await clock.sleep(ROUND_MS, signal);
    }
    this.#working = undefined;
  }

  /**
   * Keeps read modes from advancing while a split is quarantined. Runs separately from rechecks,
   * which may take long. Never rejects.
   */
  async #mark(): Promise<void> {
    const { signal } = this.#leaving;
    while (this.#quarantined.size > 0 && !signal.aborted) {
      const kinds = new Map<string, Comparison>();
      for (const { comparison } of this.#quarantined.values()) {
        const { partition, read } = comparison;
        kinds.set(`${partition.namespaceId}|${kindName(kindOf(read.segment))}`, comparison);
      }
      for (const comparison of kinds.values()) await this.#markOne(comparison);
      await this.#options.clock.sleep(UNSETTLED_EVERY_MS, signal);
    }
    this.#marking = undefined;
  }

  async #markOne({ namespace, partition, round, read }: Comparison): Promise<void> {
    const { catalog, clock, observe } = this.#options;
    const { namespaceId } = partition;
    try {
      // It may have been restored under another name.
      const found = await locateNamespace(catalog, namespaceId, namespace);
      // A namespace that is being deleted must leave no evidence behind.
      if (found === "deleted" || found === "gone") return;
      const kind = kindOf(read.segment);
      await markUnsettled(catalog, namespaceId, { ...kind, round }, clock.nowMicros());
    } catch (error) {
      observe.trouble("could not record that a difference is not settled", error);
    }
  }

  /** Returns whether the copy is no longer quarantined. Never rejects. */
  async #settle(quarantine: Quarantine): Promise<boolean> {
    const { clock } = this.#options;
    if (!(await this.#recheck(quarantine.comparison))) {
      const waitMs = Math.min(
        AGAIN_MAX_MS,
        AGAIN_FIRST_MS * 2 ** Math.min(quarantine.rechecks++, 10),
      );
      quarantine.dueMs = clock.monotonicMs() + waitMs;
      return false;
    }
    // Other positions have differed meanwhile; this recheck did not read those.
    if (quarantine.later === undefined) return true;
    quarantine.comparison = quarantine.later;
    quarantine.later = undefined;
    return false;
  }

  async #recheck(comparison: Comparison): Promise<boolean> {
    const { catalog, readers, observe } = this.#options;
    const { signal } = this.#leaving;
    let found: Recheck = {
      verdict: "NOT_CHECKED",
      detail: "one side could not be read again",
      served: true,
    };
    let settled = false;
    try {
      found = await recheckDifference(catalog, readers, comparison, signal);
      settled = await this.#act(comparison, found);
    } catch (error) {
      if (!signal.aborted) observe.trouble("a difference could not be rechecked", error);
    }
    observe.differenceChecked(comparison.namespace, found.verdict, found.detail);
    return settled;
  }

  /** True if nothing is left to do. */
  async #act(comparison: Comparison, found: Recheck): Promise<boolean> {
    const { catalog, clock, by, fallBack, differed } = this.#options;
    switch (found.verdict) {
      case "VANISHED":
        return true;
      case "NOT_CHECKED":
        return !found.served;
      case "ONLY_IN_ORIGINAL":
      case "UNREADABLE":
        await this.#change(comparison, (before, nth) =>
          recopied(before, nth, found, by, clock.nowMicros()),
        );
        break;
      case "ONLY_IN_SPLIT":
      case "OTHER_BYTES":
        differed(comparison);
        await fallBack(
          { name: found.namespace, id: comparison.partition.namespaceId },
          `${reasonOf(found)} in ${locationOf(comparison.partition)}`,
        );
        // Otherwise every later comparison would make the namespace fall back once more.
        await this.#change(comparison, (before) => held(before, found, by, clock.nowMicros()));
    }
    // Another process may have changed the record, or its route may not be published yet.
    return !(await isServed(catalog, comparison));
  }

  async #change(
    { partition, read }: Comparison,
    make: (before: SplitRecord, nth: number) => SplitRecord,
  ): Promise<void> {
    const { catalog, clock, changed } = this.#options;
    await tryCompareAndSet(async () => {
      const before = await readSplit(catalog, partition);
      const nth = before?.segments.findIndex((s) => isSameCopy(s, read.segment)) ?? -1;
      if (before === undefined) return undefined;
      if (nth < 0) {
        // The record has changed, yet servers follow that copy: the new route is not published
        // (rule C23).
        await publishSplit(catalog, clock, before);
        changed(partition);
        return undefined;
      }
      if ((await moveSplit(catalog, clock, before, make(before, nth))) === undefined) return LOST;
      changed(partition);
      return undefined;
    }, ATTEMPTS_MAX);
  }
}

/**
 * Joins two comparisons into one, so that one recheck covers any number. It also reads the time
 * between them.
 */
function covering(a: Comparison, b: Comparison): Comparison {
  const from = Math.min(a.read.range.from, b.read.range.from);
  const to = Math.max(a.read.range.to, b.read.range.to);
  // The recheck needs neither the ends of the pages nor the order in which they were read.
  const range = { ...b.read.range, from, to, after: undefined };
  return { ...b, read: { ...b.read, range, last: undefined } };
}

function locationOf({ slice, seriesId, timeBucket, eventBucket }: PartitionKey): string {
  return `${slice}/${seriesId}/${timeBucket}/${eventBucket}`;
}
