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
  const prefix = new Uint8Array(PREFIX_BYTES);
  let prefixFilled = 0;
  let message: Uint8Array | undefined;
  let filled = 0;
  for await (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      if (message === undefined) {
        prefix[prefixFilled++] = chunk[at++] as number;
        if (prefixFilled < PREFIX_BYTES) continue;
        message = new Uint8Array(lengthIn(prefix, bytesMax));
        filled = 0;
      }
      const part = chunk.subarray(at, at + message.length - filled);
      message.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < message.length) break;
      yield { flags: prefix[0] as number, bytes: message };
      message = undefined;
      prefixFilled = 0;
    }
  }
  if (prefixFilled > 0) {
    throw new BraidError("SERVER_UNREACHABLE", "the stream stopped in the middle of a message");
  }
}

function lengthIn(prefix: Uint8Array, bytesMax: number): number {
  const length = new DataView(prefix.buffer).getUint32(1);
  if (length > bytesMax) throw tooLong(bytesMax);
  const flags = prefix[0] as number;
  if ((flags & COMPRESSED) !== 0) throw malformed("it is compressed, which nobody asked for");
  return length;
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
