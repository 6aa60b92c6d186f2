/**
 * Divides parts into subranges of about one fetch each, so that several fetches can be under way at
 * once.
 *
 * A fetch of a part can begin only where the previous one ended, so one part alone is read one
 * fetch after another. The distribution of its events in time is unknown, only their number: a part
 * is cut as if they were spread evenly. A subrange that turns out nearly empty, or holds far more
 * than a fetch, shows that they are not, and then the rest of that part is read as one.
 */
import type { PartRecord } from "../model/split.ts";
import type { PartReadRange } from "./part-reader.ts";

/** Some of the time of one part. */
export interface Subrange {
  readonly part: PartRecord;
  readonly from: number;
  readonly to: number;
  /**
   * For the rest of a part: the most it can hold. For a subrange cut off it: about what it holds.
   */
  readonly bytes: number;
  /** Whether it was cut to fit into one fetch. */
  readonly cut?: true;
}

/** A smaller or larger share than this of the expected size is not an even spread. */
const SHARE_MIN = 0.25;
const SHARE_MAX = 2;

type Wanted = Pick<
  PartReadRange,
  "from" | "to" | "order" | "after" | "runBytesMax" | "subrangeBytes"
>;

export class PartSubranges {
  readonly #parts: ArrayIterator<PartRecord>;
  readonly #wanted: Wanted;
  #rest: Subrange | undefined;
  /** Its events are known to be spread unevenly. */
  #uneven: PartRecord | undefined;

  /** `parts`: those that may hold wanted events, in the order of the read. */
  constructor(parts: readonly PartRecord[], wanted: Wanted) {
    this.#parts = parts.values();
    this.#wanted = wanted;
  }

  /** The next subrange in order. */
  next(): Subrange | undefined {
    const rest = this.#rest ?? this.#nextPart();
    this.#rest = undefined;
    return rest === undefined || rest.part === this.#uneven ? rest : this.#subrangeOf(rest);
  }

  /** A subrange was read to its end. */
  ended({ part, bytes }: Subrange, bytesRead: number): void {
    if (bytesRead < bytes * SHARE_MIN || bytesRead > bytes * SHARE_MAX) this.#uneven = part;
  }

  #nextPart(): Subrange | undefined {
    const part = this.#parts.next().value;
    return part === undefined ? undefined : wholeSubrange(part, this.#wanted);
  }

  /** As much of it as one fetch holds; the rest is kept. */
  #subrangeOf(subrange: Subrange): Subrange {
    const { part, from, to } = subrange;
    // Somewhat less than a fetch, which may then hold a block more than expected.
    const { subrangeBytes = this.#wanted.runBytesMax } = this.#wanted;
    const room = subrangeBytes - 2 * part.blockBytesMax;
    const width = Math.floor(((part.to - part.from) * room) / part.bytes);
    if (room <= 0 || width < 1 || width >= to - from) return subrange;
    const newest = this.#wanted.order === "NEWEST_FIRST";
    const edge = newest ? to - width : from + width;
    this.#rest = { ...subrange, ...(newest ? { to: edge } : { from: edge }) };
    return { ...subrange, ...(newest ? { from: edge } : { to: edge }), bytes: room, cut: true };
  }
}

/** The whole wanted range of a part. */
export function wholeSubrange(part: PartRecord, wanted: Wanted): Subrange {
  return { part, ...timeOf(part, wanted), bytes: part.bytes };
}

/** Whether the part may hold wanted events. */
export function mayHold(part: PartRecord, wanted: Wanted): boolean {
  const { from, to } = timeOf(part, wanted);
  return part.events > 0 && from < to;
}

function timeOf(
  part: PartRecord,
  { from, to, order, after }: Wanted,
): { readonly from: number; readonly to: number } {
  const first = Math.max(from, part.from);
  const end = Math.min(to, part.to);
  if (after === undefined) return { from: first, to: end };
  // Others of the same microsecond may lie behind it.
  return order === "NEWEST_FIRST"
    ? { from: first, to: Math.min(end, after.time + 1) }
    : { from: Math.max(first, after.time), to: end };
}
