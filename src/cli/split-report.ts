/** Shows a split to people: the original, the copy and the history. */
import type {
  SeenLatency,
  Split,
  SplitMove,
  SplitProgress,
  SplitSegment,
} from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { count, millis, size } from "./print.ts";
import { timeRange, withRelative } from "./relative-time.ts";

interface ReportOptions {
  readonly withParts: boolean;
  readonly nowMicros: number;
}

/** The name of a split in a line. */
export function nameOf(split: Split): string {
  const { splitId, preSplitData: before } = split;
  return `${splitId} (${before.timeSeriesId}, ${bucketTime(split)})`;
}

/** The UTC time that the partition's bucket covers; the slice's name if the slice is dropped. */
export function bucketTime({ bucketStart, bucketEnd, preSplitData }: Split): string {
  if (bucketStart === undefined || bucketEnd === undefined) return preSplitData.timeSlice;
  return timeRange(Date.parse(bucketStart), Date.parse(bucketEnd));
}

/** Everything except the single parts, unless they are requested. */
export function report(split: Split, { withParts, nowMicros }: ReportOptions): Block[] {
  const { preSplitData: before, segments, history } = split;
  return [
    pairs([
      ["split", split.splitId],
      ["namespace", split.namespace],
      ["id", before.timeSeriesId],
      [
        "partition",
        `${before.timeSlice}, time bucket ${before.timeBucket}, event bucket ${before.eventBucket}`,
      ],
      ["time", bucketTime(split)],
      ["state", split.reason === "" ? split.state : `${split.state}: ${split.reason}`],
      ["next", nextStep(split, nowMicros)],
      ...(split.progress === undefined ? [] : [["progress", progressOf(split.progress)] as const]),
      ["attempts", count(split.attempts)],
      ["before", `${size(before.bytes)}, ${count(before.events)} events`],
      ["after", sizesAfter(segments)],
      ["pages before", latency(split.latency.before)],
      ["pages after", latency(split.latency.after)],
      ["epoch", split.epoch],
    ]),
    ...(segments.length === 0
      ? []
      : [line(""), line("segments:"), ...segments.flatMap(segmentBlocks)]),
    ...(withParts ? partTables(segments) : []),
    line(""),
    line("history:"),
    historyTable(history),
  ];
}

function nextStep({ owner, held, heldBy, dueTime, failures }: Split, nowMicros: number): string {
  const failed = failures === 0 ? "" : `; ${count(failures)} differences in a row`;
  if (owner !== "") return `${owner} works on it${failed}`;
  if (held) return `nothing until a retry: held by ${heldBy}${failed}`;
  return dueTime === undefined
    ? `nothing scheduled${failed}`
    : `due at ${withRelative(dueTime, nowMicros)}${failed}`;
}

const STEPS: Readonly<Record<string, string>> = {
  COPY: "copied",
  VALIDATE: "read back",
  CONFIRM: "confirmed",
};

/** For example "1.2 GiB of at least 4 GiB copied (30 %)". */
function progressOf({ step, bytesDone, bytesTotal, totalExact }: SplitProgress): string {
  const [done, total] = [Number(bytesDone), Number(bytesTotal)];
  const share = total === 0 ? 100 : Math.floor((100 * done) / total);
  const least = totalExact ? "" : "at least ";
  return `${size(bytesDone)} of ${least}${size(bytesTotal)} ${STEPS[step] ?? step} (${share} %)`;
}

function sizesAfter(segments: readonly SplitSegment[]): string {
  const parts = segments.flatMap(({ postSplitData }) => postSplitData.parts);
  const number = partsOf(segments);
  if (number === 0) return "nothing copied";
  const bytes = sizeOfCopies(segments);
  const events = sum(segments.map(({ postSplitData }) => postSplitData.events));
  const largest = parts.reduce((most, part) => Math.max(most, Number(part.bytes)), 0);
  return (
    `${size(bytes)}, ${count(events)} events in ${count(number)} ${number === 1 ? "part" : "parts"}` +
    (parts.length === 0 ? "" : `, the largest ${size(largest)}`)
  );
}

function latency({ reads, meanMs, maxMs }: SeenLatency): string {
  if (reads === "0") return "not measured";
  return `mean ${millis(meanMs)}, at most ${millis(maxMs)}, over ${count(reads)}`;
}

function segmentBlocks(segment: SplitSegment): Block[] {
  const { from, to, state, postSplitData: copy, confirmTime } = segment;
  const number = copy.eventBucketPartitionStrategy.targetEventBuckets;
  const lines: readonly (readonly [string, string])[] = [
    ["  state", `${state}, generation ${segment.generation}`],
    ["  why", segment.why],
    ["  how", `${copy.layout}, ${copy.strategy}, parts of ${size(segment.partBytes)}`],
    [
      "  copied",
      `${size(copy.bytes)}, ${count(copy.events)} events in ${count(number)} ` +
        `${number === 1 ? "part" : "parts"} of ${copy.timeSlice}`,
    ],
    // The copy runs from the newest time to the oldest.
    ...(segment.copiedTo === from
      ? []
      : [["  checkpoint", `all from ${segment.copiedTo} on is copied`] as const]),
    ...checksums(segment),
    [
      "  confirmed",
      segment.confirmed
        ? `by a second read of the original, ${confirmTime ?? ""}`
        : "no: not served yet",
    ],
  ];
  return [line(`${from} to ${to}`), pairs(lines)];
}

/** Before: of the original as it was copied; after: of the parts as they were read back. */
function checksums(segment: SplitSegment): (readonly [string, string])[] {
  const { state, originalChecksum, postSplitData } = segment;
  if (originalChecksum === "") return [];
  const missing =
    state === "COMPLETED" ? "not kept: an earlier version made this copy" : "not read back yet";
  return [
    ["  checksum before", originalChecksum],
    ["  checksum after", postSplitData.checksum === "" ? missing : postSplitData.checksum],
  ];
}

function partTables(segments: readonly SplitSegment[]): Block[] {
  const rows = segments.flatMap(({ postSplitData }) =>
    postSplitData.parts.map((part) => [
      count(part.eventBucket),
      part.from,
      part.to,
      size(part.bytes),
      count(part.events),
    ]),
  );
  if (rows.length === 0) return [];
  const heads = [">EVENT BUCKET", "FROM", "TO", ">SIZE", ">EVENTS"];
  return [line(""), line("parts:"), table(heads, rows)];
}

function historyTable(history: readonly SplitMove[]): Block {
  const rows = history.map(({ at, by, from, to, cause, reason, times }) => [
    at,
    // Nothing verifies the name of an operator.
    cause === "operator" ? `${by} (claimed)` : by,
    from ?? "",
    to,
    cause,
    times > 1 ? `${reason} (${count(times)} times)` : reason,
  ]);
  return table(["=AT", "=BY", "=FROM", "=TO", "=CAUSE", "=REASON"], rows);
}

/** The number of their parts. */
export function partsOf(segments: readonly SplitSegment[]): number {
  return sum(
    segments.map(
      ({ postSplitData }) => postSplitData.eventBucketPartitionStrategy.targetEventBuckets,
    ),
  );
}

/** In bytes. */
export function sizeOfCopies(segments: readonly SplitSegment[]): number {
  return sum(segments.map(({ postSplitData }) => postSplitData.bytes));
}

function sum(numbers: readonly (number | string)[]): number {
  return numbers.reduce((total: number, number) => total + Number(number), 0);
}
