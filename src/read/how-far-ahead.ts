/**
 * Decides how many time buckets behind the present one a read reads ahead. Pure.
 *
 * A page reads no bucket ahead until one has ended without filling it, and then as many as it takes
 * to fill it if the next ones have as many events. A stream reads ahead as soon as its caller has
 * taken more than a page. Nobody reads more buckets ahead than there is memory for.
 */

export interface Amount {
  readonly events: number;
  readonly bytes: number;
}

export interface AheadFacts {
  /** How many buckets may be read at once, including the present one. */
  readonly fanOut: number;
  /** The same while buckets turn out to be empty, which costs next to nothing. */
  readonly emptyFanOut: number;
  /** Buckets without an event since the last one that had some. */
  readonly emptyBuckets: number;
  /** Buckets that have ended. */
  readonly ended: number;
  /** The bytes of the buckets that have ended. */
  readonly endedBytes: number;
  /** What the read has returned of the buckets so far. */
  readonly returned: Amount;
  /** What it may still return; infinite for a stream without a limit. */
  readonly room: Amount;
  /** Whether the caller is known to want more than a page. */
  readonly streaming: boolean;
  /** Memory for what is read ahead. */
  readonly bytesMax: number;
}

export function howFarAhead(facts: AheadFacts): number {
  const { fanOut, emptyFanOut, emptyBuckets, ended, room, streaming } = facts;
  if (emptyBuckets > 0) return Math.min(emptyFanOut - 1, emptyBuckets);
  const most = fanOut - 1;
  if (ended === 0) return streaming && room.events === Number.POSITIVE_INFINITY ? most : 0;
  const { returned, endedBytes, bytesMax } = facts;
  const fill = Math.min(
    bucketsFor(room.events, returned.events / ended),
    bucketsFor(room.bytes, returned.bytes / ended),
  );
  // Half-read buckets help less than whole ones: rather a few of those.
  const fit = endedBytes === 0 ? most : Math.max(1, Math.floor(bytesMax / (endedBytes / ended)));
  return Math.max(0, Math.min(most, fit, fill - 1));
}

/** How many buckets have so much. */
function bucketsFor(amount: number, perBucket: number): number {
  return perBucket === 0 ? Number.POSITIVE_INFINITY : Math.ceil(amount / perBucket);
}
