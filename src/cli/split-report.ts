/** A split as people read it: what it was, what it is now, how it came to that. */
import type { SeenLatency, Split, SplitMove, SplitSegment } from "../../client/connect.ts";
import { ageOf, count, millis, pairs, printable, size, table } from "./print.ts";

export function listing(splits: readonly Split[], nowMicros: number): string {
  const rows = splits.map((split) => {
    const { preSplitData: before, state, segments, detectTime, reason } = split;
    return [
      state,
      before.timeSeriesId,
      before.timeSlice,
      String(before.timeBucket),
      String(before.eventBucket),
      size(before.bytes),
      count(partsOf(segments)),
      ageOf(detectTime, nowMicros),
      reason,
    ];
  });
  const heads = [
    "STATE",
    "ID",
    "SLICE",
    ">BUCKET",
    ">EVENT BUCKET",
    ">SIZE",
    ">PARTS",
    ">AGE",
    "REASON",
  ];
  return table(heads, rows);
}

/** What they cost, since the originals stay. */
export function extraSpace(splits: readonly Split[]): string {
  const copies = splits.flatMap(({ segments }) => segments);
  const bytes = sum(copies.map(({ postSplitData }) => postSplitData.bytes));
  const number = splits.length === 1 ? "one split" : `${count(splits.length)} splits`;
  return `${number}, whose copies take ${size(bytes)} beside the originals`;
}

/** Everything but the single parts, unless they are asked for. */
export function report(split: Split, withParts: boolean): string {
  const { preSplitData: before, segments, history } = split;
  return [
    pairs([
      ["namespace", split.namespace],
      ["id", before.timeSeriesId],
      [
        "partition",
        `${before.timeSlice}, time bucket ${before.timeBucket}, event bucket ${before.eventBucket}`,
      ],
      ["state", split.reason === "" ? split.state : `${split.state}: ${split.reason}`],
      ["next", nextStep(split)],
      ["before", `${size(before.bytes)}, ${count(before.events)} events`],
      ["after", sizesAfter(segments)],
      ["pages before", latency(split.latency.before)],
      ["pages after", latency(split.latency.after)],
      ["epoch", split.epoch],
    ]),
    segments.length === 0 ? "" : `\nsegments:\n${segments.map(segmentLines).join("")}`,
    withParts ? partTables(segments) : "",
    `\nhistory:\n${historyTable(history)}`,
  ].join("");
}

function nextStep({ owner, held, heldBy, dueTime, failures }: Split): string {
  const failed = failures === 0 ? "" : `; ${count(failures)} differences in a row`;
  if (owner !== "") return `${owner} works on it${failed}`;
  if (held) return `nothing until a retry: held by ${heldBy}${failed}`;
  return dueTime === undefined
    ? `nothing unless somebody asks${failed}`
    : `looked at again at ${dueTime}${failed}`;
}

function sizesAfter(segments: readonly SplitSegment[]): string {
  const parts = segments.flatMap(({ postSplitData }) => postSplitData.parts);
  const number = partsOf(segments);
  if (number === 0) return "nothing copied";
  const bytes = sum(segments.map(({ postSplitData }) => postSplitData.bytes));
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

function segmentLines(segment: SplitSegment): string {
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
    // Copied from the newest time to the oldest.
    ...(segment.copiedTo === from
      ? []
      : [["  checkpoint", `all from ${segment.copiedTo} on is copied`] as const]),
    ...(copy.checksum === "" ? [] : [["  checksum", copy.checksum] as const]),
    [
      "  confirmed",
      segment.confirmed
        ? `by a second read of the original, ${confirmTime ?? ""}`
        : "no: not served yet",
    ],
  ];
  return `${printable(from)} to ${printable(to)}\n${pairs(lines)}`;
}

function partTables(segments: readonly SplitSegment[]): string {
  const rows = segments.flatMap(({ postSplitData }) =>
    postSplitData.parts.map((part) => [
      count(part.eventBucket),
      part.from,
      part.to,
      size(part.bytes),
      count(part.events),
    ]),
  );
  if (rows.length === 0) return "";
  return `\nparts:\n${table([">EVENT BUCKET", "FROM", "TO", ">SIZE", ">EVENTS"], rows)}`;
}

function historyTable(history: readonly SplitMove[]): string {
  const rows = history.map(({ at, by, from, to, cause, reason, times }) => [
    at,
    by,
    from ?? "",
    to,
    cause,
    times > 1 ? `${reason} (${count(times)} times)` : reason,
  ]);
  return table(["AT", "BY", "FROM", "TO", "CAUSE", "REASON"], rows);
}

function partsOf(segments: readonly SplitSegment[]): number {
  return sum(
    segments.map(
      ({ postSplitData }) => postSplitData.eventBucketPartitionStrategy.targetEventBuckets,
    ),
  );
}

function sum(numbers: readonly (number | string)[]): number {
  return numbers.reduce((total: number, number) => total + Number(number), 0);
}
