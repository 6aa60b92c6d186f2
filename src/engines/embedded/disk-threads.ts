/**
 * Limits how many operations may wait for the disk at the same time. Reads, commits, openings and
 * closings all run on the threads of libuv, and an operation that waits for an fsync holds its
 * thread. So commits get half of the threads and openings and closings an eighth: the rest is
 * always available to reads.
 */
import pLimit from "p-limit";

type Limit = <T>(work: () => Promise<T>) => Promise<T>;

export interface DiskThreads {
  /** Commits of slices. */
  readonly commit: Limit;
  /** Openings, closings and flushes of slices. */
  readonly maintain: Limit;
}

/** The default of libuv, if `UV_THREADPOOL_SIZE` is not set. */
const THREADS = 4;

export function shareThreads(threads: number = THREADS): DiskThreads {
  return {
    commit: pLimit(Math.max(1, Math.floor(threads / 2))),
    maintain: pLimit(Math.max(1, Math.floor(threads / 8))),
  };
}
