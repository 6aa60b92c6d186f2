/**
 * Expands one Snappy block. Only index blocks use it, a few per table file, so clarity matters more
 * than speed.
 */
import { VarintReader } from "../../wire/varint.ts";

/** Undefined if the bytes are not a whole Snappy block. */
export function unsnappy(bytes: Uint8Array): Uint8Array | undefined {
  const reader = new VarintReader();
  const length = reader.read(bytes, bytes.length);
  // Snappy's best ratio is far below 1:256, so a corrupt length never allocates much.
  if (length < 0 || length > bytes.length * 256) return undefined;
  const out = new Uint8Array(length);
  let at = reader.position;
  let filled = 0;
  while (at < bytes.length) {
    const tag = bytes[at++] as number;
    const kind = tag & 3;
    let size = (tag >> 2) + 1;
    if (kind === 0) {
      if (size > 60) {
        const width = size - 60;
        size = littleEndian(bytes, at, width) + 1;
        at += width;
      }
      if (at + size > bytes.length || filled + size > length) return undefined;
      out.set(bytes.subarray(at, at + size), filled);
      at += size;
      filled += size;
      continue;
    }
    let distance: number;
    if (kind === 1) {
      size = ((tag >> 2) & 7) + 4;
      distance = ((tag >> 5) << 8) | (bytes[at++] ?? 0);
    } else {
      const width = kind === 2 ? 2 : 4;
      distance = littleEndian(bytes, at, width);
      at += width;
    }
    if (distance === 0 || distance > filled || filled + size > length) return undefined;
    // Byte by byte: a copy may overlap what it writes.
    for (let i = 0; i < size; i++, filled++) out[filled] = out[filled - distance] as number;
  }
  return filled === length ? out : undefined;
}

function littleEndian(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = width - 1; i >= 0; i--) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}
