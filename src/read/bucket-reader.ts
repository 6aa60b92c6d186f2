/**
 * Reads one time bucket of a time series, run by run, and ahead of its turn if it may.
 *
 * The bucket at the front of a read fetches a run when it is asked for one. A bucket ahead of the
 * front fetches runs while there is memory on loan, and holds them until its turn. Whatever happens
 * to it until then shows only when the read reaches it, and then it is as if it had not been read
 * before: it forgets what it holds, because the memory was recalled, a split was withdrawn or
 * storage failed, and reads again behind the last run that it has handed out.
 *
 * Only what was handed out is counted (rule C20).
 */
import { LinkedAbort } from "../lib/linked-abort.ts";
import type { PartitionSource } from "../partition/partition-source.ts";
import type { Position, Run } from "../wire/frames.ts";
import type { AheadMemory, ForgottenWhy } from "./ahead-memory.ts";
import type { BucketScan } from "./bucket-scan.ts";
import type { BucketRange } from "./buckets-of.ts";
import { partOf } from "./width-shares.ts";

/** Whether a bucket is the one that the read is at, or behind it. */
export type BucketTurn = "FRONT" | "AHEAD";

/** Opens the bucket behind a position; undefined: from its beginning. */
export type OpenScan = (
  turn: BucketTurn,
  after: Position | undefined,
  signal: AbortSignal,
) => BucketScan;

/** What a read has taken from one partition. */
export type SourceState = Pick<
  PartitionSource,
  "partition" | "route" | "bytes" | "events" | "originalBytes" | "originalEvents" | "millis"
>;

interface HeldRun {
  readonly run: Run;
  /** Of the bucket's partitions, when the run was fetched. */
  readonly states: readonly SourceState[];
  /** Of the memory on loan. */
  lent: number;
  readonly isAhead: boolean;
}

export class BucketReader {
  readonly bucket: BucketRange;
  readonly #openScan: OpenScan;
  readonly #memory: AheadMemory;
  readonly #signal: AbortSignal;
  #scan: BucketScan | undefined;
  /** Of a scan that was opened ahead. */
  #leaving: LinkedAbort | undefined;
  readonly #held: HeldRun[] = [];
  /** The fetches of a bucket ahead. Never rejects. */
  #fetching: Promise<void> | undefined;
  /** Never rejects. */
  #forgetting: Promise<void> | undefined;
  /** Of a fetch that began ahead and ended when runs before it were handed out. */
  #failure: { readonly error: unknown } | undefined;
  /** Not read ahead again: storage failed. */
  #hasFailedAhead = false;
  /** The states at the end of the bucket. */
  #end: readonly SourceState[] | undefined;
  #isFront = false;
  #isClosed = false;
  /** Of the run handed out last: what did not fit on the page. */
  #rest: Run | undefined;
  /** Whether this scan has handed out a run. */
  #begun = false;
  /** For the fetches of a scan ahead; held runs but the newest are lent for one by one. */
  #lentForScan = 0;
  #last: Position | undefined;
  #before: readonly SourceState[] | undefined;
  #shown: readonly SourceState[] | undefined;

  constructor(bucket: BucketRange, openScan: OpenScan, memory: AheadMemory, signal: AbortSignal) {
    this.bucket = bucket;
    this.#openScan = openScan;
    this.#memory = memory;
    this.#signal = signal;
  }

  /** The partitions, as of the run that was handed out last. */
  get sources(): readonly SourceState[] {
    return this.#shown ?? this.#scan?.sources.map(nothingOf) ?? [];
  }

  get bytes(): number {
    return this.sources.reduce((sum, source) => sum + source.bytes, 0);
  }

  get events(): number {
    return this.sources.reduce((sum, source) => sum + source.events, 0);
  }

  /** The share of these that came from originals: the rest is already split and no longer wide. */
  get originalBytes(): number {
    return this.sources.reduce((sum, source) => sum + source.originalBytes, 0);
  }

  get originalEvents(): number {
    return this.sources.reduce((sum, source) => sum + source.originalEvents, 0);
  }

  /**
   * Reads on ahead of its turn, as far as there is memory. Called again whenever there may be more.
   */
  readAhead(): void {
    if (this.#isFront || this.#isClosed || this.#fetching !== undefined) return;
    if (this.#forgetting !== undefined || this.#hasFailedAhead) return;
    if (!this.#mayFetchAhead()) return;
    this.#fetching = this.#fetchAhead().finally(() => {
      this.#fetching = undefined;
    });
  }

  /** Its turn has come: fetches the first run, or finds the end. */
  async open(): Promise<this> {
    this.#isFront = true;
    // The read's own share of the budget covers the fetches of the bucket at the front.
    this.#endLoan();
    await this.#ready();
    return this;
  }

  /** The next run, or undefined at the end. Only after `open`. */
  async next(): Promise<Run | undefined> {
    for (;;) {
      if (await this.#isOutdated()) {
        this.#dropRest();
        await this.#forget("WITHDRAWN");
      }
      const rest = this.#rest;
      this.#rest = undefined;
      if (rest !== undefined) {
        this.#last = rest.last;
        return rest;
      }
      const [before] = this.#held;
      await this.#ready();
      const [first] = this.#held;
      // A run that was fetched for this call is not checked again, so that there is progress.
      if (first !== before && first?.isAhead === true) continue;
      const held = this.#held.shift();
      if (held === undefined) {
        // Between the two lines above, memory may have been recalled.
        if (this.#end === undefined) continue;
        this.#shown = this.#end;
        return undefined;
      }
      this.#memory.shrink(held.lent);
      if (held.isAhead) this.#memory.ended("USED", held.run.bytes);
      this.#begun = true;
      this.#last = held.run.last;
      this.#shown = held.states;
      return held.run;
    }
  }

  /**
   * The rest of the run handed out last did not fit on the page, which has examined everything up
   * to a position.
   */
  putBack(rest: Run, examined: Position): void {
    this.#rest = rest;
    this.#last = examined;
  }

  /** Gives back all memory on loan, now or when what it aborts has ended. */
  recall(): void {
    if (this.#lentForScan === 0 && this.#held.every(({ lent }) => lent === 0)) return;
    void this.#forget("RECALLED");
  }

  /** Ends what still runs and waits for it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#forget("LEFT");
  }

  /**
   * Whether something that was fetched for an earlier page, or ahead, must not be passed on any
   * more: a split may be withdrawn while a caller takes its time (rule C23).
   */
  async #isOutdated(): Promise<boolean> {
    const scan = this.#scan;
    if (scan === undefined || !scan.readsSplit) return false;
    const hasMore = this.#rest !== undefined || this.#held.length > 0;
    if (!hasMore && !(this.#begun && scan.holdsMore)) return false;
    return scan.isWithdrawn();
  }

  /** It is read again. Of several partitions it is not known how much of it came from which. */
  #dropRest(): void {
    const rest = this.#rest;
    const [only, ...others] = this.#shown ?? [];
    this.#rest = undefined;
    if (rest === undefined || only === undefined || others.length > 0) return;
    const { bytes, events } = only;
    this.#shown = [{ ...only, bytes: bytes - rest.bytes, events: events - rest.count }];
  }

  /** Until a run is held, or the end is known. */
  async #ready(): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#forgetting !== undefined) await this.#forgetting;
      else if (this.#held.length > 0 || this.#end !== undefined) return;
      else if (this.#fetching !== undefined) await this.#fetching;
      else if (this.#failure !== undefined) throw this.#failure.error;
      else await this.#fetch("FRONT");
    }
  }

  async #fetch(turn: BucketTurn): Promise<void> {
    const scan = (this.#scan ??= this.#open(turn));
    const run = await scan.next();
    const states = statesOf(scan, this.#before);
    if (run === undefined) this.#end = states;
    else this.#held.push({ run, states, lent: 0, isAhead: turn === "AHEAD" });
  }

  #open(turn: BucketTurn): BucketScan {
    if (turn === "AHEAD") this.#leaving = new LinkedAbort(this.#signal);
    return this.#openScan(turn, this.#last, this.#leaving?.signal ?? this.#signal);
  }

  async #fetchAhead(): Promise<void> {
    try {
      do await this.#fetch("AHEAD");
      while (!this.#isFront && this.#forgetting === undefined && this.#mayFetchAhead());
      if (this.#end !== undefined) this.#endLoanOfScan();
    } catch (error) {
      this.#hasFailedAhead = true;
      // What was handed out may belong to the failure. Otherwise the bucket is read again when its
      // turn comes, as if this had not been tried.
      if (this.#begun) this.#failure = { error };
      else void this.#forget("FAILED");
    }
  }

  /** Whether there is memory for one more fetch. It is on loan from then on. */
  #mayFetchAhead(): boolean {
    if (this.#end !== undefined) return false;
    if (this.#scan === undefined) {
      const bytes = this.#memory.scanBytes;
      if (!this.#memory.tryGrow(bytes)) return false;
      this.#lentForScan = bytes;
      return true;
    }
    // A split reads ahead on its own, and what was handed out of it must be vouched for by the same
    // scan.
    if (this.#scan.readsSplit) return false;
    const newest = this.#held.at(-1);
    if (newest === undefined || newest.lent > 0) return true;
    if (!this.#memory.tryGrow(newest.run.bytes)) return false;
    newest.lent = newest.run.bytes;
    return true;
  }

  /** At the end of the bucket only the held runs need memory. */
  #endLoanOfScan(): void {
    const newest = this.#held.at(-1);
    if (newest?.lent === 0) {
      newest.lent = Math.min(newest.run.bytes, this.#lentForScan);
      this.#lentForScan -= newest.lent;
    }
    this.#endLoan();
  }

  #endLoan(): void {
    this.#memory.shrink(this.#lentForScan);
    this.#lentForScan = 0;
  }

  /** Ends the scan and drops what is held: the bucket is read again behind what was handed out. */
  #forget(why: ForgottenWhy): Promise<void> {
    return (this.#forgetting ??= this.#endScan(why).finally(() => {
      this.#forgetting = undefined;
    }));
  }

  async #endScan(why: ForgottenWhy): Promise<void> {
    this.#leaving?.abort();
    if (this.#fetching !== undefined) await this.#fetching;
    const scan = this.#scan;
    this.#scan = undefined;
    this.#leaving = undefined;
    this.#failure = undefined;
    this.#end = undefined;
    this.#begun = false;
    this.#before = this.#shown;
    const dropped = this.#held.splice(0);
    // A scan that failed, or was aborted, may fail again when it is closed: nothing is read from it
    // any more.
    await scan?.close().catch(() => undefined);
    for (const { run, lent, isAhead } of dropped) {
      this.#memory.shrink(lent);
      if (isAhead) this.#memory.ended(why, run.bytes);
    }
    this.#endLoan();
  }
}

/** What a scan has returned of its sources, on top of what scans before it handed out. */
function statesOf(
  { sources, taken }: BucketScan,
  before: readonly SourceState[] | undefined,
): readonly SourceState[] {
  return sources.map((source, nth) => {
    const { partition, route, millis } = source;
    const { bytes, events } = taken[nth] ?? NOTHING;
    const earlier = before?.[nth] ?? NOTHING;
    // A source that reads both may have returned more than was taken of it.
    const originalBytes = Math.round(partOf(bytes, source.originalBytes, source.bytes));
    const originalEvents = Math.round(partOf(events, source.originalEvents, source.events));
    return {
      partition,
      route,
      bytes: earlier.bytes + bytes,
      events: earlier.events + events,
      originalBytes: earlier.originalBytes + originalBytes,
      originalEvents: earlier.originalEvents + originalEvents,
      millis: earlier.millis + millis,
    };
  });
}

const NOTHING = { bytes: 0, events: 0, originalBytes: 0, originalEvents: 0, millis: 0 };

function nothingOf({ partition, route, millis }: PartitionSource): SourceState {
  return {
    partition,
    route,
    bytes: 0,
    events: 0,
    originalBytes: 0,
    originalEvents: 0,
    millis,
  };
}
