/** GetHistogram: how large the partitions of a slice are, from the best available source. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService, SizeReport_Source } from "../../gen/braid/v1/control_service_pb.js";
import type {
  GetHistogramResponseSchema,
  SizeReportSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import type { SizeHistogram } from "../../model/size-histogram.ts";
import type { NoSizes, SizeReport } from "../../ports/partition-sizes.ts";
import type { SliceSizeAnswer, SliceSizes } from "../../namespaces/slice-sizes.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn } from "./request-fields.ts";
import { timeOfMicros } from "./times.ts";

/** The interface of `SliceSizes`. */
export type SizesUseCase = Pick<SliceSizes, "of">;

export function histogramMethods(sizes: SizesUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.getHistogram,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: namespaceIn(request, problems),
        timeSlice: request.timeSlice,
      }),
      handle: async ({ namespace, timeSlice }, signal) =>
        histogramMessage(await sizes.of(namespace, timeSlice, signal)),
    }),
  ];
}

function histogramMessage({
  timeSlice,
  best,
  others,
}: SliceSizeAnswer): MessageInitShape<typeof GetHistogramResponseSchema> {
  const buckets = best.histogram?.buckets() ?? [];
  return {
    ...numbersOf(best),
    timeSlice,
    buckets: buckets.map(({ upToBytes, partitions }) => {
      return { upToBytes: BigInt(upToBytes), partitions: BigInt(partitions) };
    }),
    asOf: timeOfMicros(best.asOf),
    alternatives: others.map(alternativeMessage),
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
    ...percentilesOf(histogram),
    coverage,
    tells,
    doesNotTell,
  };
}

/** Undefined where the source does not know: a 0 would look like a size. */
function percentilesOf(histogram: SizeHistogram | undefined): { p50?: bigint; p99?: bigint } {
  if (histogram === undefined) return {};
  return { p50: BigInt(histogram.percentile(0.5)), p99: BigInt(histogram.percentile(0.99)) };
}
