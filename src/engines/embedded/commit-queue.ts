/**
 * Collects what callers write during a commit into the next commits: many callers share one sync.
 * The waiting bytes are bounded; `isFull` says when to reject more.
 */
import type { LevelBatch } from "./level.ts";

/** Callers' writes that are committed together. */
export interface Commit {
  readonly batch: LevelBatch;
  bytes: number;
  events: number;
  readonly waiting: { resolve: () => void; reject: (error: Error) => void }[];
}

/** Larger groups bring no further gain and hold memory. */
const COMMIT_BYTES_MAX = 8 << 20;
/** Bytes that are encoded and wait for their commit. */
export const PENDING_BYTES_MAX = 48 << 20;

export class CommitQueue {
  readonly #commits: Commit[] = [];
  #pendingBytes = 0;
  #appends = 0;

  /** How many writes wait for a commit that has not begun. */
  get appends(): number {
    return this.#appends;
  }

  get isFull(): boolean {
    return this.#pendingBytes > PENDING_BYTES_MAX;
  }

  /**
   * Adds to the last waiting commit, or to a new one. `fill` puts entries into the batch and
   * returns how many bytes it put. Settles with the commit.
   */
  add(
    newBatch: () => LevelBatch,
    events: number,
    fill: (batch: LevelBatch) => number,
  ): Promise<void> {
    let commit = this.#commits.at(-1);
    if (commit === undefined || commit.bytes >= COMMIT_BYTES_MAX) {
      commit = { batch: newBatch(), bytes: 0, events: 0, waiting: [] };
      this.#commits.push(commit);
    }
    const bytes = fill(commit.batch);
    commit.bytes += bytes;
    commit.events += events;
    this.#pendingBytes += bytes;
    this.#appends++;
    const { waiting } = commit;
    return new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
  }

  /** The next commit, which accepts no more writes. The caller resolves or rejects it. */
  shift(): Commit | undefined {
    const commit = this.#commits.shift();
    this.#appends -= commit?.waiting.length ?? 0;
    return commit;
  }

  resolve(commit: Commit): void {
    this.#pendingBytes -= commit.bytes;
    for (const { resolve } of commit.waiting) resolve();
  }

  /** Each caller gets an error of its own. */
  reject(commit: Commit, newError: () => Error): void {
    this.#pendingBytes -= commit.bytes;
    for (const { reject } of commit.waiting) reject(newError());
  }

  rejectAll(newError: () => Error): void {
    for (let commit = this.shift(); commit !== undefined; commit = this.shift()) {
      this.reject(commit, newError);
      void commit.batch.close();
    }
  }
}
