/**
 * Writes protobuf messages from their last byte to their first.
 *
 * The length of a nested message stands before it. Written backwards it is known when its turn
 * comes, so that nothing is measured first or moved afterwards. Callers write fields, and the items
 * of repeated fields, in reverse order.
 */
import type { ParsedTime } from "./time-text.ts";

export class MessageWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  /** The first byte written. */
  #at = FIRST_BYTES;

  /** The bytes written so far: behind a field, a position to measure it by. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** Forgets the bytes written after `length`, in front of the others. */
  cutTo(length: number): void {
    this.#at = this.#bytes.length - length;
  }

  /** What was written, as bytes of their own; the writer starts again. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes;
    const at = this.#at;
    const large = bytes.length > KEPT_BYTES_MAX;
    if (large) this.#bytes = new Uint8Array(FIRST_BYTES);
    this.#at = this.#bytes.length;
    return large ? bytes.subarray(at) : bytes.slice(at);
  }

  /** A field whose content was written since `length` was `before`. */
  head(tag: number, before: number): void {
    this.#room(HEAD_BYTES_MAX);
    this.#varint(this.length - before);
    this.#bytes[--this.#at] = tag;
  }

  /** A field of text that must be valid UTF-8; empty text is left out. */
  text(tag: number, text: string): void {
    if (text === "") return;
    const before = this.length;
    this.#textOrInvalid(text);
    this.head(tag, before);
  }

  /** A field of bytes, or of text with U+FFFD for what is not valid; an empty one is left out. */
  value(tag: number, value: Uint8Array | string): void {
    if (value.length === 0) return;
    const before = this.length;
    if (typeof value !== "string") this.#raw(value);
    else if (!this.#ascii(value)) this.#raw(encoder.encode(value));
    this.head(tag, before);
  }

  /** A field of a whole number from 0 to 2^53; 0 is left out. */
  number(tag: number, value: number): void {
    if (value === 0) return;
    this.#room(HEAD_BYTES_MAX);
    this.#varint(value);
    this.#bytes[--this.#at] = tag;
  }

  time(tag: number, { seconds, nanos }: ParsedTime): void {
    const before = this.length;
    this.number(TAG_NANOS, nanos);
    if (seconds < 0) this.#negative(seconds);
    else this.number(TAG_SECONDS, seconds);
    this.head(tag, before);
  }

  #varint(value: number): void {
    if (value < 0x80) {
      this.#bytes[--this.#at] = value;
      return;
    }
    let length = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) length++;
    this.#at -= length;
    let at = this.#at;
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[at++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[at] = rest;
  }

  /** Seconds before 1970: 64 bits of two's complement, which always take ten bytes. */
  #negative(seconds: number): void {
    this.#room(HEAD_BYTES_MAX);
    let rest = BigInt.asUintN(64, BigInt(seconds));
    this.#at -= 10;
    for (let i = 0; i < 10; i++) {
      this.#bytes[this.#at + i] = Number(rest & 0x7fn) | (i < 9 ? 0x80 : 0);
      rest >>= 7n;
    }
    this.#bytes[--this.#at] = TAG_SECONDS;
  }

  #textOrInvalid(text: string): void {
    if (this.#ascii(text)) return;
    // Half of a surrogate pair has no UTF-8, and U+FFFD in its place would be another id. A byte
    // that is never valid makes the server refuse this event, and only this one.
    if (LONE_SURROGATE.test(text)) this.#raw(NEVER_VALID);
    this.#raw(encoder.encode(text));
  }

  /** Writes nothing and returns false if the text is not ASCII. */
  #ascii(text: string): boolean {
    const { length } = text;
    this.#room(length);
    const bytes = this.#bytes;
    const start = this.#at - length;
    if (length > NATIVE_FROM) {
      if (encoder.encodeInto(text, bytes.subarray(start, this.#at)).read !== length) return false;
    } else {
      for (let i = 0; i < length; i++) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) return false;
        bytes[start + i] = code;
      }
    }
    this.#at = start;
    return true;
  }

  #raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#at -= bytes.length;
    this.#bytes.set(bytes, this.#at);
  }

  #room(wanted: number): void {
    if (this.#at >= wanted) return;
    const { length } = this;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, length + wanted));
    larger.set(this.#bytes.subarray(this.#at), larger.length - length);
    this.#at = larger.length - length;
    this.#bytes = larger;
  }
}

const TAG_SECONDS = 0x08;
const TAG_NANOS = 0x10;
const FIRST_BYTES = 64 * 1024;
/** A larger buffer leaves with what was written, instead of staying for the next message. */
const KEPT_BYTES_MAX = 256 * 1024;
/** A tag and a number of 64 bits. */
const HEAD_BYTES_MAX = 11;
/** A call into native code costs about as much as a loop over this many characters. */
const NATIVE_FROM = 64;
const LONE_SURROGATE = /\p{Surrogate}/u;
const NEVER_VALID = new Uint8Array([0xff]);
const encoder = new TextEncoder();
