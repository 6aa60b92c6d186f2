/** The cost of an answer, as every data method reports it, in both forms. */
import type { ReadContext } from "../../read/read-page.ts";
import { varintLength, writeVarint } from "../../wire/varint.ts";
import { formatDuration } from "./times.ts";

/** The context of an answer that read nothing. */
export function writeContext(namespace: string, timeTakenMs: number): ReadContext {
  return {
    namespace,
    timeTakenMs,
    partitionsRead: 0,
    splitPartitionsRead: 0,
    bytesRead: 0,
    partial: false,
    partialReason: "",
  };
}

/**
 * The field of an answer that holds its context, which is the third one of every answer. Each call
 * has one, so it is written by hand: the general encoder takes ten times as long.
 */
export function contextField(context: ReadContext): Buffer {
  const { namespace, partialReason } = context;
  const bytes = Buffer.allocUnsafe(
    HEAD_BYTES_MAX + NUMBERS_BYTES_MAX + 3 * (namespace.length + partialReason.length),
  );
  let end = writeText(bytes, HEAD_BYTES_MAX, TAG_NAMESPACE, namespace);
  end = writeTimeTaken(bytes, end, microsOf(context.timeTakenMs));
  end = writeNumber(bytes, end, TAG_PARTITIONS_READ, context.partitionsRead);
  end = writeNumber(bytes, end, TAG_SPLIT_PARTITIONS_READ, context.splitPartitionsRead);
  end = writeNumber(bytes, end, TAG_BYTES_READ, context.bytesRead);
  end = writeNumber(bytes, end, TAG_PARTIAL, context.partial ? 1 : 0);
  end = writeText(bytes, end, TAG_PARTIAL_REASON, partialReason);
  // The head ends where the message begins.
  const length = end - HEAD_BYTES_MAX;
  const start = HEAD_BYTES_MAX - 1 - varintLength(length);
  bytes[start] = TAG_CONTEXT;
  writeVarint(bytes, start + 1, length);
  return bytes.subarray(start, end);
}

const TAG_CONTEXT = 0x1a;
const TAG_NAMESPACE = 0x0a;
const TAG_TIME_TAKEN = 0x12;
const TAG_SECONDS = 0x08;
const TAG_NANOS = 0x10;
const TAG_PARTITIONS_READ = 0x18;
const TAG_SPLIT_PARTITIONS_READ = 0x20;
const TAG_BYTES_READ = 0x28;
const TAG_PARTIAL = 0x30;
const TAG_PARTIAL_REASON = 0x3a;
/** Tag and length. */
const HEAD_BYTES_MAX = 6;
/** All fields but the text of two of them; a number has at most 9 bytes. */
const NUMBERS_BYTES_MAX = 80;

/** Nothing if it is empty, as in all of proto3. */
function writeText(bytes: Buffer, at: number, tag: number, text: string): number {
  if (text === "") return at;
  bytes[at] = tag;
  const start = writeVarint(bytes, at + 1, Buffer.byteLength(text));
  return start + bytes.write(text, start);
}

function writeNumber(bytes: Buffer, at: number, tag: number, value: number): number {
  if (value === 0) return at;
  bytes[at] = tag;
  return writeVarint(bytes, at + 1, value);
}

function writeTimeTaken(bytes: Buffer, at: number, micros: number): number {
  const seconds = Math.floor(micros / 1_000_000);
  const start = at + 2;
  let end = writeNumber(bytes, start, TAG_SECONDS, seconds);
  end = writeNumber(bytes, end, TAG_NANOS, (micros - seconds * 1_000_000) * 1000);
  bytes[at] = TAG_TIME_TAKEN;
  // Two numbers: it fits into one byte.
  bytes[at + 1] = end - start;
  return end;
}

export function contextJson(context: ReadContext): string {
  return (
    `{"namespace":${JSON.stringify(context.namespace)}` +
    `,"timeTaken":"${formatDuration(microsOf(context.timeTakenMs))}"` +
    `,"partitionsRead":${context.partitionsRead}` +
    `,"splitPartitionsRead":${context.splitPartitionsRead}` +
    `,"bytesRead":"${context.bytesRead}"` +
    `,"partial":${context.partial}` +
    `,"partialReason":${JSON.stringify(context.partialReason)}}`
  );
}

function microsOf(ms: number): number {
  return Math.max(0, Math.round(ms * 1000));
}
