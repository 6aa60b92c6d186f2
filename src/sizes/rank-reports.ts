/** Which source of partition sizes is the best. Pure. */
import type { NoSizes, SizeReport, SizeSource } from "../ports/partition-sizes.ts";

/**
 * A walk knows every partition in bytes of events. JMX knows every flushed partition in bytes of
 * rows, reads of this server only some partitions, and estimates have no percentiles.
 */
const BEST_FIRST: readonly SizeSource[] = ["WALK", "JMX", "READS", "TABLE_ESTIMATES"];

/** A source that saw no partition comes last: perhaps nothing is flushed yet. */
export function bestFirst<T extends SizeReport | NoSizes>(answers: readonly T[]): T[] {
  return answers.toSorted((a, b) => rankOf(a) - rankOf(b));
}

export function isKnown(answer: SizeReport | NoSizes): answer is SizeReport {
  return answer.kind === "sizes" && answer.count > 0;
}

function rankOf(answer: SizeReport | NoSizes): number {
  return BEST_FIRST.indexOf(answer.source) + (isKnown(answer) ? 0 : BEST_FIRST.length);
}
