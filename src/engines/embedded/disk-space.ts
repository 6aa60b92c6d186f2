/**
 * Watches the free space of the data directory's disk. Below the minimum the engine accepts no
 * events, so that reads, deletions and retention keep the room they need: opening a slice and every
 * change of the catalog write a little.
 *
 * Another program may fill the disk to the last byte. For that case the engine keeps a file of
 * meaningless bytes, the ballast. It removes the ballast when the disk is full, and makes it again
 * when there is room.
 */
import { open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { DiskUsage } from "../../ports/engine.ts";
import { FILE_MODE } from "./data-directory.ts";

export interface DiskSpaceOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Below this many free bytes the engine accepts no events. */
  readonly freeBytesMin: number;
  readonly warn?: ((message: string, cause: unknown) => void) | undefined;
}

const CHECK_EVERY_MS = 1_000;
/** Enough to open the largest slice and to recover the catalog. */
const BALLAST_BYTES_MAX = 32 << 20;
const BLOCK_BYTES = 1 << 20;
const MIB = 1 << 20;

export class DiskSpace {
  readonly #options: DiskSpaceOptions;
  readonly #ballast: string;
  readonly #ballastBytes: number;
  readonly #closing = new AbortController();
  #checking: Promise<void> | undefined;
  #watching: Promise<void> = Promise.resolve();
  #freeBytes = Number.POSITIVE_INFINITY;
  #low = false;

  private constructor(options: DiskSpaceOptions) {
    this.#options = options;
    this.#ballast = join(options.directory, "ballast");
    this.#ballastBytes = Math.min(BALLAST_BYTES_MAX, Math.floor(options.freeBytesMin / 4));
  }

  /** The caller owns the directory. Removes the ballast first if the disk is full. */
  static async open(options: DiskSpaceOptions): Promise<DiskSpace> {
    const space = new DiskSpace(options);
    await space.#look();
    space.#watching = space.#watch();
    return space;
  }

  get usage(): DiskUsage {
    const freeBytes = Number.isFinite(this.#freeBytes) ? this.#freeBytes : undefined;
    return { freeBytes, freeBytesMin: this.#options.freeBytesMin, readOnly: this.readOnly };
  }

  /** Why the engine accepts no events now, or undefined. */
  get readOnly(): string | undefined {
    if (!this.#low) return undefined;
    const { directory, freeBytesMin } = this.#options;
    return (
      `the disk of ${directory} has ${mebibytes(this.#freeBytes)} free, less than ` +
      `${mebibytes(freeBytesMin)} (server.free_space_min): events are refused, reads and deletions ` +
      "continue; free some space. What is deleted takes up space until its grace is over: " +
      '"braid ns ls --deleted" and "braid slices NAMESPACE" list it, "braid ns rm ID --purge" and ' +
      '"braid slices purge" remove it now'
    );
  }

  /** Throws STORAGE_UNAVAILABLE if the engine accepts no events now. */
  requireRoom(): void {
    const { readOnly } = this;
    if (readOnly === undefined) return;
    throw new ServiceError("STORAGE_UNAVAILABLE", readOnly, {
      details: { freeBytes: this.#freeBytes, freeBytesMin: this.#options.freeBytesMin },
      retryAfterMs: 1_000,
    });
  }

  /** Checks at once, because a write has failed. */
  check(): void {
    this.#checking ??= this.#look().finally(() => {
      this.#checking = undefined;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    await this.#checking;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.check();
      await this.#checking;
      await this.#options.clock.sleep(CHECK_EVERY_MS, signal);
    }
  }

  async #look(): Promise<void> {
    const { directory, freeBytesMin, warn } = this.#options;
    try {
      this.#freeBytes = await freeBytesOf(directory);
      if (this.#freeBytes < this.#ballastBytes) {
        await rm(this.#ballast, { force: true });
        this.#freeBytes = await freeBytesOf(directory);
      }
      const wasLow = this.#low;
      this.#low = this.#freeBytes < freeBytesMin;
      if (this.#low && !wasLow) warn?.(this.readOnly ?? "", undefined);
      if (!this.#low && wasLow) warn?.(`the disk of ${directory} has room again`, undefined);
      if (this.#freeBytes >= freeBytesMin + this.#ballastBytes) await this.#layBallast();
    } catch (error) {
      // The last answer stays valid: if the disk does not answer, the commits themselves fail.
      warn?.(`the free space of ${directory} is not known`, error);
    }
  }

  async #layBallast(): Promise<void> {
    const { size } = await stat(this.#ballast).catch(() => ({ size: -1 }));
    if (size === this.#ballastBytes || this.#closing.signal.aborted) return;
    const file = await open(this.#ballast, "w", FILE_MODE);
    try {
      const block = incompressible(BLOCK_BYTES);
      for (let at = 0; at < this.#ballastBytes; at += BLOCK_BYTES) {
        await file.write(block, 0, Math.min(BLOCK_BYTES, this.#ballastBytes - at), at);
      }
    } finally {
      await file.close();
    }
  }
}

export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** Some file systems allocate no space for zeros. */
function incompressible(bytes: number): Buffer {
  const block = Buffer.allocUnsafe(bytes);
  let state = 0x9e3779b9;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    block[at] = state >>> 24;
  }
  return block;
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MIB).toLocaleString("en")} MiB`;
}
