/** WriteEventRecordsSync and WriteEventRecords: the same batch, written now or queued. */
import {
  TimeSeriesService,
  WriteEventRecordsResponseSchema,
  WriteEventRecordsSyncResponseSchema,
} from "../../gen/braid/v1/time_series_service_pb.js";
import { parseWriteJson } from "../../wire/write-json.ts";
import type { EventLimits } from "../../wire/event-limits.ts";
import { parseWriteRequest } from "../../wire/write-request.ts";
import type { WriteBatch } from "../../wire/write-request.ts";
import type { WriteResult } from "../../write/write-events.ts";
import { inSteps } from "../../lib/in-steps.ts";
import type { EventFailure } from "../../write/place-events.ts";
import { messageBytes } from "./method.ts";
import type { Answer, UnaryMethod, UnaryRequest } from "./method.ts";
import { contextField, contextJson, writeContext } from "./response-context.ts";

/** The two ways to write, as `EventWriter` and `WriteQueue` implement them. */
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
      fromBinary: (bytes, _caller, problems) =>
        then(parseWriteRequest(bytes, limits, problems), sync),
      fromJson: (body, _caller, problems) => then(parseWriteJson(body, limits, problems), sync),
    },
    {
      kind: "unary",
      desc: TimeSeriesService.method.writeEventRecords,
      changes: true,
      requestBytesMax,
      fromBinary: (bytes, _caller, problems) =>
        then(parseWriteRequest(bytes, limits, problems), queued),
      fromJson: (body, _caller, problems) => then(parseWriteJson(body, limits, problems), queued),
    },
  ];
}

/** Most requests are small and are decoded at once. */
function then(
  batch: WriteBatch | Promise<WriteBatch>,
  make: (batch: WriteBatch) => UnaryRequest,
): UnaryRequest | Promise<UnaryRequest> {
  return batch instanceof Promise ? batch.then(make) : make(batch);
}

/** Failures that are put into an answer at a time. */
const STEP_FAILURES = 500;

function syncAnswer(namespace: string, result: WriteResult): Answer {
  return writeAnswer(namespace, result, {
    binary: (init) => messageBytes(WriteEventRecordsSyncResponseSchema, init),
    counted: { written: result.taken },
  });
}

function queuedAnswer(namespace: string, result: WriteResult): Answer {
  return writeAnswer(namespace, result, {
    binary: (init) => messageBytes(WriteEventRecordsResponseSchema, init),
    counted: { accepted: result.taken },
  });
}

interface WriteAnswerForm {
  readonly binary: (init: { readonly failures?: EventFailure[] }) => Buffer;
  readonly counted: Readonly<Record<string, number>>;
}

/** An answer can have a failure for each of many events: then it is put together in steps. */
function writeAnswer(
  namespace: string,
  { failures, timeTakenMs }: WriteResult,
  { binary, counted }: WriteAnswerForm,
): Answer {
  const context = writeContext(namespace, timeTakenMs);
  const small = failures.length <= STEP_FAILURES;
  return {
    // Parts of a message, one behind another, are the message. The context is the last one: an
    // answer that has it lacks none of the failures.
    binary: () => {
      const parts = (some: readonly EventFailure[]): Buffer => binary({ failures: [...some] });
      return inSteps(joined(failures, parts, [binary(counted)], contextField(context)), small);
    },
    json: () => {
      const head = Buffer.from(`${JSON.stringify(counted).slice(0, -1)},"failures":[`);
      const tail = Buffer.from(`],"responseContext":[${contextJson(context)}]}`);
      return inSteps(joined(failures, failuresJson, [head], tail), small);
    },
  };
}

function* joined(
  failures: readonly EventFailure[],
  put: (some: readonly EventFailure[], first: boolean) => Buffer,
  parts: Buffer[],
  tail: Buffer,
): Generator<void, Buffer> {
  for (let at = 0; at < failures.length; at += STEP_FAILURES) {
    if (at > 0) yield;
    parts.push(put(failures.slice(at, at + STEP_FAILURES), at === 0));
  }
  parts.push(tail);
  return Buffer.concat(parts);
}

function failuresJson(failures: readonly EventFailure[], first: boolean): Buffer {
  const texts = failures.map(
    ({ index, code, message }) =>
      `{"index":${index},"code":"${code}","message":${JSON.stringify(message)}}`,
  );
  return Buffer.from(`${first ? "" : ","}${texts.join(",")}`);
}
