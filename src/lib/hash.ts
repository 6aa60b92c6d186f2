/**
 * xxHash32 in WebAssembly: the fastest hash measured for short inputs, because a call into native
 * code costs more than the hashing.
 */
import xxhash from "xxhash-wasm";

const { h32Raw } = await xxhash();

/**
 * Stored data depends on this hash, and it decides where events lie: neither it nor its seeds may
 * change.
 */
export function hash32(bytes: Uint8Array, seed: number): number {
  return h32Raw(bytes, seed);
}
