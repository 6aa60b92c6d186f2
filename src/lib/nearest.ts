/** Finds the known name closest to a mistyped one. */

/** Undefined if none is close: at most two edits, and fewer than a third of the name. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = Math.min(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase(), bestEdits);
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/**
 * The number of insertions, removals and replacements that turn `a` into `b`, or any number from
 * `limit` up if it is not below `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
