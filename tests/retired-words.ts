/**
 * Words that this tree no longer uses, each with the term to use instead (glossary:
 * ARCHITECTURE.md).
 *
 * Some keep their ordinary meaning in sentences and are refused only as names: a loop "beats" a
 * call, a budget is "granted". "Doubt", "turns" and "world" are not listed: a clock may be in
 * doubt, callers take turns, and a simulation is a world.
 */

/** Parts of identifiers and of file names, in lower case. */
export const RETIRED_NAMES: Readonly<Record<string, string>> = {
  door: "opener",
  wish: "operator request",
  wishes: "operator requests",
  granted: "decision",
  standings: "trust states",
  suspect: "quarantined",
  suspects: "quarantined",
  workshop: "context",
  dice: "randomness",
  lane: "serial queue",
  lanes: "serial queues",
  stretch: "range",
  stretches: "ranges",
  piece: "subrange",
  pieces: "subranges",
  beat: "heartbeat",
  beats: "heartbeats",
  hasten: "reschedule",
  census: "split counts",
  keeper: "reconciler",
  pace: "throttle",
};

/** In comments, titles of tests and documents. */
export const RETIRED_TERMS: readonly (readonly [pattern: RegExp, use: string])[] = [
  [/\b(?:split|partition|original) doors?\b/gi, "opener"],
  [/\bwish(?:es|ed)?\b/gi, "operator request"],
  [/\bstandings\b/gi, "trust states"],
  [/\bsuspects?\b|\bsuspicions?\b/gi, "quarantined"],
  [/\bworkshop\b/gi, "context"],
  [/\bdice\b/gi, "randomness"],
  [/\bstretch(?:es)?\b/gi, "range"],
  [/\bhasten(?:s|ed)?\b/gi, "reschedule"],
  [/\bcensus\b/gi, "split counts"],
  [/\bkeepers?\b/gi, "reconciler"],
  [/\bsecond looks?\b/gi, "recheck"],
  [/\bfirst looks?\b/gi, "triage"],
  [/\blook(?:s|ed)? again\b/gi, "reschedule, or: try again"],
  [/\bsent back\b/gi, "recopied"],
  [/\bsealed lines?\b/gi, "floor, settled floor"],
];

/** In the same places: phrases, and the old name of `view_max_age`. */
export const RETIRED_PHRASES: readonly (readonly [pattern: RegExp, use: string])[] = [
  [/\bwhoever\b/gi, "the process that …"],
  [/\banew\b/gi, "again"],
  [/\bof before\b/gi, "earlier, or: issued before …"],
  [/\bamong it\b/gi, "including"],
  [/\b(?:is|are|was|were) told\b/gi, "say who reports what to whom"],
  [/\b(?:go|goes|going|gone|went) on\b/g, "continues"],
  [/\bsomebody\b/gi, "another process, an operator, a caller"],
  [/\b(?:he|him|his)\b/gi, "a process is it"],
  [/\b(?:comes?|came) to light\b/gi, "surfaces"],
  [/\bin (?:its|their|\w+'s) hands\b/gi, "owned by"],
  [/\bpart's worth\b/gi, "enough for a part"],
  [/(?<![\w'-])L(?![\w'-])/g, "`view_max_age`"],
];
