/** A split as the API shows it: the original, the copy and the history. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  Split_PostSplitData_Layout as Layout,
  Split_Progress_Step as Step,
  Split_State,
} from "../../gen/braid/v1/split_pb.js";
import type { Split_SegmentSchema, SplitSchema } from "../../gen/braid/v1/split_pb.js";
import type { SplitDetail } from "../../splits/use-cases.ts";
import { partKey, splitTableOf } from "../../model/split.ts";
import type {
  PartRecord,
  SeenLatency,
  Segment,
  SplitMove,
  SplitRecord,
} from "../../model/split.ts";
import { splitProgress } from "../../model/split-progress.ts";
import { splitIdOf } from "../../records/split-ids.ts";
import { timeOfMicros } from "./times.ts";

export function splitMessage(detail: SplitDetail): MessageInitShape<typeof SplitSchema> {
  const { record, parts, bucket } = detail;
  const { dueAt, owner, heldBy, latency } = record;
  return {
    preSplitData: preSplitMessage(record),
    segments: record.segments.map((segment, i) => segmentMessage(record, segment, parts[i] ?? [])),
    state: Split_State[record.state],
    epoch: BigInt(record.epoch),
    latency: { before: latencyMessage(latency.before), after: latencyMessage(latency.after) },
    history: record.history.map(moveMessage),
    namespace: record.namespace,
    reason: record.history.at(-1)?.reason ?? "",
    detectTime: timeOfMicros(record.detectedAt),
    ...(dueAt !== null && { dueTime: timeOfMicros(dueAt) }),
    owner: owner?.by ?? "",
    failures: record.failures,
    held: heldBy !== null,
    heldBy: heldBy ?? "",
    immutable: record.immutable,
    version: BigInt(record.version),
    splitId: splitIdOf(record.partition),
    ...progressField(record),
    attempts: BigInt(record.fence),
    heartbeat: BigInt(owner?.heartbeat ?? 0),
    moveTime: timeOfMicros(record.history.at(-1)?.at ?? record.detectedAt),
    ...(bucket && {
      bucketStart: timeOfMicros(bucket.start),
      bucketEnd: timeOfMicros(bucket.end),
    }),
  };
}

function progressField(
  record: SplitRecord,
): Pick<MessageInitShape<typeof SplitSchema>, "progress"> {
  const progress = splitProgress(record);
  if (progress === undefined) return {};
  return {
    progress: {
      step: Step[progress.step],
      bytesDone: BigInt(progress.bytesDone),
      bytesTotal: BigInt(progress.bytesTotal),
      eventsDone: BigInt(progress.eventsDone),
      eventsTotal: BigInt(progress.eventsTotal),
      totalExact: progress.totalExact,
    },
  };
}

function preSplitMessage({ partition, segments, bytes, events }: SplitRecord) {
  const copied = { bytes: 0, events: 0 };
  for (const segment of segments) {
    copied.bytes += segment.bytes;
    copied.events += segment.events;
  }
  const checksums = segments.map(({ checksum }) => checksum).filter((checksum) => checksum !== "");
  return {
    timeSlice: partition.slice,
    timeSeriesId: partition.seriesId,
    timeBucket: partition.timeBucket,
    eventBucket: partition.eventBucket,
    // A detection stops counting as soon as it has seen enough.
    bytes: BigInt(Math.max(bytes, copied.bytes)),
    events: BigInt(Math.max(events, copied.events)),
    checksum: checksums.join("+"),
  };
}

function segmentMessage(
  { partition }: SplitRecord,
  segment: Segment,
  parts: readonly PartRecord[],
): MessageInitShape<typeof Split_SegmentSchema> {
  const { confirmedAt, partRanges } = segment;
  const [first] = partRanges;
  const bucketOf = (part: number): number => partKey(partition, part).eventBucket;
  return {
    from: timeOfMicros(segment.from),
    to: timeOfMicros(segment.to),
    state: Split_State[segment.state],
    generation: BigInt(segment.generation),
    postSplitData: {
      timeSlice: splitTableOf(partition).slice,
      layout: Layout[segment.layout],
      strategy: segment.strategy,
      eventBucketPartitionStrategy: {
        targetEventBuckets: partRanges.reduce((sum, run) => sum + run.count, 0),
        startEventBucket: first === undefined ? 0 : bucketOf(first.start),
      },
      parts: parts.map(({ part, from, to, bytes, events }) => ({
        eventBucket: bucketOf(part),
        from: timeOfMicros(from),
        to: timeOfMicros(to),
        bytes: BigInt(bytes),
        events: BigInt(events),
      })),
      bytes: BigInt(segment.bytes),
      events: BigInt(segment.events),
      checksum: segment.copyChecksum ?? "",
    },
    why: segment.why,
    copiedTo: timeOfMicros(segment.copiedTo),
    confirmed: confirmedAt !== null,
    ...(confirmedAt !== null && { confirmTime: timeOfMicros(confirmedAt) }),
    partBytes: BigInt(segment.partBytes),
    originalChecksum: segment.checksum,
  };
}

function latencyMessage({ reads, meanMs, maxMs }: SeenLatency) {
  return { reads: BigInt(reads), meanMs, maxMs };
}

function moveMessage({ at, by, from, to, cause, reason, times }: SplitMove) {
  return {
    at: timeOfMicros(at),
    by,
    ...(from !== null && { from: Split_State[from] }),
    to: Split_State[to],
    cause,
    reason,
    times,
  };
}
