/** Converts bytes to base64 and back, with functions that browsers and Node both have. */
import { bufferMethod } from "./utf8.ts";

/** Base64 of bytes, or of a text's UTF-8. */
export function toBase64(value: Uint8Array | string): string {
  const bytes = typeof value === "string" ? encoder.encode(value) : value;
  if (native !== undefined) return native.call(bytes, 0, bytes.length);
  let binary = "";
  // In steps, because every byte is an argument and a call takes a limited number of them.
  for (let at = 0; at < bytes.length; at += STEP) {
    binary += String.fromCharCode(...bytes.subarray(at, at + STEP));
  }
  return btoa(binary);
}

/** Throws if it is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const native = bufferMethod("base64Slice") as
  ((this: Uint8Array, start: number, end: number) => string) | undefined;
const STEP = 8192;
const encoder = new TextEncoder();
