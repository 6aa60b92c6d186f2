/**
 * Protobuf's variable-length integers, read and written in place.
 *
 * The reader keeps its position in a field instead of returning pairs: this runs for every field of
 * every event, and an allocation each time would be most of the cost.
 */
export class VarintReader {
  /** Where the next read begins; after a read, the byte behind it. */
  position = 0;

  /**
   * An unsigned integer below 2^53, or -1 if the bytes end early, are too many, or hold a larger
   * number. `canonical` says whether it was written in the fewest bytes.
   */
  read(bytes: Uint8Array, end: number): number {
    let value = 0;
    let scale = 1;
    const start = this.position;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) return -1;
        this.position = i + 1;
        this.canonical = byte !== 0 || i === start;
        return value;
      }
      scale *= 128;
      if (i - start >= 8) return -1;
    }
    return -1;
  }

  canonical = true;
}

export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) length++;
  return length;
}

/** Writes at `at` and returns the position behind it. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  let position = at;
  while (rest >= 0x80) {
    bytes[position++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  bytes[position++] = rest;
  return position;
}
