/**
 * The unbroken sequence of a store's commits (rule C22).
 *
 * Every commit has a sequence number and writes a marker under it in its own batch. A marker stays
 * until its commit is certainly out of LevelDB's logs, so a commit that recovery drops leaves a
 * gap.
 */
import { LevelDamage } from "./level-damage.ts";
import type { Level, LevelBatch } from "./level.ts";
import { BASE_KEY, MARKERS_END, decodeCount, encodeCount, markerKey } from "./system-keys.ts";

/** The state of the chain once a commit is durable. */
export interface ChainLink {
  readonly last: number;
  readonly events: number;
  /** The first remaining marker. */
  readonly base: number;
}

/** The largest single write of a caller: a request, with keys. */
const WRITE_BYTES_MAX = 24 << 20;
/** Markers are trimmed in steps of about this many committed bytes, TRIM_COUNT_MAX at a time. */
const TRIM_STEP_BYTES = 1 << 20;
const TRIM_COUNT_MAX = 2_000;
/**
 * Commits that may have a marker and are not certainly in a table. An opening reads the markers of
 * about this many commits, which takes some 20 ms.
 */
const UNFLUSHED_COMMITS_MAX = 4_096;

export class CommitChain {
  #link: ChainLink;
  readonly #trimDistance: number;
  #committedBytes = 0;
  readonly #trimPoints: { sequence: number; committedBytes: number }[] = [];
  /** The last commit that is certainly in a table. */
  #flushed: number;

  private constructor(link: ChainLink, trimDistance: number) {
    this.#link = link;
    this.#trimDistance = trimDistance;
    // Opening a store writes everything in its logs to a table.
    this.#flushed = link.last;
  }

  /**
   * Reads the markers from the base to the last. Throws `LevelDamage` at a gap, or if the chain
   * ends before `acknowledged`.
   */
  static async read(
    level: Level,
    acknowledged: number,
    writeBufferSize: number,
  ): Promise<CommitChain> {
    return new CommitChain(await readLink(level, acknowledged), trimDistance(writeBufferSize));
  }

  /** The last durable commit. */
  get last(): number {
    return this.#link.last;
  }

  /** Events written up to the last durable commit, repeats included. */
  get events(): number {
    return this.#link.events;
  }

  /** Whether so many commits may be only in the log that the store must be flushed. */
  get isFlushDue(): boolean {
    return this.#link.last - Math.max(this.#flushed, this.#link.base) >= UNFLUSHED_COMMITS_MAX;
  }

  /** All commits up to this one are in tables: their markers can be removed. */
  flushed(sequence: number): void {
    this.#flushed = Math.max(this.#flushed, sequence);
  }

  /**
   * Adds the marker of the next commit to its batch and removes markers that are no longer needed.
   * The caller confirms the link when the batch is durable.
   */
  extend(batch: LevelBatch, bytes: number, events: number): ChainLink {
    const last = this.#link.last + 1;
    const eventsUpTo = this.#link.events + events;
    const key = markerKey(last);
    batch.put(key, encodeCount(key, eventsUpTo));
    this.#committedBytes += bytes;
    const newest = this.#trimPoints.at(-1);
    if (newest === undefined || this.#committedBytes - newest.committedBytes >= TRIM_STEP_BYTES) {
      this.#trimPoints.push({ sequence: last, committedBytes: this.#committedBytes });
    }
    return { last, events: eventsUpTo, base: this.#trim(batch) };
  }

  confirm(link: ChainLink): void {
    this.#link = link;
  }

  /** Returns the base. */
  #trim(batch: LevelBatch): number {
    const { base } = this.#link;
    const end = Math.min(this.#trimmableTo(), base + TRIM_COUNT_MAX);
    if (end <= base) return base;
    for (let trimmed = base; trimmed < end; trimmed++) batch.del(markerKey(trimmed));
    batch.put(BASE_KEY, encodeCount(BASE_KEY, end));
    return end;
  }

  /** The last commit that is certainly out of the logs: flushed, or followed by enough bytes. */
  #trimmableTo(): number {
    for (let oldest = this.#trimPoints[0]; oldest !== undefined; oldest = this.#trimPoints[0]) {
      if (this.#committedBytes - oldest.committedBytes <= this.#trimDistance) break;
      this.flushed(oldest.sequence);
      this.#trimPoints.shift();
    }
    return this.#flushed;
  }
}

async function readLink(level: Level, acknowledged: number): Promise<ChainLink> {
  const base = decodeCount(BASE_KEY, await level.get(BASE_KEY));
  let last = base - 1;
  let events = 0;
  const markers = level.iterator({
    // Trimmed markers lie before the base, and LevelDB would have to step over every deletion.
    gte: markerKey(base),
    lt: MARKERS_END,
    highWaterMarkBytes: 1 << 20,
  });
  try {
    for (;;) {
      const entries = await markers.nextv(1000);
      if (entries.length === 0) break;
      for (const [key, value] of entries) {
        const sequence = last + 1;
        if (!key.equals(markerKey(sequence))) {
          throw new LevelDamage(
            `commit ${sequence} is missing, with commits behind it; ` +
              `${events} events were written up to it`,
          );
        }
        events = decodeCount(key, value);
        last = sequence;
      }
    }
  } finally {
    await markers.close();
  }
  if (last < acknowledged) {
    throw new LevelDamage(
      `the commits ${last + 1} to ${acknowledged} were acknowledged and are missing; ` +
        `${events} events were written up to them`,
    );
  }
  return { base, last, events };
}

/**
 * How many committed bytes must follow a commit before its marker is trimmed. LevelDB has at most
 * two write buffers in its logs, each filled up by one more commit; the rest is margin.
 */
function trimDistance(writeBufferSize: number): number {
  return 2 * (writeBufferSize + WRITE_BYTES_MAX) + 2 * TRIM_STEP_BYTES;
}
