/**
 * Reads LevelDB's log format, which its logs and its MANIFEST share, as strictly as it allows.
 *
 * LevelDB itself drops a damaged record of a log without an error and continues after it. This
 * reader accepts only a torn tail: bytes that a crash cut short, with nothing whole after them.
 * Commits are synced one after another, so anything whole after a damaged record proves that the
 * record was whole once.
 */
import { crc32c } from "@node-rs/crc32";
import { LevelDamage } from "./level-damage.ts";

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/** Visits every whole record. True if the tail is torn. Throws `LevelDamage` on any other break. */
export function readLog(
  bytes: Uint8Array,
  name: string,
  visit: (record: Uint8Array) => void,
): boolean {
  let fragments: Uint8Array[] | undefined;
  let tornAt = -1;
  let at = 0;
  while (at < bytes.length) {
    const blockEnd = Math.min(at - (at % BLOCK_BYTES) + BLOCK_BYTES, bytes.length);
    if (blockEnd - at < HEADER_BYTES) {
      // The rest of a full block is padding; at the end of the file it is a header cut short.
      if (blockEnd === bytes.length && blockEnd % BLOCK_BYTES !== 0) tornAt = at;
      at = blockEnd;
      continue;
    }
    const length = (bytes[at + 4] as number) | ((bytes[at + 5] as number) << 8);
    const type = bytes[at + 6] as number;
    const end = at + HEADER_BYTES + length;
    if (end > blockEnd || crcAt(bytes, at) !== maskedCrc(bytes.subarray(at + 6, end))) {
      // As LevelDB does: the length cannot be trusted, so the reader tries the next block.
      if (tornAt < 0) tornAt = at;
      fragments = undefined;
      at = blockEnd;
      continue;
    }
    const starts = type === FULL || type === FIRST;
    const goesOn = type === MIDDLE || type === LAST;
    if (tornAt >= 0 && starts) {
      throw new LevelDamage(`${name} is damaged at byte ${tornAt}`);
    }
    if ((!starts && !goesOn) || (tornAt < 0 && starts === (fragments !== undefined))) {
      throw new LevelDamage(`${name} has a record out of place at byte ${at}`);
    }
    const body = bytes.subarray(at + HEADER_BYTES, end);
    if (type === FULL) visit(body);
    else if (type === FIRST) fragments = [body];
    else fragments?.push(body);
    if (type === LAST && fragments !== undefined) {
      visit(Buffer.concat(fragments));
      fragments = undefined;
    }
    at = end;
  }
  return tornAt >= 0 || fragments !== undefined;
}

/** LevelDB stores masked checksums, so that a checksum of bytes that hold checksums stays good. */
export function maskedCrc(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** The masked checksum stored at `at`. */
export function crcAt(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}
