/**
 * How large the partitions of a slice are: asks every source, returns the best answer, and includes
 * the other answers beside it.
 */
import type { Clock } from "../lib/clock.ts";
import { assert, ServiceError } from "../lib/errors.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { Catalog } from "../ports/catalog.ts";
import type {
  NoSizes,
  PartitionSizes,
  SizeReport,
  SliceReports,
} from "../ports/partition-sizes.ts";
import { readHistogram, readHistograms } from "../records/histogram-records.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readAllSizeReports, readSizeReports } from "../records/size-report-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { bestFirst, isKnown } from "./rank-reports.ts";
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

/** `data_20260328_143000` has 20 characters. */
const NAME_MAX = 64;

export class SliceSizes {
  readonly #options: SliceSizesOptions;

  constructor(options: SliceSizesOptions) {
    assert(options.sources.length > 0, "there is at least one source of sizes");
    this.#options = options;
  }

  /**
   * An empty name means the slice that takes events now. Of a dropped slice only what was stored is
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
    const stored = (await readSizeReports(catalog, record.id, name))?.reports ?? [];
    const there = found !== undefined && found.state !== "DROPPED";
    if (!there && (walk !== undefined || stored.length > 0)) {
      return onlyStored(record, name, walk, stored);
    }
    const { name: slice } = requireSlice(slices, namespace, timeSlice, now);
    const answers = await Promise.all(
      sources.map((source) => source.sizesOf({ namespaceId: record.id, slice }, signal)),
    );
    const walked = walk === undefined ? noWalk() : walkReport(walk);
    const ranked = bestFirst([walked, ...answers.map((answer) => orStored(answer, stored))]);
    const best = ranked.find((answer) => answer.kind === "sizes");
    if (best === undefined) throw sizesUnknown(ranked);
    const others = ranked.filter((answer) => answer !== best);
    return { timeSlice: slice, best, others, walk, target: targetOf(record) };
  }

  /**
   * What is stored of slices that have no walk, dropped ones too, oldest first: for each the best
   * source of the storage.
   */
  async unwalked(namespace: string): Promise<readonly SliceReports[]> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    const walked = new Set((await readHistograms(catalog, id)).map(({ timeSlice }) => timeSlice));
    const all = await readAllSizeReports(catalog, id);
    return all.filter(({ timeSlice }) => !walked.has(timeSlice));
  }

  /** The last walk of every slice, dropped ones too, oldest first. */
  async history(namespace: string): Promise<readonly SliceHistogram[]> {
    const { catalog } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    return readHistograms(catalog, id);
  }
}

/** Of a slice that was dropped: there is a walk, or at least one report. */
function onlyStored(
  record: NamespaceRecord,
  timeSlice: string,
  walk: SliceHistogram | undefined,
  stored: readonly SizeReport[],
): SliceSizeAnswer {
  const known = walk === undefined ? stored : [walkReport(walk), ...stored];
  const [best, ...others] = bestFirst(known);
  assert(best !== undefined, "something is stored");
  return { timeSlice, best, others, walk, target: targetOf(record) };
}

/** What the source says now; if it does not know, what it said when the slice was settled. */
function orStored(
  answer: SizeReport | NoSizes,
  stored: readonly SizeReport[],
): SizeReport | NoSizes {
  if (isKnown(answer)) return answer;
  return stored.find(({ source }) => source === answer.source) ?? answer;
}

function targetOf({ config: { tuning } }: NamespaceRecord): TargetBand {
  return { minBytes: tuning.densityMinBytes, maxBytes: tuning.densityMaxBytes };
}

function sizesUnknown(answers: readonly (SizeReport | NoSizes)[]): ServiceError {
  const reasons = answers.flatMap((answer) => (answer.kind === "none" ? [answer.reason] : []));
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `no source knows the sizes now: ${reasons.join("; ")}`,
    { retryAfterMs: 1_000 },
  );
}
