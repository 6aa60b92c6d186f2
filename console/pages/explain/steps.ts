/** What a read did with each partition, as the steps of a picture. */
import type { ExplainedPartition, ExplainedRead } from "../../../client/connect.ts";
import { bytesText, durationText, nounText } from "../../kit/format.ts";
import type { Tone } from "../../kit/tone.ts";

export interface Step {
  readonly text: string;
  readonly tone: Tone;
}

/** In the order in which a server takes them: filter, split record, source. */
export function stepsOf({ route, parts }: ExplainedPartition): readonly Step[] {
  const miss: Step = { text: "filter: not split", tone: "idle" };
  const hit: Step = { text: "filter: may be split", tone: "busy" };
  const original: Step = { text: "original", tone: "idle" };
  const split: Step = { text: `split, ${nounText(parts, "part")}`, tone: "ok" };
  switch (route) {
    case "ORIGINAL_FILTER_MISS":
      return [miss, original];
    case "ORIGINAL_NOT_SPLIT":
      return [hit, { text: "no split: the filter was wrong", tone: "idle" }, original];
    case "ORIGINAL_HELD":
      return [hit, { text: "split is held back", tone: "warn" }, original];
    case "ORIGINAL_FALLBACK":
      return [hit, { text: "split was given up", tone: "bad" }, original];
    case "SPLIT":
      return [hit, split];
    case "SPLIT_AND_ORIGINAL":
      return [hit, split, { text: "original for what is newer", tone: "idle" }];
  }
}

/** One sentence on the whole read: what it cost, and what to do about the dearest part. */
export function sentenceOf({ slices, partitions, totals }: ExplainedRead): string {
  const read = partitions.filter((partition) => partition.read);
  if (read.length === 0) return "The interval holds no partition that has to be read.";
  const ms = read.reduce((sum, { millis }) => sum + millis, 0);
  const cost =
    `${nounText(totals.partitionsRead, "partition")} in ${nounText(slices.length, "slice")}, ` +
    `${bytesText(Number(totals.bytes))} and ${nounText(Number(totals.events), "event")} read for ` +
    `${nounText(Number(totals.eventsReturned), "event")} returned, in ${durationText(ms)}`;
  const fallen = read.find(({ route }) => route === "ORIGINAL_FALLBACK");
  if (fallen !== undefined) return `${cost}. A split was given up: ${fallen.why}.`;
  const held = read.find(({ route }) => route === "ORIGINAL_HELD");
  if (held !== undefined) return `${cost}. A split is held back: ${held.why}.`;
  const wide = read.find(({ route, bytes }) => route !== "SPLIT" && Number(bytes) > WIDE_BYTES);
  if (wide !== undefined)
    return `${cost}. One partition is wide and not split: look at its splits.`;
  return `${cost}.`;
}

/** The default limit of a partition. */
const WIDE_BYTES = 10 * 1024 * 1024;
