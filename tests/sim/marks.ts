/**
 * Rare states that a simulation must reach now and then: one that never does proves nothing about
 * them. Each is a pattern of what worlds count.
 */
export interface Mark {
  readonly name: string;
  /** Of the counts of a world. */
  readonly of: RegExp;
  readonly kind: "plain" | "full";
}

const MARKS: readonly Mark[] = [
  { name: "a read is served from a split", of: /^route SPLIT$/, kind: "plain" },
  { name: "a read is served from both", of: /^route SPLIT_AND_ORIGINAL$/, kind: "plain" },
  { name: "a read falls back to the original", of: /^route ORIGINAL_FALLBACK$/, kind: "plain" },
  { name: "a read is held at the original", of: /^route ORIGINAL_HELD$/, kind: "plain" },
  { name: "a read of several pages", of: /^read of several pages$/, kind: "plain" },
  { name: "a comparison matches", of: /^compared: MATCH$/, kind: "plain" },
  { name: "a comparison differs", of: /^compared: DIFFER$/, kind: "full" },
  { name: "a split cannot be read", of: /^compared: INTEGRITY_ERROR$/, kind: "full" },
  { name: "a difference has vanished", of: /^difference: VANISHED$/, kind: "full" },
  { name: "the original alone has an event", of: /^difference: ONLY_IN_ORIGINAL$/, kind: "full" },
  { name: "a split is recopied", of: /^to DETECTED by recopy$|^recopied$/, kind: "full" },
  { name: "a worker claims a split", of: /^to \w+ by claim$/, kind: "plain" },
  { name: "a split waits for sealed time", of: /^to \w+ by waiting$/, kind: "plain" },
  { name: "a split stops for an outage", of: /^to \w+ by outage$/, kind: "plain" },
  { name: "a split stops for re-opened time", of: /^to \w+ by reopened$/, kind: "plain" },
  { name: "a split stops because it is paused", of: /^to \w+ by paused$/, kind: "plain" },
  { name: "a copy is confirmed", of: /^to COMPLETED by confirmed$/, kind: "plain" },
  { name: "a copy is not what was read", of: /^to FAILED by (mismatch|unreadable)$/, kind: "full" },
  { name: "a split is refused", of: /^to REFUSED by/, kind: "full" },
  { name: "reads advance to SERVE", of: /^mode SERVE$/, kind: "plain" },
  { name: "an id gets more event buckets", of: /^id gets more event buckets$/, kind: "plain" },
  { name: "events lie by an id's strategy", of: /^write by an id's strategy$/, kind: "full" },
  { name: "slices are closed", of: /^slices closed$/, kind: "full" },
  { name: "slices are dropped", of: /^slices dropped$/, kind: "full" },
  { name: "a slice is walked", of: /^slice walked$/, kind: "full" },
  { name: "a partitioning is proposed", of: /^tuning PROPOSED$/, kind: "full" },
  { name: "a partitioning is applied", of: /^tuning APPLIED$/, kind: "full" },
  { name: "an answer is partial", of: /^page was partial$/, kind: "full" },
  { name: "a raised limit takes events", of: /^raised limit probed$/, kind: "full" },
  { name: "a call surfaces late", of: /^call surfaces later$/, kind: "full" },
  { name: "an answer is lost", of: /^answer is lost$/, kind: "plain" },
  { name: "a machine is paused", of: /^fault: process paused$/, kind: "plain" },
  { name: "a machine's clocks stand still", of: /^fault: process frozen$/, kind: "full" },
  { name: "a process is stopped", of: /^fault: process stopped$/, kind: "full" },
  { name: "a clock leaps", of: /^fault: clock stepped$/, kind: "full" },
  { name: "a hint is lost", of: /^hint lost$/, kind: "full" },
  { name: "a replica lags", of: /^fault: replica lags$/, kind: "full" },
  { name: "no majority is up", of: /^fault: no majority is up$/, kind: "full" },
  { name: "a block is lost for good", of: /^fault: block lost$/, kind: "full" },
  { name: "a block comes back damaged", of: /^fault: block damaged$/, kind: "full" },
  { name: "a namespace is made again", of: /^fault: namespace made again$/, kind: "full" },
  { name: "a namespace is restored", of: /^fault: namespace restored$/, kind: "full" },
  { name: "a slice is restored", of: /^fault: slice restored$/, kind: "full" },
];

export type Counts = Readonly<Record<string, number>>;

/** How often each was reached, over all worlds; those of full worlds only if there was one. */
export function reachedMarks(
  worlds: readonly { readonly kind: "plain" | "full"; readonly counts: Counts }[],
): readonly { readonly name: string; readonly times: number }[] {
  const total = addCounts(worlds.map(({ counts }) => counts));
  const anyFull = worlds.some(({ kind }) => kind === "full");
  return MARKS.filter(({ kind }) => anyFull || kind === "plain").map(({ name, of }) => {
    const times = Object.entries(total)
      .filter(([what]) => of.test(what))
      .reduce((sum, [, count]) => sum + count, 0);
    return { name, times };
  });
}

function addCounts(all: readonly Counts[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const counts of all) {
    for (const [what, count] of Object.entries(counts)) total[what] = (total[what] ?? 0) + count;
  }
  return total;
}
