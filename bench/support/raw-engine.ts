/**
 * The baseline: LevelDB used directly, with the settings of the server and nothing around it.
 *
 * One key and one value per event, synced batches; scans by values alone in large steps.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { LEVEL_OPTIONS } from "../../src/engines/embedded/level-options.ts";

export interface RawEntry {
  readonly type: "put";
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export class RawEngine {
  readonly #level: ClassicLevel<Uint8Array, Uint8Array>;
  readonly #directory: string;

  private constructor(level: ClassicLevel<Uint8Array, Uint8Array>, directory: string) {
    this.#level = level;
    this.#directory = directory;
  }

  static async open(): Promise<RawEngine> {
    const directory = await mkdtemp(join(tmpdir(), "braid-raw-"));
    const level = new ClassicLevel<Uint8Array, Uint8Array>(directory, {
      ...LEVEL_OPTIONS,
      keyEncoding: "view",
      valueEncoding: "view",
    });
    await level.open();
    return new RawEngine(level, directory);
  }

  write(entries: RawEntry[]): Promise<void> {
    return this.#level.batch(entries, { sync: true });
  }

  /** Reads entries from a key on, at most `limit`; returns how many bytes. */
  async scan(from: Uint8Array, to: Uint8Array, limit: number): Promise<number> {
    const iterator = this.#level.iterator({
      gte: from,
      lt: to,
      keys: false,
      limit,
      highWaterMarkBytes: 256 * 1024,
    });
    let bytes = 0;
    for (;;) {
      const entries = await iterator.nextv(Math.min(1000, limit < 0 ? 1000 : limit));
      if (entries.length === 0) break;
      for (const [, value] of entries) bytes += value?.length ?? 0;
      if (limit > 0 && entries.length >= limit) break;
    }
    await iterator.close();
    return bytes;
  }

  async close(): Promise<void> {
    await this.#level.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
