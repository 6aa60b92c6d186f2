/** GetHistogram: how large the partitions of a slice are, from the best available source. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService, SizeReport_Source } from "../../gen/braid/v1/control_service_pb.js";
import type {
  DistributionSchema,
  GetHistogramResponseSchema,
  SizeReportSchema,
  SliceHistogramSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import { assert } from "../../lib/errors.ts";
import type { Distribution, SizeHistogram } from "../../model/size-histogram.ts";
import { exclusionsOf, percentilesOf } from "../../model/slice-histogram.ts";
import type { SliceHistogram } from "../../model/slice-histogram.ts";
import type { NoSizes, SizeReport, SliceReports } from "../../ports/partition-sizes.ts";
import type { SliceSizeAnswer, SliceSizes } from "../../sizes/slice-sizes.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn } from "./request-fields.ts";
import { timeOfMicros } from "./times.ts";

/** The interface of `SliceSizes`. */
export type SizesUseCase = Pick<SliceSizes, "of" | "history" | "unwalked">;

export function histogramMethods(sizes: SizesUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.getHistogram,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: namespaceIn(request, problems),
        timeSlice: request.timeSlice,
        history: request.history,
      }),
      handle: async ({ namespace, timeSlice, history }, signal) => {
        const answer = await sizes.of(namespace, timeSlice, signal);
        if (!history) return histogramMessage(answer, []);
        const walks = await sizes.history(namespace);
        const others = await sizes.unwalked(namespace);
        const past = [
          ...walks.map((walk) => ({ start: walk.start, shown: walkMessage(walk, withoutBuckets) })),
          ...others.map((each) => ({ start: each.start, shown: reportMessage(each) })),
        ];
        const sorted = past.toSorted((a, b) => a.start - b.start);
        return histogramMessage(
          answer,
          sorted.map(({ shown }) => shown),
        );
      },
    }),
  ];
}

function histogramMessage(
  { timeSlice, best, others, walk, target }: SliceSizeAnswer,
  history: MessageInitShape<typeof SliceHistogramSchema>[],
): MessageInitShape<typeof GetHistogramResponseSchema> {
  const buckets = best.histogram?.buckets() ?? [];
  return {
    ...numbersOf(best),
    ...rareNumbersOf(best.histogram),
    timeSlice,
    buckets: buckets.map(({ upToBytes, partitions }) => {
      return { upToBytes: BigInt(upToBytes), partitions: BigInt(partitions) };
    }),
    asOf: timeOfMicros(best.asOf),
    alternatives: others.map(alternativeMessage),
    ...(walk === undefined
      ? {}
      : {
          walk: walkMessage(walk, distributionMessage),
          events: distributionMessage(walk.partitions.events),
        }),
    excludes: walk !== undefined && best.source === walk.source ? exclusionsOf(walk) : [],
    densityMinBytes: BigInt(target.minBytes),
    densityMaxBytes: BigInt(target.maxBytes),
    history,
  };
}

/** `shown`: how a distribution is shown, whole or without its buckets. */
function walkMessage(
  walk: SliceHistogram,
  shown: typeof distributionMessage,
): MessageInitShape<typeof SliceHistogramSchema> {
  const { timeSlice, start, end, timePartition, sealed, complete, partitions, timeBuckets } = walk;
  return {
    timeSlice,
    start: timeOfMicros(start),
    end: timeOfMicros(end),
    timePartition,
    asOf: timeOfMicros(walk.asOf),
    source: SizeReport_Source[walk.source],
    sealed,
    complete,
    excludes: exclusionsOf(walk),
    bytes: shown(partitions.bytes),
    events: shown(partitions.events),
    timeBucketBytes: shown(timeBuckets.bytes),
  };
}

/** What the storage itself said; it knows nothing of events, and perhaps no percentiles. */
function reportMessage({
  timeSlice,
  start,
  end,
  timePartition,
  reports,
}: SliceReports): MessageInitShape<typeof SliceHistogramSchema> {
  const [best] = reports;
  assert(best !== undefined, "reports without a source are not stored");
  const { histogram, count, meanBytes, maxBytes } = best;
  return {
    timeSlice,
    start: timeOfMicros(start),
    end: timeOfMicros(end),
    timePartition,
    asOf: timeOfMicros(best.asOf),
    source: SizeReport_Source[best.source],
    sealed: true,
    complete: false,
    excludes: [best.doesNotTell, "events per partition"],
    bytes:
      histogram === undefined
        ? { count: BigInt(count), total: BigInt(count * meanBytes), max: BigInt(maxBytes) }
        : withoutBuckets(histogram.distribution()),
  };
}

/** Of hundreds of slices: the buckets of all of them would be too much for one answer. */
function withoutBuckets(distribution: Distribution): MessageInitShape<typeof DistributionSchema> {
  return distributionMessage(distribution, []);
}

export function distributionMessage(
  distribution: Distribution,
  buckets: Distribution["buckets"] = distribution.buckets,
): MessageInitShape<typeof DistributionSchema> {
  const { count, total } = distribution;
  const { min, p50, p75, p95, p98, p99, max } = percentilesOf(distribution);
  return {
    count: BigInt(count),
    total: BigInt(total),
    min: BigInt(min),
    p50: BigInt(p50),
    p75: BigInt(p75),
    p95: BigInt(p95),
    p98: BigInt(p98),
    p99: BigInt(p99),
    max: BigInt(max),
    buckets: buckets.map(([upTo, held]) => ({ upTo: BigInt(upTo), count: BigInt(held) })),
  };
}

function alternativeMessage(
  report: SizeReport | NoSizes,
): MessageInitShape<typeof SizeReportSchema> {
  if (report.kind === "sizes") return numbersOf(report);
  return { source: SizeReport_Source[report.source], reason: report.reason };
}

function numbersOf(report: SizeReport) {
  const { source, count, meanBytes, maxBytes, histogram, coverage, tells, doesNotTell } = report;
  return {
    source: SizeReport_Source[source],
    count: BigInt(count),
    mean: BigInt(meanBytes),
    max: BigInt(maxBytes),
    ...percentiles(histogram),
    coverage,
    tells,
    doesNotTell,
  };
}

/** Undefined where the source does not know: a 0 would look like a size. */
function percentiles(histogram: SizeHistogram | undefined): { p50?: bigint; p99?: bigint } {
  if (histogram === undefined) return {};
  return { p50: BigInt(histogram.percentile(0.5)), p99: BigInt(histogram.percentile(0.99)) };
}

/** Those that only the best answer has. */
function rareNumbersOf(histogram: SizeHistogram | undefined) {
  if (histogram === undefined) return {};
  return {
    min: BigInt(histogram.minBytes),
    p75: BigInt(histogram.percentile(0.75)),
    p95: BigInt(histogram.percentile(0.95)),
    p98: BigInt(histogram.percentile(0.98)),
  };
}
