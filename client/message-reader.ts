/**
 * Reads protobuf messages in place, field by field.
 *
 * Throws ANSWER_INVALID for bytes that are not a message: a length beyond the end, a number that
 * does not end, a kind of field that does not exist. Fields that the caller does not know are
 * skipped, because a newer server may send them.
 */
import { BraidError } from "./braid-error.ts";
import { decodeText } from "./utf8.ts";

export class MessageReader {
  readonly bytes: Uint8Array;
  readonly #end: number;
  at: number;
  /** The content of the field that `next` found, if it has a length. */
  start = 0;
  end = 0;
  /** The content of the field that `next` found, if it is a number. */
  value = 0;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.#end = end;
  }

  /** The tag of the next field, which is then read; 0 at the end. */
  next(): number {
    if (this.at >= this.#end) return 0;
    const tag = this.#varint();
    // Also a tag of 0, which would read as the end.
    if (tag < 8) throw malformed("a field has no number");
    switch (tag & 7) {
      case 0:
        this.value = this.#varint();
        break;
      case 2:
        this.start = this.#skip(this.#varint());
        this.end = this.at;
        break;
      case 1:
        this.#skip(8);
        break;
      case 5:
        this.#skip(4);
        break;
      default:
        throw malformed("there is no such kind of field");
    }
    return tag;
  }

  /** The text of the field that `next` found. */
  text(): string {
    return decodeText(this.bytes, this.start, this.end);
  }

  /** The message in the field that `next` found. */
  message(): MessageReader {
    return new MessageReader(this.bytes, this.start, this.end);
  }

  #skip(length: number): number {
    const start = this.at;
    if (length < 0 || length > this.#end - start)
      throw malformed("a field ends behind its message");
    this.at = start + length;
    return start;
  }

  /** A number of 64 bits, signed; exact up to 2^53. */
  #varint(): number {
    let low = 0;
    for (let i = 0, scale = 1; i < 4; i++, scale *= 128) {
      const byte = this.#byte();
      low += (byte & 0x7f) * scale;
      if (byte < 0x80) return low;
    }
    let high = 0;
    for (let i = 0, scale = 1; i < 6; i++, scale *= 128) {
      const byte = this.#byte();
      high += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        // Ten bytes hold 70 bits: the last six of them are no part of the number.
        high %= 2 ** 36;
        return (high >= 2 ** 35 ? high - 2 ** 36 : high) * 2 ** 28 + low;
      }
    }
    throw malformed("a number does not end");
  }

  #byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined || this.at >= this.#end) throw malformed("a number does not end");
    this.at++;
    return byte;
  }
}

export function malformed(why: string): BraidError {
  return new BraidError(
    "ANSWER_INVALID",
    `the answer cannot be decoded (${why}); is this a Braid server of this version?`,
    { outcome: "unknown" },
  );
}
