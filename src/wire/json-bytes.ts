/**
 * Assembles JSON text as bytes: stored UTF-8 is copied, without becoming a string in between.
 *
 * The buffer grows as needed; its owner bounds what goes in.
 */
export class JsonBytes {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  /** What has been written so far. Valid until the next write. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Plain ASCII, unchanged: punctuation, field names, numbers. */
  ascii(text: string): void {
    this.#reserve(text.length);
    const bytes = this.#bytes;
    const at = this.#length;
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
    this.#length = at + text.length;
  }

  /** Any text, unchanged: JSON made elsewhere. */
  text(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  /** A whole number with leading zeros. */
  digits(value: number, count: number): void {
    this.#reserve(count);
    const bytes = this.#bytes;
    const at = this.#length;
    let rest = value;
    for (let i = count - 1; i >= 0; i--) {
      bytes[at + i] = 0x30 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
    this.#length = at + count;
  }

  /** The contents of a string: valid UTF-8, escaped where JSON requires it. */
  escaped(source: Uint8Array, start: number, end: number): void {
    this.#reserve((end - start) * 6);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = start; i < end; i++) {
      const byte = source[i] as number;
      if (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) {
        bytes[at++] = byte;
        continue;
      }
      bytes[at++] = BACKSLASH;
      if (byte === QUOTE || byte === BACKSLASH) {
        bytes[at++] = byte;
        continue;
      }
      bytes[at++] = 0x75;
      bytes[at++] = 0x30;
      bytes[at++] = 0x30;
      bytes[at++] = 0x30 + (byte >> 4);
      bytes[at++] = HEX.charCodeAt(byte & 15);
    }
    this.#length = at;
  }

  /** Bytes in base64, with padding. */
  base64(source: Uint8Array, start: number, end: number): void {
    const length = end - start;
    const whole = end - (length % 3);
    this.#reserve(((length + 2) / 3) * 4 + 4);
    const bytes = this.#bytes;
    if (length >= NATIVE_FROM) {
      const text = Buffer.from(source.buffer, source.byteOffset + start, length).toString("base64");
      this.#length += bytes.write(text, this.#length, "latin1");
      return;
    }
    let at = this.#length;
    for (let i = start; i < whole; i += 3) {
      const bits =
        ((source[i] as number) << 16) |
        ((source[i + 1] as number) << 8) |
        (source[i + 2] as number);
      bytes[at++] = ALPHABET[bits >> 18] as number;
      bytes[at++] = ALPHABET[(bits >> 12) & 63] as number;
      bytes[at++] = ALPHABET[(bits >> 6) & 63] as number;
      bytes[at++] = ALPHABET[bits & 63] as number;
    }
    if (whole < end) {
      const second = whole + 1 < end ? (source[whole + 1] as number) : -1;
      const bits = ((source[whole] as number) << 16) | (second < 0 ? 0 : second << 8);
      bytes[at++] = ALPHABET[bits >> 18] as number;
      bytes[at++] = ALPHABET[(bits >> 12) & 63] as number;
      bytes[at++] = second < 0 ? PADDING : (ALPHABET[(bits >> 6) & 63] as number);
      bytes[at++] = PADDING;
    }
    this.#length = at;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(Math.ceil(needed), this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const PADDING = 0x3d;
const HEX = "0123456789abcdef";
/** From this length on a call into native code is faster than the loop. */
const NATIVE_FROM = 96;
const ALPHABET = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
