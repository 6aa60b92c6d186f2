/** Text to UTF-8 and back, in place: without an object for each text. */

/** What is not valid becomes U+FFFD. A byte order mark belongs to the text. */
export const decodeText: (bytes: Uint8Array, start: number, end: number) => string = decoderOf();

/**
 * The same for texts that repeat from event to event, such as keys of items: a text of ASCII that
 * was decoded before is found again without making a new string.
 */
export function decodeRepeated(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 0) return "";
  if (length > REPEATED_BYTES_MAX) return decodeText(bytes, start, end);
  const first = bytes[start] as number;
  const middle = bytes[start + (length >>> 1)] as number;
  const last = bytes[end - 1] as number;
  const slot = (length + first * 7 + middle * 31 + last * 131) & (REPEATED_TEXTS - 1);
  const known = repeated[slot] as string;
  if (isAscii(known, bytes, start, length)) return known;
  const text = decodeText(bytes, start, end);
  repeated[slot] = text;
  return text;
}

/** Whether the bytes are this text; false for every text that is not ASCII. */
function isAscii(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code !== bytes[start + i] || code > 0x7f) return false;
  }
  return true;
}

const REPEATED_TEXTS = 256;
const REPEATED_BYTES_MAX = 64;
const repeated: string[] = Array.from({ length: REPEATED_TEXTS }, () => "");

type DecodeRange = (this: Uint8Array, start: number, end: number) => string;

function decoderOf(): typeof decodeText {
  // Node's decodes a range in half the time; other runtimes lack it.
  const native = bufferMethod("utf8Slice") as DecodeRange | undefined;
  if (native !== undefined) return (bytes, start, end) => native.call(bytes, start, end);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return (bytes, start, end) => decoder.decode(bytes.subarray(start, end));
}

/** A method of Node's Buffer that works on every Uint8Array; undefined in browsers. */
export function bufferMethod(name: string): unknown {
  const { Buffer } = globalThis as { Buffer?: { prototype?: Record<string, unknown> } };
  const method = Buffer?.prototype?.[name];
  return typeof method === "function" ? method : undefined;
}
