/** WriteEventRecordsSync and WriteEventRecords: the same batch, written now or queued. */
import {
  TimeSeriesService,
  WriteEventRecordsResponseSchema,
  WriteEventRecordsSyncResponseSchema,
} from "../../gen/braid/v1/time_series_service_pb.js";
import { parseWriteJson } from "../../wire/event-json.ts";
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
  write(batch: WriteBatch, signal: AbortSignal): Promise<WriteResult>;
  enqueue(batch: WriteBatch): Promise<WriteResult>;
}

export function writeMethods(writing: Writing): UnaryMethod[] {
  const { limits } = writing;
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
      fromBinary: (bytes) => sync(parseWriteRequest(bytes, limits)),
      fromJson: (body) => sync(parseWriteJson(body.value, body.bytes, limits)),
    },
    {
      kind: "unary",
      desc: TimeSeriesService.method.writeEventRecords,
      changes: true,
      fromBinary: (bytes) => queued(parseWriteRequest(bytes, limits)),
      fromJson: (body) => queued(parseWriteJson(body.value, body.bytes, limits)),
    },
  ];
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
