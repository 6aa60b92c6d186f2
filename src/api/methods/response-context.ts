/** The cost of an answer, as every data method reports it, in both forms. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResponseContextSchema } from "../../gen/braid/v1/event_pb.js";
import type { ReadContext } from "../../read/read-page.ts";
import { durationOfMicros, formatDuration } from "./times.ts";

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

export function contextMessage(
  context: ReadContext,
): MessageInitShape<typeof ResponseContextSchema> {
  return {
    namespace: context.namespace,
    timeTaken: durationOfMicros(microsOf(context.timeTakenMs)),
    partitionsRead: context.partitionsRead,
    splitPartitionsRead: context.splitPartitionsRead,
    bytesRead: BigInt(context.bytesRead),
    partial: context.partial,
    partialReason: context.partialReason,
  };
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
