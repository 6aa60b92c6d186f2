/** Compares and checks bytes as bytes: JavaScript orders strings differently from UTF-8. */
import { Buffer, isUtf8 } from "node:buffer";

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/**
 * Whether `bytes[start..end)` is valid UTF-8. Pure ASCII, by far the most common case, needs no
 * native call.
 */
export function isUtf8Range(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    if ((bytes[i] as number) >= 0x80) return isUtf8(bytes.subarray(start, end));
  }
  return true;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of valid UTF-8; throws on anything else. */
export function fromUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
