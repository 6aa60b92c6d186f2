/** A LevelDB database of binary keys and values. */
import { ClassicLevel } from "classic-level";
import type { ChainedBatch, Iterator, IteratorOptions } from "classic-level";
import type { LevelOptions } from "./level-options.ts";

export type Level = ClassicLevel<Buffer, Buffer>;
export type LevelBatch = ChainedBatch<Level, Buffer, Buffer>;
export type LevelIterator = Iterator<Level, Buffer, Buffer>;
export type LevelIteratorOptions = IteratorOptions<Buffer, Buffer>;

/**
 * For an iterator that reads values and no keys. classic-level makes an object for each key even
 * then, which costs a third of a row unless it is an empty text instead of an empty Buffer. Bounds
 * stay Buffers and pass unchanged.
 */
export const VALUES_ONLY = {
  keys: false,
  keyEncoding: {
    name: "braid-bounds",
    format: "utf8",
    encode: (bound: Buffer) => bound,
    decode: () => NO_KEY,
  },
} as const;
const NO_KEY = Buffer.alloc(0);

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
