/**
 * Walks JSON text as bytes without creating values: finds where values end, and counts them.
 *
 * It bounds the cost of parsing before anything is parsed: the depth, and the number of values
 * (rule C27). It does not prove that the text is JSON; `JSON.parse` does that for each value.
 */
import { ServiceError } from "../lib/errors.ts";

/** No message of the API is nested this deeply. */
const DEPTH_MAX = 32;

export class JsonWalk {
  readonly #bytes: Uint8Array;
  readonly #valuesMax: number;
  /** The index of the next byte. */
  at = 0;
  /** Members of objects passed so far. */
  members = 0;
  #values = 0;

  constructor(bytes: Uint8Array, valuesMax: number) {
    this.#bytes = bytes;
    this.#valuesMax = valuesMax;
  }

  /** The next byte that is not white space; -1 at the end. */
  peek(): number {
    const bytes = this.#bytes;
    for (; this.at < bytes.length; this.at++) {
      const byte = bytes[this.at] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
    }
    return -1;
  }

  /** Passes this byte if it is next. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** Passes one value of any kind. Stops at a byte that cannot begin or continue one. */
  skipValue(): void {
    const bytes = this.#bytes;
    let depth = 0;
    this.peek();
    this.#count();
    for (; this.at < bytes.length; this.at++) {
      switch (bytes[this.at]) {
        case QUOTE:
          this.#skipString();
          if (depth === 0) {
            this.at++;
            return;
          }
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          if (++depth > DEPTH_MAX) throw tooDeep();
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          // The end of the object or array that holds this value.
          if (depth === 0) return;
          if (--depth === 0) {
            this.at++;
            return;
          }
          break;
        case COMMA:
          if (depth === 0) return;
          this.#count();
          break;
        case COLON:
          if (depth === 0) return;
          this.members++;
          break;
        default:
      }
    }
  }

  /** From the opening quote to the closing one. */
  #skipString(): void {
    const bytes = this.#bytes;
    for (this.at++; this.at < bytes.length; this.at++) {
      const byte = bytes[this.at];
      if (byte === BACKSLASH) this.at++;
      else if (byte === QUOTE) return;
    }
  }

  #count(): void {
    if (++this.#values <= this.#valuesMax) return;
    throw new ServiceError(
      "REQUEST_TOO_LARGE",
      `the request holds more than ${this.#valuesMax} values; send it in several`,
      { details: { limit: this.#valuesMax } },
    );
  }
}

function tooDeep(): ServiceError {
  return new ServiceError(
    "REQUEST_INVALID",
    `the body is nested more than ${DEPTH_MAX} levels deep`,
  );
}

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const BACKSLASH = 0x5c;
