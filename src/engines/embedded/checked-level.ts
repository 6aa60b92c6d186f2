/**
 * A LevelDB store that knows what it should hold (rule C22): the base of slices and catalog. Every
 * acknowledged write is there, or opening fails with DATA_LOSS.
 *
 * The store commits writes in groups (`CommitQueue`), one synced batch at a time. A chain of
 * markers shows whether a commit is missing (`CommitChain`). The high-water mark, stored
 * separately, distinguishes a damaged tail from one that a crash cut short (`MarkWriter`). After a
 * failed commit the store acknowledges nothing more until it is reopened (`recoverLevel`); reads
 * keep working meanwhile.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { CommitChain } from "./commit-chain.ts";
import { CommitGathering } from "./commit-gathering.ts";
import { CommitQueue, PENDING_BYTES_MAX } from "./commit-queue.ts";
import type { Commit } from "./commit-queue.ts";
import { DIRECTORY_MODE, sizeOfDirectory, syncDirectory } from "./data-directory.ts";
import type { DiskThreads } from "./disk-threads.ts";
import { openingError, readError, unavailable } from "./level-errors.ts";
import type { LevelOptions } from "./level-options.ts";
import { SYNCED, newLevel } from "./level.ts";
import type { Level, LevelBatch, LevelIterator, LevelIteratorOptions } from "./level.ts";
import { MarkFile } from "./mark-file.ts";
import { MarkWriter } from "./mark-writer.ts";
import { openLevel } from "./open-level.ts";
import type { OpenedLevel } from "./open-level.ts";
import { recoverLevel } from "./recover-level.ts";
import { BASE_KEY, encodeCount } from "./system-keys.ts";
import { sealLevel, verifyLevel } from "./verify-level.ts";
import type { Verification } from "./verify-level.ts";
import type { VerifiedTables } from "./verified-tables.ts";
import type { WriteBuffers } from "./write-buffers.ts";

/** Receives every commit, for metrics. */
export interface CommitObserver {
  committed(commit: { ms: number; bytes: number; events: number; appends: number }): void;
}

/** What the slices of an engine share. The catalog is one store and needs none of it. */
export interface SharedBySlices {
  readonly threads: DiskThreads;
  readonly buffers: WriteBuffers;
  readonly verified: VerifiedTables;
}

export interface CheckedLevelOptions {
  readonly directory: string;
  /** Names the store in errors: "the catalog", "slice data_20260328 of namespace 1f". */
  readonly what: string;
  readonly clock: Clock;
  readonly tuning: LevelOptions;
  readonly shared?: SharedBySlices | undefined;
  readonly observer?: CommitObserver | undefined;
  /** Called when a commit failed: the owner can make room on the disk. */
  readonly commitFailed?: (() => void) | undefined;
  readonly warn?: ((message: string, cause: unknown) => void) | undefined;
}

const READ_WAIT_MAX_MS = 5_000;
/** After every key of a store: compacting only this range flushes the write buffer. */
const BEHIND_ALL = Buffer.from([0xff, 0xff]);

export class CheckedLevel {
  readonly #options: CheckedLevelOptions;
  readonly #mark: MarkFile;
  readonly #markWriter: MarkWriter;
  readonly #queue = new CommitQueue();
  readonly #gathering: CommitGathering;
  readonly #closing = new AbortController();
  /** Undefined only while the store is being reopened, and after a reopening found DATA_LOSS. */
  #level: Level | undefined;
  #chain: CommitChain;
  #generation = 0;
  #state: "open" | "failed" | "lost" | "closed" = "open";
  #lost: Error | undefined;
  #committing: Promise<void> | undefined;
  #recovering: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;

  private constructor(options: CheckedLevelOptions, mark: MarkFile, { level, chain }: OpenedLevel) {
    const { clock, what, warn } = options;
    this.#options = options;
    this.#mark = mark;
    this.#level = level;
    this.#chain = chain;
    this.#gathering = new CommitGathering(clock);
    this.#markWriter = new MarkWriter({
      file: mark,
      clock,
      newest: () => ({ sequence: this.#chain.last, events: this.#chain.events }),
      takesWrites: () => this.#state === "open",
      failed: (error) => warn?.(`the high-water mark of ${what} was not written`, error),
      closing: this.#closing.signal,
    });
  }

  /** Makes an empty store, durable except for the entry of `directory` in its parent. */
  static async create(directory: string, tuning: LevelOptions): Promise<void> {
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    const levelDirectory = join(directory, "level");
    const level = newLevel(levelDirectory, tuning);
    await level.open({ createIfMissing: true });
    try {
      await level.put(BASE_KEY, encodeCount(BASE_KEY, 1), SYNCED);
    } finally {
      await level.close();
    }
    await syncDirectory(levelDirectory);
    // A store with a seal and no commit is certainly empty, and reads need not open it.
    await MarkFile.create(join(directory, "mark"), await sealLevel(levelDirectory));
    await syncDirectory(directory);
  }

  /** Rejects with DATA_LOSS if the store lacks what was acknowledged, else STORAGE_UNAVAILABLE. */
  static async open(options: CheckedLevelOptions): Promise<CheckedLevel> {
    const { directory, clock, shared, tuning, what } = options;
    const mark = await MarkFile.open(join(directory, "mark")).catch((error: unknown) => {
      throw openingError(error, what);
    });
    try {
      const { seal, ...unsealed } = mark.last;
      await verifyLevel(join(directory, "level"), seal, verification(shared, clock));
      const opened = await maintaining(shared, async () => {
        // From here on LevelDB may change the files: the seal must be removed from the disk first.
        if (seal !== undefined) {
          await mark.write(unsealed);
          await mark.sync();
        }
        return openLevel(directory, tuning, unsealed.sequence);
      });
      return new CheckedLevel(options, mark, opened);
    } catch (error) {
      await mark.close();
      throw openingError(error, what);
    }
  }

  /**
   * Raised each time a new handle replaces the old one: iterators of an older handle are closed.
   */
  get generation(): number {
    return this.#generation;
  }

  /** Whether the store was reopened, so that a caller can replace an iterator it found closed. */
  wasReopened(since: number): boolean {
    return this.#generation !== since && this.#state !== "closed";
  }

  get events(): number {
    return this.#chain.events;
  }

  /**
   * Adds to the next commit and resolves when that is durable. `fill` puts entries into the batch,
   * which copies them, and returns how many bytes it put.
   */
  write(events: number, fill: (batch: LevelBatch) => number): Promise<void> {
    const level = this.#level;
    if (this.#state !== "open" || level === undefined) return Promise.reject(this.#refusal());
    if (this.#queue.isFull) return Promise.reject(this.#overloaded());
    const durable = this.#queue.add(() => level.batch(), events, fill);
    this.#gathering.appended(this.#queue.appends);
    this.#committing ??= this.#commitAll();
    return durable;
  }

  /**
   * As `write`, for a change that may be repeated: if the commit fails, waits a while for the store
   * to recover and writes again, so that a disk that is full for a moment fails no caller.
   */
  async writeAgain(fill: (batch: LevelBatch) => number): Promise<void> {
    const { clock } = this.#options;
    const until = clock.monotonicMs() + READ_WAIT_MAX_MS;
    let unknown: unknown;
    for (;;) {
      try {
        return await this.write(0, fill);
      } catch (error) {
        const code = error instanceof ServiceError ? error.code : undefined;
        if (code === "OUTCOME_UNKNOWN") unknown = error;
        while (this.#state === "failed" && clock.monotonicMs() < until) {
          await clock.sleep(20, this.#closing.signal);
        }
        const repeats = code === "OUTCOME_UNKNOWN" || code === "STORAGE_UNAVAILABLE";
        // If an earlier try may have been stored, the caller gets that try's error.
        if (!repeats || this.#state !== "open") throw unknown ?? error;
        if (clock.monotonicMs() >= until) throw unknown ?? error;
      }
    }
  }

  /** An iterator over what is committed now. Waits a while if the store is being reopened. */
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

  /** Translates a failed read of LevelDB for a caller. */
  readError(error: unknown): ServiceError {
    return readError(error, this.#options.what);
  }

  /** Approximate bytes on disk. */
  sizeOnDisk(): Promise<number> {
    return sizeOfDirectory(join(this.#options.directory, "level"));
  }

  /** Writes the write buffer to a table. Never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Waits for operations under way and leaves the files sealed. */
  async close(): Promise<void> {
    if (this.#state === "closed") return;
    while (this.#committing !== undefined) await this.#committing;
    const sealable = this.#state === "open";
    await this.#stop();
    const { directory, shared } = this.#options;
    try {
      const seal = sealable ? await sealLevel(join(directory, "level")) : undefined;
      const { last: sequence, events } = this.#chain;
      await maintaining(shared, async () => {
        await this.#mark.write({ sequence, events, seal });
        await this.#mark.sync();
      });
    } finally {
      await this.#mark.close();
    }
  }

  /** Releases the files without sealing them: they are about to be removed. */
  async discard(): Promise<void> {
    if (this.#state === "closed") return;
    await this.#stop();
    await this.#mark.close();
  }

  async #stop(): Promise<void> {
    this.#state = "closed";
    this.#closing.abort();
    this.#queue.rejectAll(() => this.#refusal());
    await this.#committing;
    await this.#recovering;
    await this.#markWriter.idle();
    await this.#flushing;
    await this.#level?.close();
    this.#options.shared?.buffers.emptied(this);
  }

  async #commitAll(): Promise<void> {
    const { clock, observer, shared, tuning } = this.#options;
    for (;;) {
      await this.#gathering.wait(this.#queue.appends);
      const commit = this.#queue.shift();
      if (commit === undefined) break;
      const { batch, bytes, events } = commit;
      const started = clock.monotonicMs();
      const link = this.#chain.extend(batch, bytes, events);
      try {
        await (shared?.threads.commit(() => batch.write(SYNCED)) ?? batch.write(SYNCED));
      } catch (error) {
        this.#fail(commit, error);
        break;
      }
      this.#chain.confirm(link);
      const ms = clock.monotonicMs() - started;
      this.#gathering.committed(ms, commit.waiting.length, this.#queue.appends);
      this.#queue.resolve(commit);
      this.#markWriter.follow();
      shared?.buffers.committed(this, bytes, tuning.writeBufferSize);
      if (this.#chain.isFlushDue) void this.flush();
      observer?.committed({ ms, bytes, events, appends: commit.waiting.length });
    }
    this.#committing = undefined;
  }

  /**
   * LevelDB does not report a failure here, but then every later commit fails, and only a commit
   * removes a marker.
   */
  async #flush(): Promise<void> {
    const level = this.#level;
    const chain = this.#chain;
    if (this.#state !== "open" || level === undefined) return;
    const { last } = chain;
    try {
      await level.compactRange(BEHIND_ALL, BEHIND_ALL);
    } catch (error) {
      this.#options.warn?.(`the write buffer of ${this.#options.what} was not flushed`, error);
      return;
    }
    chain.flushed(last);
    this.#options.shared?.buffers.emptied(this);
  }

  #fail(commit: Commit, error: unknown): void {
    const { what, warn, commitFailed } = this.#options;
    commitFailed?.();
    warn?.(`a commit of ${what} failed; it takes no writes until it is opened again`, error);
    if (this.#state === "open") this.#state = "failed";
    this.#queue.reject(commit, () => {
      const message = `writing to ${what} failed; repeat the write`;
      return new ServiceError("OUTCOME_UNKNOWN", message, { cause: error });
    });
    this.#queue.rejectAll(() => this.#refusal());
    if (this.#state === "failed") this.#recovering ??= this.#recover(error);
  }

  async #recover(cause: unknown): Promise<void> {
    const acknowledged = this.#chain.last;
    const letGo = (): Promise<void> => this.#letGo();
    const recovered = await recoverLevel(
      { ...this.#options, cause, acknowledged, letGo },
      this.#closing.signal,
    );
    if (recovered === undefined) return;
    this.#recovering = undefined;
    if (recovered instanceof ServiceError) {
      this.#lost = recovered;
      if (this.#state === "failed") this.#state = "lost";
      return;
    }
    this.#chain = recovered.chain;
    this.#level = recovered.level;
    if (this.#state === "failed") this.#state = "open";
    this.#options.warn?.(`${this.#options.what} takes writes again`, undefined);
  }

  async #letGo(): Promise<void> {
    const former = this.#level;
    this.#level = undefined;
    this.#generation++;
    await former?.close();
  }

  async #readable(): Promise<Level> {
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

  #overloaded(): Error {
    const message = `${this.#options.what} has too much to write; retry later`;
    return new ServiceError("OVERLOADED", message, {
      details: { pendingBytesMax: PENDING_BYTES_MAX },
      retryAfterMs: 100,
    });
  }
}

function verification(shared: SharedBySlices | undefined, clock: Clock): Verification | undefined {
  return shared && { tables: shared.verified, nowMs: clock.monotonicMs() };
}

function maintaining<T>(shared: SharedBySlices | undefined, work: () => Promise<T>): Promise<T> {
  return shared === undefined ? work() : shared.threads.maintain(work);
}
