/** What the evidence says, and its series over time. */
import type { MetricsHistory, ReadMode } from "../../../client/connect.ts";
import type { Tone } from "../../kit/tone.ts";

export function sentenceOf({ mode, nextMode, blockedBy, killSwitch, evidence }: ReadMode): {
  tone: Tone;
  text: string;
} {
  const differs = evidence.some(({ bytesDiffered }) => bytesDiffered !== "0");
  if (killSwitch.on) {
    return { tone: "warn", text: "The kill switch is on: reads use originals, whatever the mode." };
  }
  if (differs) {
    return {
      tone: "bad",
      text: "Some bytes differ between a split and its original: look at its history before you go further.",
    };
  }
  if (nextMode === undefined) {
    return { tone: "ok", text: "Reads use splits, and a sample is still compared." };
  }
  if (blockedBy !== "") {
    return { tone: "busy", text: `${mode} becomes ${nextMode} when this is there: ${blockedBy}.` };
  }
  return { tone: "busy", text: `Nothing blocks the step from ${mode} to ${nextMode}.` };
}

/** The series of bytes compared; null where nothing is known. */
export function linesOf(history: MetricsHistory): {
  readonly times: number[];
  readonly match: (number | null)[];
  readonly differ: (number | null)[];
} {
  const { startTime = "", samples, step, series } = history;
  const stepMs = Number.parseFloat(step) * 1_000;
  const start = Date.parse(startTime);
  const values = (name: string): (number | null)[] => {
    const found = series.find((each) => each.name === name);
    return Array.from({ length: samples }, (_, nth) => found?.values[nth] ?? null);
  };
  const match = values("compare_bytes.match");
  const differ = values("compare_bytes.differ");
  return {
    times: Array.from({ length: samples }, (_, nth) => start + nth * stepMs),
    match,
    // A server that compared and has no such series has found none.
    differ: differ.some((value) => value !== null)
      ? differ
      : match.map((value) => (value === null ? null : 0)),
  };
}
