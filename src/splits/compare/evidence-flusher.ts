/**
 * Counts the results of comparisons and stores the totals as the namespaces' evidence every few
 * seconds.
 *
 * It writes what this process has counted since the round began, so that a write repeated after a
 * lost answer counts nothing twice (rule C29). A process that dies loses the results since its last
 * write, which only means that more reads must be compared.
 */
import type { Clock } from "../../lib/clock.ts";
import { kindName, kindOf } from "../../model/split-kind.ts";
import { splitMarkOf, uniteMarks } from "../../model/split-marks.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { writeEvidence } from "../../records/evidence-records.ts";
import type { CounterEvidence } from "../../records/evidence-records.ts";
import type { Comparison } from "../serve/comparison.ts";

export interface EvidenceOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** The name of this process, unique to its start. */
  readonly by: string;
  readonly trouble: (what: string, error: unknown) => void;
  readonly everyMs?: number;
  readonly kindsMax?: number;
}

/** Replaced by every change, never changed itself. */
interface Counted {
  readonly namespaceId: string;
  readonly evidence: CounterEvidence;
  readonly isStored: boolean;
}

const EVERY_MS = 3_000;
/** Kinds of splits in all namespaces together. */
const KINDS_MAX = 10_000;

export class EvidenceFlusher {
  readonly #options: EvidenceOptions;
  /** By namespace and kind. The first was counted longest ago. */
  readonly #counted = new Map<string, Counted>();
  #counters = 0;

  constructor(options: EvidenceOptions) {
    this.#options = options;
  }

  /** A comparison without events proves nothing and is not counted. */
  matched(comparison: Comparison): void {
    const { events, bytes } = comparison.read.sum;
    if (events > 0) this.#count(comparison, { bytesMatched: bytes, bytesDiffered: 0 });
  }

  differed(comparison: Comparison): void {
    // A read that missed an event may have had no bytes itself.
    const bytesDiffered = Math.max(1, comparison.read.sum.bytes);
    this.#count(comparison, { bytesMatched: 0, bytesDiffered });
  }

  /** Writes what has changed since the last write. Never rejects. */
  async flush(): Promise<void> {
    const { catalog, trouble } = this.#options;
    const changed = [...this.#counted].filter(([, { isStored }]) => !isStored);
    for (const [key, counted] of changed) {
      try {
        await writeEvidence(catalog, counted.namespaceId, counted.evidence);
        if (this.#counted.get(key) !== counted) continue;
        this.#counted.set(key, { ...counted, isStored: true });
      } catch (error) {
        trouble("evidence could not be written; it is tried again", error);
      }
    }
  }

  /** Flushes until the signal aborts, and once more then. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(this.#options.everyMs ?? EVERY_MS, signal);
      await this.flush();
    }
  }

  #count(
    { partition, round, read }: Comparison,
    seen: Pick<CounterEvidence, "bytesMatched" | "bytesDiffered">,
  ): void {
    const { namespaceId } = partition;
    const kind = kindOf(read.segment);
    const key = `${namespaceId}|${kindName(kind)}`;
    let known = this.#counted.get(key)?.evidence;
    if (known !== undefined && known.round > round) return;
    if (known?.round !== round) known = undefined;
    if (!this.#makeRoom(key, seen.bytesDiffered > 0)) return;
    const evidence: CounterEvidence = {
      ...kind,
      round,
      counter: known?.counter ?? `${this.#options.by}.${this.#counters++}`,
      readsCompared: (known?.readsCompared ?? 0) + 1,
      bytesMatched: (known?.bytesMatched ?? 0) + seen.bytesMatched,
      bytesDiffered: (known?.bytesDiffered ?? 0) + seen.bytesDiffered,
      marks: uniteMarks(known?.marks ?? [], [splitMarkOf(partition)]),
      since: known?.since ?? this.#options.clock.nowMicros(),
    };
    this.#counted.delete(key);
    this.#counted.set(key, { namespaceId, evidence, isStored: false });
  }

  /**
   * Forgets the kind that was counted longest ago, if it is stored; counted again, it gets another
   * counter. False if there is no room before the next write: then the result is dropped. A
   * difference takes the place of reads that matched, which only means that more must be compared.
   */
  #makeRoom(key: string, isDifference: boolean): boolean {
    const { kindsMax = KINDS_MAX, trouble } = this.#options;
    if (this.#counted.has(key) || this.#counted.size < kindsMax) return true;
    const stored = this.#first(({ isStored }) => isStored);
    const room = isDifference
      ? (stored ?? this.#first(({ evidence }) => evidence.bytesDiffered === 0))
      : stored;
    if (room !== undefined) return this.#counted.delete(room);
    if (isDifference) {
      const error = new Error(`${kindsMax} kinds of splits wait for their evidence to be written`);
      trouble("a difference is not part of the evidence", error);
    }
    return false;
  }

  #first(isWanted: (counted: Counted) => boolean): string | undefined {
    for (const [key, counted] of this.#counted) if (isWanted(counted)) return key;
    return undefined;
  }
}
