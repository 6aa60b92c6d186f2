/**
 * How large the partitions of a slice are: asks every source, returns the best answer, and includes
 * the other answers beside it.
 */
import type { Clock } from "../lib/clock.ts";
import { assert, ServiceError } from "../lib/errors.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { NoSizes, PartitionSizes, SizeReport, SizeSource } from "../ports/partition-sizes.ts";
import { readHistogram, readHistograms } from "../records/histogram-records.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { findSlice, requireSlice } from "./require-slice.ts";
import { noWalk, walkReport } from "./walk-report.ts";

export interface SliceSizesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly sources: readonly PartitionSizes[];
}

/** The size that a partition should have: at least `minBytes`, at most `maxBytes`. */
export interface TargetBand {
  readonly minBytes: number;
  readonly maxBytes: number;
}

export interface SliceSizeAnswer {
  readonly timeSlice: string;
  readonly best: SizeReport;
  readonly others: readonly (SizeReport | NoSizes)[];
  /** What the last walk of the slice stored, with events per partition. */
  readonly walk: SliceHistogram | undefined;
  readonly target: TargetBand;
}

/**
 * A walk knows every partition in bytes of events. JMX knows every flushed partition in bytes of
 * rows, reads of this server only some partitions, and estimates have no percentiles.
 */
const BEST_FIRST: readonly SizeSource[] = ["WALK", "JMX", "READS", "TABLE_ESTIMATES"];

/** `data_20260328_143000` has 20 characters. */
const NAME_MAX = 64;

export class SliceSizes {
  readonly #options: SliceSizesOptions;

  constructor(options: SliceSizesOptions) {
    assert(options.sources.length > 0, "there is at least one source of sizes");
    this.#options = options;
  }

  /**
   * An empty name means the slice that takes events now. Of a dropped slice only the last walk is
   * left. Rejects with TIME_SLICE_NOT_FOUND if there is no such slice.
   */
  async of(namespace: string, timeSlice: string, signal: AbortSignal): Promise<SliceSizeAnswer> {
    const { catalog, clock, sources } = this.#options;
    const record = await readReadyNamespace(catalog, namespace);
    const slices = await readSlices(catalog, record.id);
    const now = clock.nowMicros();
    const found = findSlice(slices, timeSlice, now);
    // No slice has a longer name, so none is looked up.
    const name = found?.name ?? timeSlice.slice(0, NAME_MAX);
    const walk = await readHistogram(catalog, record.id, name);
    const there = found !== undefined && found.state !== "DROPPED";
    if (!there && walk !== undefined) return onlyWalk(record, walk);
    const { name: slice } = requireSlice(slices, namespace, timeSlice, now);
    const answers = await Promise.all(
      sources.map((source) => source.sizesOf({ namespaceId: record.id, slice }, signal)),
    );
    const walked = walk === undefined ? noWalk() : walkReport(walk);
    const ranked = [walked, ...answers].toSorted((a, b) => rankOf(a) - rankOf(b));
    const best = ranked.find((answer) => answer.kind === "sizes");
    if (best === undefined) throw sizesUnknown(ranked);
    const others = ranked.filter((answer) => answer !== best);
    return { timeSlice: slice, best, others, walk, target: targetOf(record) };
  }

  /** The last walk of every slice, dropped ones too, oldest first. */
  async history(namespace: string): Promise<readonly SliceHistogram[]> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    return readHistograms(catalog, id);
  }
}

function onlyWalk(record: NamespaceRecord, walk: SliceHistogram): SliceSizeAnswer {
  const best = walkReport(walk);
  return { timeSlice: walk.timeSlice, best, others: [], walk, target: targetOf(record) };
}

function targetOf({ config: { tuning } }: NamespaceRecord): TargetBand {
  return { minBytes: tuning.densityMinBytes, maxBytes: tuning.densityMaxBytes };
}

/** A source that saw no partition ranks last: perhaps nothing is flushed yet. */
function rankOf(answer: SizeReport | NoSizes): number {
  const knows = answer.kind === "sizes" && answer.count > 0;
  return BEST_FIRST.indexOf(answer.source) + (knows ? 0 : BEST_FIRST.length);
}

function sizesUnknown(answers: readonly (SizeReport | NoSizes)[]): ServiceError {
  const reasons = answers.flatMap((answer) => (answer.kind === "none" ? [answer.reason] : []));
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `no source knows the sizes now: ${reasons.join("; ")}`,
    { retryAfterMs: 1_000 },
  );
}
