/** WriteEventRecordsSync and WriteEventRecords: the same batch, written now or queued. */
import {
  TimeSeriesService,
  WriteEventRecordsResponseSchema,
  WriteEventRecordsSyncResponseSchema,
} from "../../gen/braid/v1/time_series_service_pb.js";
import { parseWriteJson } from "../../wire/write-json.ts";
import type { EventLimits } from "../../wire/validate-event.ts";
import { parseWriteRequest } from "../../wire/write-request.ts";
import type { WriteBatch } from "../../wire/write-request.ts";
import type { WriteResult } from "../../write/write-events.ts";
import { messageBytes } from "./method.ts";
import type { Answer, UnaryMethod, UnaryRequest } from "./method.ts";
import { contextJson, contextMessage, writeContext } from "./response-context.ts";

/** The two ways to write, as `EventWriter` and `WriteQueue` have them. */
export interface Writing {
  readonly limits: EventLimits;
  readonly requestBytesMax: number;
  write(batch: WriteBatch, signal: AbortSignal): Promise<WriteResult>;
  enqueue(batch: WriteBatch): Promise<WriteResult>;
}

export function writeMethods(writing: Writing): UnaryMethod[] {
  const { limits, requestBytesMax } = writing;
  const sync = (batch: WriteBatch): UnaryRequest => ({
    namespace: batch.namespace,
    run: async (signal) => syncAnswer(batch.namespace, await writing.write(batch, signal)),
  });
  const queued = (batch: WriteBatch): UnaryRequest => ({
    namespace: batch.namespace,
    run: async () => queuedAnswer(batch.namespace, await writing.enqueue(batch)),
  });
  return [
    {
      kind: "unary",
      desc: TimeSeriesService.method.writeEventRecordsSync,
      changes: true,
      requestBytesMax,
      fromBinary: (bytes) => then(parseWriteRequest(bytes, limits), sync),
      fromJson: (body) => then(parseWriteJson(body, limits), sync),
    },
    {
      kind: "unary",
      desc: TimeSeriesService.method.writeEventRecords,
      changes: true,
      requestBytesMax,
      fromBinary: (bytes) => then(parseWriteRequest(bytes, limits), queued),
      fromJson: (body) => then(parseWriteJson(body, limits), queued),
    },
  ];
}

/** Most requests are small, and understood at once. */
function then(
  batch: WriteBatch | Promise<WriteBatch>,
  make: (batch: WriteBatch) => UnaryRequest,
): UnaryRequest | Promise<UnaryRequest> {
  return batch instanceof Promise ? batch.then(make) : make(batch);
}

function syncAnswer(namespace: string, result: WriteResult): Answer {
  const context = writeContext(namespace, result.timeTakenMs);
  return {
    binary: () =>
      messageBytes(WriteEventRecordsSyncResponseSchema, {
        written: result.taken,
        failures: [...result.failures],
        responseContext: [contextMessage(context)],
      }),
    json: () => `{"written":${result.taken},${restJson(result)}[${contextJson(context)}]}`,
  };
}

function queuedAnswer(namespace: string, result: WriteResult): Answer {
  const context = writeContext(namespace, result.timeTakenMs);
  return {
    binary: () =>
      messageBytes(WriteEventRecordsResponseSchema, {
        accepted: result.taken,
        failures: [...result.failures],
        responseContext: [contextMessage(context)],
      }),
    json: () => `{"accepted":${result.taken},${restJson(result)}[${contextJson(context)}]}`,
  };
}

function restJson(result: WriteResult): string {
  const failures = result.failures.map(
    ({ index, code, message }) =>
      `{"index":${index},"code":"${code}","message":${JSON.stringify(message)}}`,
  );
  return `"failures":[${failures.join(",")}],"responseContext":`;
}
