/** A LevelDB database of binary keys and values. */
import { ClassicLevel } from "classic-level";
import type { ChainedBatch, Iterator, IteratorOptions } from "classic-level";
import type { LevelOptions } from "./level-options.ts";

export type Level = ClassicLevel<Buffer, Buffer>;
export type LevelBatch = ChainedBatch<Level, Buffer, Buffer>;
export type LevelIterator = Iterator<Level, Buffer, Buffer>;
export type LevelIteratorOptions = IteratorOptions<Buffer, Buffer>;

/** A write returns when it is on disk. */
export const SYNCED = { sync: true } as const;

/** Not open yet. */
export function newLevel(location: string, tuning: LevelOptions): Level {
  return new ClassicLevel<Buffer, Buffer>(location, {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
    ...tuning,
  });
}
