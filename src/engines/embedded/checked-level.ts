/**
 * A LevelDB store that knows what it should hold (rule C22): the ground under slices and catalog.
 *
 * Writes are committed in groups, one synced batch at a time. Every commit has a sequence number and
 * leaves a marker under it in the same batch. A marker stays until its commit is surely out of
 * LevelDB's logs, so that a commit dropped by recovery leaves a gap. The mark, kept apart, tells a
 * damaged tail from one that a crash cut short. What was acknowledged is there, or opening says
 * DATA_LOSS.
 *
 * After a failed commit nothing more is acknowledged on that handle, since LevelDB would write on
 * behind a torn record. Reads go on with it until the disk works again; then it is opened anew.
 */
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import type { ChainedBatch, Iterator, IteratorOptions } from "classic-level";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { syncDirectory } from "./data-directory.ts";
import type { LevelOptions } from "./level-options.ts";
import { LevelDamage } from "./level-damage.ts";
import { MarkFile } from "./mark-file.ts";
import { BASE_KEY, MARKERS_END, decodeCount, encodeCount, markerKey } from "./system-keys.ts";
import { sealLevel, verifyLevel } from "./verify-level.ts";

export type LevelBatch = ChainedBatch<ClassicLevel<Buffer, Buffer>, Buffer, Buffer>;
export type LevelIterator = Iterator<ClassicLevel<Buffer, Buffer>, Buffer, Buffer>;
export type LevelIteratorOptions = IteratorOptions<Buffer, Buffer>;

/** Told of every commit: for metrics. */
export interface CommitObserver {
  committed(commit: { ms: number; bytes: number; events: number; appends: number }): void;
}

export interface CheckedLevelOptions {
  readonly directory: string;
  /** Names the store in errors: "the catalog", "slice data_20260328 of namespace 1f". */
  readonly what: string;
  readonly clock: Clock;
  readonly tuning: LevelOptions;
  readonly observer?: CommitObserver | undefined;
  readonly warn?: ((message: string, cause: unknown) => void) | undefined;
}

interface Commit {
  readonly batch: LevelBatch;
  bytes: number;
  events: number;
  readonly waiting: { resolve: () => void; reject: (error: Error) => void }[];
}

/** Larger groups gain nothing more and hold memory. */
const COMMIT_BYTES_MAX = 8 << 20;
/** Encoded and waiting for their commit: above it appends are refused. */
const PENDING_BYTES_MAX = 48 << 20;
/** The largest single write a caller may bring: a request, with keys. */
const WRITE_BYTES_MAX = 24 << 20;
const MARK_EVERY_MS = 200;
/** Markers are trimmed in steps of about this many committed bytes, and so many at a time. */
const TRIM_STEP_BYTES = 1 << 20;
const TRIM_COUNT_MAX = 2000;
const REOPEN_WAIT_MAX_MS = 2000;
const READ_WAIT_MAX_MS = 5000;
const PROBE_MARGIN_BYTES = 4 << 20;
const SYNCED = { sync: true } as const;

export class CheckedLevel {
  readonly #options: CheckedLevelOptions;
  readonly #mark: MarkFile;
  /** Undefined only while it is opened anew. */
  #level: ClassicLevel<Buffer, Buffer> | undefined;
  #generation = 0;
  #state: "open" | "failed" | "lost" | "closed" = "open";
  #lost: Error | undefined;
  readonly #closing = new AbortController();
  #recovering: Promise<void> | undefined;

  /** The last commit that is durable, and the events written up to it. */
  #sequence: number;
  #events: number;
  /** The first marker that was not trimmed. */
  #base: number;
  #committedBytes = 0;
  #trimPoints: { sequence: number; committedBytes: number }[] = [];

  #queue: Commit[] = [];
  #pendingBytes = 0;
  #committing: Promise<void> | undefined;
  #marking: Promise<void> | undefined;

  private constructor(
    options: CheckedLevelOptions,
    mark: MarkFile,
    level: ClassicLevel<Buffer, Buffer>,
    chain: Chain,
  ) {
    this.#options = options;
    this.#mark = mark;
    this.#level = level;
    this.#sequence = chain.last;
    this.#events = chain.events;
    this.#base = chain.base;
  }

  /** Makes an empty store, durable but for the entry of `directory` in its parent. */
  static async create(directory: string, tuning: LevelOptions): Promise<void> {
    await mkdir(directory, { recursive: true });
    await MarkFile.create(join(directory, "mark"));
    const level = newLevel(join(directory, "level"), tuning);
    await level.open({ createIfMissing: true });
    try {
      await level.put(BASE_KEY, encodeCount(BASE_KEY, 1), SYNCED);
    } finally {
      await level.close();
    }
    await syncDirectory(join(directory, "level"));
    await syncDirectory(directory);
  }

  /** Rejects with DATA_LOSS if the store is not what was acknowledged, else STORAGE_UNAVAILABLE. */
  static async open(options: CheckedLevelOptions): Promise<CheckedLevel> {
    const { directory } = options;
    let mark: MarkFile | undefined;
    let level: ClassicLevel<Buffer, Buffer> | undefined;
    try {
      mark = await MarkFile.open(join(directory, "mark"));
      const { seal, ...unsealed } = mark.last;
      // Each time: what lay closed, even for a moment, may have rotted.
      await verifyLevel(join(directory, "level"), seal);
      // From here on LevelDB may change the files: the seal must be gone from the disk before.
      if (seal !== undefined) {
        await mark.write(unsealed);
        await mark.sync();
      }
      level = newLevel(join(directory, "level"), options.tuning);
      await level.open({ createIfMissing: false });
      const chain = await readChain(level, mark.last.sequence);
      return new CheckedLevel(options, mark, level, chain);
    } catch (error) {
      await level?.close();
      await mark?.close();
      throw openingError(error, options.what);
    }
  }

  /** Raised each time the handle is given up for a new one: iterators of an older one are closed. */
  get generation(): number {
    return this.#generation;
  }

  /** Whether an iterator that found itself closed can be had again. */
  isOpenedAnew(since: number): boolean {
    return this.#generation !== since && this.#state !== "closed";
  }

  get events(): number {
    return this.#events;
  }

  /**
   * Adds to the next commit and resolves when that is durable. `fill` puts into the batch, which
   * copies what it is given, and returns how many bytes it put.
   */
  write(events: number, fill: (batch: LevelBatch) => number): Promise<void> {
    if (this.#state !== "open" || this.#level === undefined) return Promise.reject(this.#refusal());
    if (this.#pendingBytes > PENDING_BYTES_MAX) {
      return Promise.reject(
        new ServiceError("OVERLOADED", `${this.#options.what} has too much to write; retry later`, {
          details: { pendingBytesMax: PENDING_BYTES_MAX },
          retryAfterMs: 100,
        }),
      );
    }
    let commit = this.#queue.at(-1);
    if (commit === undefined || commit.bytes >= COMMIT_BYTES_MAX) {
      commit = { batch: this.#level.batch(), bytes: 0, events: 0, waiting: [] };
      this.#queue.push(commit);
    }
    const bytes = fill(commit.batch);
    commit.bytes += bytes;
    commit.events += events;
    this.#pendingBytes += bytes;
    const { waiting } = commit;
    return new Promise<void>((resolve, reject) => {
      waiting.push({ resolve, reject });
      this.#committing ??= this.#commitAll();
    });
  }

  /** An iterator over what is committed now. Waits a while if the store is being opened anew. */
  async iterate(options: LevelIteratorOptions): Promise<LevelIterator> {
    return (await this.#readable()).iterator(options);
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    const level = await this.#readable();
    try {
      return await level.get(key);
    } catch (error) {
      throw this.readError(error);
    }
  }

  /** What a failed read of LevelDB means for a caller. */
  readError(error: unknown): ServiceError {
    if (error instanceof ServiceError) return error;
    if (levelCode(error) === "LEVEL_CORRUPTION") return dataLoss(this.#options.what, error);
    return unavailable(this.#options.what, error);
  }

  /** On disk, about. */
  sizeOnDisk(): Promise<number> {
    return sizeOfDirectory(join(this.#options.directory, "level"));
  }

  /** Waits for what is under way and leaves the files sealed. */
  async close(): Promise<void> {
    if (this.#state === "closed") return;
    while (this.#committing !== undefined) await this.#committing;
    const sealable = this.#state === "open";
    await this.#stop();
    try {
      const seal = sealable ? await sealLevel(join(this.#options.directory, "level")) : undefined;
      await this.#mark.write({ sequence: this.#sequence, events: this.#events, seal });
      await this.#mark.sync();
    } finally {
      await this.#mark.close();
    }
  }

  /** Lets go of the files without leaving them in order: they are about to be removed. */
  async discard(): Promise<void> {
    if (this.#state === "closed") return;
    await this.#stop();
    await this.#mark.close();
  }

  async #stop(): Promise<void> {
    this.#state = "closed";
    this.#closing.abort();
    this.#refuseQueued();
    await this.#committing;
    await this.#recovering;
    await this.#marking;
    await this.#level?.close();
  }

  async #commitAll(): Promise<void> {
    const { clock, observer } = this.#options;
    for (let commit = this.#queue.shift(); commit !== undefined; commit = this.#queue.shift()) {
      const started = observer === undefined ? 0 : clock.monotonicMs();
      const sequence = this.#sequence + 1;
      const base = this.#putMarkers(commit, sequence);
      try {
        await commit.batch.write(SYNCED);
      } catch (error) {
        this.#fail(commit, error);
        break;
      }
      this.#sequence = sequence;
      this.#events += commit.events;
      this.#base = base;
      this.#pendingBytes -= commit.bytes;
      for (const { resolve } of commit.waiting) resolve();
      this.#marking ??= this.#writeMarkLater();
      observer?.committed({
        ms: clock.monotonicMs() - started,
        bytes: commit.bytes,
        events: commit.events,
        appends: commit.waiting.length,
      });
    }
    this.#committing = undefined;
  }

  /** Adds the commit's marker and removes markers no longer needed. Returns the base from then on. */
  #putMarkers(commit: Commit, sequence: number): number {
    const key = markerKey(sequence);
    commit.batch.put(key, encodeCount(key, this.#events + commit.events));
    this.#committedBytes += commit.bytes;
    const newest = this.#trimPoints.at(-1);
    if (newest === undefined || this.#committedBytes - newest.committedBytes >= TRIM_STEP_BYTES) {
      this.#trimPoints.push({ sequence, committedBytes: this.#committedBytes });
    }
    const oldest = this.#trimPoints[0];
    if (
      oldest === undefined ||
      this.#committedBytes - oldest.committedBytes <= trimDistance(this.#options.tuning)
    ) {
      return this.#base;
    }
    const end = Math.min(oldest.sequence, this.#base + TRIM_COUNT_MAX);
    if (end === oldest.sequence) this.#trimPoints.shift();
    for (let trimmed = this.#base; trimmed < end; trimmed++) commit.batch.del(markerKey(trimmed));
    commit.batch.put(BASE_KEY, encodeCount(BASE_KEY, end));
    return end;
  }

  async #writeMarkLater(): Promise<void> {
    await this.#options.clock.sleep(MARK_EVERY_MS, this.#closing.signal);
    try {
      // Closing writes the mark itself.
      if (this.#state !== "closed") {
        await this.#mark.write({ sequence: this.#sequence, events: this.#events });
      }
    } catch (error) {
      // The next one covers more; until then a damaged tail may go unnoticed for longer.
      this.#options.warn?.(`the high-water mark of ${this.#options.what} was not written`, error);
    } finally {
      this.#marking = undefined;
    }
    if (this.#mark.last.sequence < this.#sequence && this.#state === "open") {
      this.#marking = this.#writeMarkLater();
    }
  }

  #fail(commit: Commit, error: unknown): void {
    const { what, warn } = this.#options;
    warn?.(`a commit of ${what} failed; it takes no writes until it is opened anew`, error);
    if (this.#state === "open") this.#state = "failed";
    this.#pendingBytes -= commit.bytes;
    for (const { reject } of commit.waiting) {
      reject(
        new ServiceError("OUTCOME_UNKNOWN", `writing to ${what} failed; repeat the write`, {
          cause: error,
        }),
      );
    }
    this.#refuseQueued();
    if (this.#state === "failed") this.#recovering ??= this.#recover(error);
  }

  #refuseQueued(): void {
    for (const commit of this.#queue.splice(0)) {
      this.#pendingBytes -= commit.bytes;
      for (const { reject } of commit.waiting) reject(this.#refusal());
      void commit.batch.close();
    }
  }

  /** Tries until the disk works again or the store is closed. */
  async #recover(cause: unknown): Promise<void> {
    const { clock, directory, tuning, what, warn } = this.#options;
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, REOPEN_WAIT_MAX_MS)) {
      await clock.sleep(waitMs, this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      // As long as opening has no chance, reads are better off with the handle they have.
      if (!(await this.#diskWorks())) continue;
      const former = this.#level;
      this.#level = undefined;
      this.#generation++;
      let level: ClassicLevel<Buffer, Buffer> | undefined;
      try {
        await former?.close();
        // LevelDB's own word for rot that it ran into by itself: then every file is looked at again.
        if (levelCode(cause) === "LEVEL_CORRUPTION") {
          await verifyLevel(join(directory, "level"), undefined);
        }
        level = newLevel(join(directory, "level"), tuning);
        await level.open({ createIfMissing: false });
        const chain = await readChain(level, this.#sequence);
        this.#sequence = chain.last;
        this.#events = chain.events;
        this.#base = chain.base;
        this.#trimPoints = [];
        this.#level = level;
        if (this.#state === "failed") this.#state = "open";
        this.#recovering = undefined;
        warn?.(`${what} takes writes again`, undefined);
        return;
      } catch (error) {
        await level?.close();
        const failure = openingError(error, what);
        if (failure.code !== "DATA_LOSS") continue;
        this.#lost = failure;
        if (this.#state === "failed") this.#state = "lost";
        this.#recovering = undefined;
        return;
      }
    }
  }

  /** Whether there is room, synced, for what opening writes: the logs as a table, and a margin. */
  async #diskWorks(): Promise<boolean> {
    const path = join(this.#options.directory, "probe");
    try {
      const file = await open(path, "w");
      try {
        const bytes = 2 * this.#options.tuning.writeBufferSize + PROBE_MARGIN_BYTES;
        const block = Buffer.alloc(1 << 20);
        for (let at = 0; at < bytes; at += block.length) {
          const { bytesWritten } = await file.write(block, 0, block.length, at);
          if (bytesWritten < block.length) return false;
        }
        await file.datasync();
        return true;
      } finally {
        await file.close();
        await rm(path, { force: true });
      }
    } catch {
      // Whatever the reason: it does not work yet.
      return false;
    }
  }

  async #readable(): Promise<ClassicLevel<Buffer, Buffer>> {
    const { clock } = this.#options;
    const until = clock.monotonicMs() + READ_WAIT_MAX_MS;
    while (this.#level === undefined && this.#state === "failed" && clock.monotonicMs() < until) {
      await clock.sleep(20, this.#closing.signal);
    }
    if (this.#level === undefined || this.#state === "closed") throw this.#refusal();
    return this.#level;
  }

  #refusal(): Error {
    if (this.#state === "lost" && this.#lost !== undefined) return this.#lost;
    return unavailable(this.#options.what, undefined);
  }
}

interface Chain {
  readonly base: number;
  readonly last: number;
  readonly events: number;
}

/** Walks the markers from the base to the last; throws `LevelDamage` at a gap or short of `acknowledged`. */
async function readChain(
  level: ClassicLevel<Buffer, Buffer>,
  acknowledged: number,
): Promise<Chain> {
  const base = decodeCount(BASE_KEY, await level.get(BASE_KEY));
  let last = base - 1;
  let events = 0;
  const markers = level.iterator({
    gte: markerKey(0),
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
 * How many committed bytes keep a marker from being trimmed. LevelDB has at most two write buffers
 * in its logs, each filled up by one more commit; the rest is margin.
 */
function trimDistance(tuning: LevelOptions): number {
  return 2 * (tuning.writeBufferSize + WRITE_BYTES_MAX) + 2 * TRIM_STEP_BYTES;
}

function newLevel(location: string, tuning: LevelOptions): ClassicLevel<Buffer, Buffer> {
  return new ClassicLevel<Buffer, Buffer>(location, {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    ...tuning,
  });
}

/** LevelDB's code, also where it is wrapped in the error of an opening. */
export function levelCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = levelCode(error.cause);
  if (cause !== undefined) return cause;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What a failed opening means for a caller. */
export function openingError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const lost = error instanceof LevelDamage || levelCode(error) === "LEVEL_CORRUPTION";
  return lost ? dataLoss(what, error) : unavailable(what, error);
}

function dataLoss(what: string, cause: unknown): ServiceError {
  const known =
    cause instanceof Error ? (cause.cause instanceof Error ? cause.cause : cause) : undefined;
  return new ServiceError("DATA_LOSS", `${what} is damaged: ${known?.message ?? "unknown"}`, {
    cause,
  });
}

export function unavailable(what: string, cause: unknown): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", `${what} is not available now; retry later`, {
    ...(cause === undefined ? {} : { cause }),
    retryAfterMs: 500,
  });
}

export async function sizeOfDirectory(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) {
    try {
      bytes += (await stat(join(directory, name))).size;
    } catch (error) {
      // LevelDB removes files while we look.
      if (levelCode(error) !== "ENOENT") throw error;
    }
  }
  return bytes;
}
