/**
 * The keys a store keeps for itself. They begin with 0xFF, which no UTF-8 text has, so they sort
 * after all other keys and no scan reads them.
 */
import { hash32 } from "../../lib/hash.ts";
import { LevelDamage } from "./level-damage.ts";

const SYSTEM = 0xff;
const BASE = 0x62;
const MARKER = 0x6d;

export const BASE_KEY = Buffer.from([SYSTEM, BASE]);
export const MARKERS_END = Buffer.from([SYSTEM, MARKER + 1]);

/** 0xFF, one byte for the kind, and text: other internal records of a store. */
export function systemKey(kind: string, ...texts: readonly string[]): Buffer {
  return Buffer.concat([
    Buffer.from([SYSTEM]),
    Buffer.from(kind),
    ...texts.flatMap((text) => [Buffer.from(text), Buffer.from([SYSTEM])]),
  ]);
}

export function markerKey(sequence: number): Buffer {
  const key = Buffer.allocUnsafe(10);
  key[0] = SYSTEM;
  key[1] = MARKER;
  key.writeBigUInt64BE(BigInt(sequence), 2);
  return key;
}

/** A count with a checksum that covers its key. */
export function encodeCount(key: Uint8Array, count: number): Buffer {
  const value = Buffer.allocUnsafe(12);
  value.writeBigUInt64BE(BigInt(count), 4);
  value.writeUInt32BE(hash32(value.subarray(4), hash32(key, 0)), 0);
  return value;
}

export function decodeCount(key: Uint8Array, value: Buffer | undefined): number {
  if (value?.length !== 12 || value.readUInt32BE(0) !== hash32(value.subarray(4), hash32(key, 0))) {
    throw new LevelDamage("a record of the store itself does not match its checksum");
  }
  return Number(value.readBigUInt64BE(4));
}
