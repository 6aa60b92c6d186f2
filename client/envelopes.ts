/**
 * The messages of a Connect stream, wherever its chunks are cut: each stands behind a prefix of
 * five bytes, flags and length.
 *
 * Holds one message at most. Each message has memory of its own, so that a view on it keeps nothing
 * else alive.
 */
import { BraidError } from "./braid-error.ts";
import { tooLong } from "./http.ts";
import { malformed } from "./message-reader.ts";

export interface Envelope {
  readonly flags: number;
  readonly bytes: Uint8Array;
}

/** Throws ANSWER_INVALID for a longer message, SERVER_UNREACHABLE if the last one is incomplete. */
export async function* readEnvelopes(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Envelope, void, undefined> {
  const held = new HeldBytes();
  for await (const chunk of chunks) {
    held.add(chunk);
    while (held.length >= PREFIX_BYTES) {
      const flags = held.byte(0);
      const length =
        held.byte(1) * 2 ** 24 + held.byte(2) * 2 ** 16 + held.byte(3) * 2 ** 8 + held.byte(4);
      if (length > bytesMax) throw tooLong(bytesMax);
      if (held.length < PREFIX_BYTES + length) break;
      if ((flags & COMPRESSED) !== 0) throw malformed("it is compressed, which nobody asked for");
      held.drop(PREFIX_BYTES);
      yield { flags, bytes: held.take(length) };
    }
  }
  if (held.length > 0) {
    throw new BraidError("SERVER_UNREACHABLE", "the stream stopped in the middle of a message");
  }
}

/** A message of a request. */
export function inEnvelope(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(whole.buffer).setUint32(1, message.length);
  whole.set(message, PREFIX_BYTES);
  return whole;
}

/** The flag of the message that ends a stream. */
export const END_OF_STREAM = 2;

const COMPRESSED = 1;
const PREFIX_BYTES = 5;

/** Chunks that have arrived, from the first byte not yet taken. */
class HeldBytes {
  #chunks: Uint8Array[] = [];
  /** Of the first chunk, what was taken. */
  #taken = 0;
  length = 0;

  add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.length += chunk.length;
  }

  /** The byte at `index`, which must be there. */
  byte(index: number): number {
    let at = this.#taken + index;
    for (const chunk of this.#chunks) {
      if (at < chunk.length) return chunk[at] as number;
      at -= chunk.length;
    }
    throw new RangeError("no such byte");
  }

  drop(length: number): void {
    this.length -= length;
    this.#taken += length;
    let first = this.#chunks[0];
    while (first !== undefined && this.#taken >= first.length) {
      this.#taken -= first.length;
      this.#chunks.shift();
      first = this.#chunks[0];
    }
  }

  /** Copies what it takes. */
  take(length: number): Uint8Array {
    const whole = new Uint8Array(length);
    let filled = 0;
    let start = this.#taken;
    for (const chunk of this.#chunks) {
      const part = chunk.subarray(start, start + length - filled);
      whole.set(part, filled);
      filled += part.length;
      if (filled === length) break;
      start = 0;
    }
    this.drop(length);
    return whole;
  }
}
