/**
 * How large the partitions of a slice are: asks every source, returns the best answer, and includes
 * the other answers beside it.
 */
import type { Clock } from "../lib/clock.ts";
import { assert, ServiceError } from "../lib/errors.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { sliceAt } from "../model/time-slice.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { NoSizes, PartitionSizes, SizeReport, SizeSource } from "../ports/partition-sizes.ts";

export interface SliceSizesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly sources: readonly PartitionSizes[];
}

export interface SliceSizeAnswer {
  readonly timeSlice: string;
  readonly best: SizeReport;
  readonly others: readonly (SizeReport | NoSizes)[];
}

/** JMX knows every partition, reads of this server only some, and estimates have no percentiles. */
const BEST_FIRST: readonly SizeSource[] = ["JMX", "READS", "TABLE_ESTIMATES"];

export class SliceSizes {
  readonly #options: SliceSizesOptions;

  constructor(options: SliceSizesOptions) {
    assert(options.sources.length > 0, "there is at least one source of sizes");
    this.#options = options;
  }

  /**
   * An empty name means the slice that takes events now. Rejects with TIME_SLICE_NOT_FOUND if there
   * is none.
   */
  async of(namespace: string, timeSlice: string, signal: AbortSignal): Promise<SliceSizeAnswer> {
    const { catalog, clock, sources } = this.#options;
    const { id } = await readReadyNamespace(catalog, namespace);
    const slices = await readSlices(catalog, id);
    const found =
      timeSlice === ""
        ? sliceAt(slices, clock.nowMicros())
        : slices.find(({ name }) => name === timeSlice);
    const { name: slice } = requireThere(found, namespace, timeSlice);
    const answers = await Promise.all(
      sources.map((source) => source.sizesOf({ namespaceId: id, slice }, signal)),
    );
    const ranked = answers.toSorted((a, b) => rankOf(a) - rankOf(b));
    const best = ranked.find((answer) => answer.kind === "sizes");
    if (best === undefined) throw sizesUnknown(ranked);
    return { timeSlice: slice, best, others: ranked.filter((answer) => answer !== best) };
  }
}

/** A source that saw no partition ranks last: perhaps nothing is flushed yet. */
function rankOf(answer: SizeReport | NoSizes): number {
  const knows = answer.kind === "sizes" && answer.count > 0;
  return BEST_FIRST.indexOf(answer.source) + (knows ? 0 : BEST_FIRST.length);
}

function requireThere(
  slice: TimeSlice | undefined,
  namespace: string,
  timeSlice: string,
): TimeSlice {
  if (slice !== undefined && slice.state !== "DROPPED") return slice;
  const name = timeSlice.slice(0, 64);
  const what =
    slice !== undefined
      ? `slice ${slice.name} was dropped`
      : timeSlice === ""
        ? "there is no slice for the present time"
        : `there is no slice "${name}"`;
  throw new ServiceError(
    "TIME_SLICE_NOT_FOUND",
    `${what} in namespace "${namespace}"; ListTimeSlices shows what there is`,
    { details: { namespace, timeSlice: name } },
  );
}

function sizesUnknown(answers: readonly (SizeReport | NoSizes)[]): ServiceError {
  const reasons = answers.flatMap((answer) => (answer.kind === "none" ? [answer.reason] : []));
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `no source knows the sizes now: ${reasons.join("; ")}`,
    { retryAfterMs: 1_000 },
  );
}
