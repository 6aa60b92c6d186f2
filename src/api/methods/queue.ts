/** The methods on the queue of detections and its dead letters. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import type {
  DeadDetectionSchema,
  DeadDetectionsAnswerSchema,
  QueueStatusSchema,
} from "../../gen/braid/v1/queue_pb.js";
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import type { Problems } from "../../lib/problems.ts";
import type { DeadPosition } from "../../ports/work-queue.ts";
import { pageSizeOf } from "../../namespaces/control-pages.ts";
import { positionOf, positionText } from "../../splits/detect/dead-detections.ts";
import type {
  DeadDetection,
  DeadDetections,
  QueueReport,
  SettledAnswer,
} from "../../splits/detect/dead-detections.ts";
import type { OperatorRequest } from "../../splits/use-cases.ts";
import type { Caller } from "../caller.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { operatorRequestOf } from "./operator-request.ts";
import { pageIn } from "./request-fields.ts";
import { durationOfMicros, timeOfMicros } from "./times.ts";

export interface QueueUseCases {
  /** The interface of `DeadDetections`. */
  readonly detections: Pick<DeadDetections, "queue" | "list" | "replay" | "drop">;
  /** embedded or kafka. */
  readonly kind: string;
  /** The name of this process. */
  readonly process: string;
}

const POSITIONS_MAX = 100;
const VALUE_BYTES_SHOWN = 4_096;

export function queueMethods({ detections, kind, process }: QueueUseCases): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.getQueue,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: () => undefined,
      handle: async () => ({
        queue: kind,
        process,
        ...statusMessage(await detections.queue()),
      }),
    }),
    messageMethod({
      desc: service.listDeadDetections,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: (request, problems) => ({
        wanted: pageIn(request, problems),
        from: tokenIn(request.pageToken, problems),
      }),
      handle: async ({ wanted, from }) => {
        const { letters, next, actions } = await detections.list(from, pageSizeOf(wanted));
        return {
          deadDetections: letters.map(letterMessage),
          nextPageToken: next === undefined ? "" : tokenOf(next),
          actions: actions.map(({ at, by, action, letters: count, reason }) => {
            return { time: timeOfMicros(at), by, action, count: BigInt(count), reason };
          }),
        };
      },
    }),
    messageMethod({
      desc: service.replayDeadDetections,
      changes: true,
      namespaceOf: () => "",
      argumentsOf: settleArguments,
      handle: async ({ positions, operatorRequest }) =>
        answerMessage(await detections.replay(positions, operatorRequest)),
    }),
    messageMethod({
      desc: service.dropDeadDetections,
      changes: true,
      namespaceOf: () => "",
      argumentsOf: (request, problems, caller) => {
        if (request.reason.trim() === "") {
          problems.add("reason is missing: say why they can be dropped", "reason");
        }
        return settleArguments(request, problems, caller);
      },
      handle: async ({ positions, operatorRequest }) =>
        answerMessage(await detections.drop(positions, operatorRequest)),
    }),
  ];
}

function settleArguments(
  request: {
    readonly positions: readonly string[];
    readonly all: boolean;
    readonly reason: string;
  },
  problems: Problems,
  caller: Caller,
): {
  readonly positions: readonly DeadPosition[] | "all";
  readonly operatorRequest: OperatorRequest;
} {
  const { positions, all, reason } = request;
  const operatorRequest = operatorRequestOf(reason, caller, problems);
  if (all === positions.length > 0) {
    problems.add("give positions, or all, but not both", "positions");
  }
  if (positions.length > POSITIONS_MAX) {
    problems.add(`positions has ${positions.length}, the limit is ${POSITIONS_MAX}`, "positions");
  }
  if (all) return { positions: "all", operatorRequest };
  const found: DeadPosition[] = [];
  for (const text of new Set(positions.slice(0, POSITIONS_MAX))) {
    const position = positionOf(text);
    if (position === undefined) {
      const shown = JSON.stringify(text.slice(0, 40));
      problems.add(`${shown} is not a position such as "0:17"`, "positions");
    } else {
      found.push(position);
    }
  }
  return { positions: found, operatorRequest };
}

function statusMessage(report: QueueReport): MessageInitShape<typeof QueueStatusSchema> {
  const { partitions, inFlight, buffered, deadLetters, rates } = report;
  const oldest = partitions.flatMap(({ oldestAt }) => (oldestAt === undefined ? [] : [oldestAt]));
  return {
    waiting: BigInt(partitions.reduce((sum, { waiting }) => sum + waiting, 0)),
    ...(oldest.length > 0 && { oldestTime: timeOfMicros(Math.min(...oldest)) }),
    ...(rates && {
      publishedPerSecond: rates.published,
      handledPerSecond: rates.done,
      rateOver: durationOfMicros(Math.round(rates.overMs * 1000)),
    }),
    inFlight: BigInt(inFlight),
    buffered: BigInt(buffered),
    partitions: partitions.map(({ topic, partition, waiting, oldestAt }) => ({
      topic,
      partition,
      waiting: BigInt(waiting),
      ...(oldestAt !== undefined && { oldestTime: timeOfMicros(oldestAt) }),
    })),
    deadLetters: BigInt(deadLetters),
  };
}

function letterMessage(letter: DeadDetection): MessageInitShape<typeof DeadDetectionSchema> {
  const { why, at, key, value, valueBytes, origin, detection } = letter;
  return {
    position: positionText(letter),
    reason: why,
    time: timeOfMicros(at),
    key,
    value: Uint8Array.from(value.subarray(0, VALUE_BYTES_SHOWN)),
    valueBytes: BigInt(valueBytes),
    kept: value.length === valueBytes,
    origin,
    ...(detection && {
      detection: {
        namespace: detection.namespace,
        partition: {
          timeSlice: detection.timeSlice,
          timeSeriesId: detection.timeSeriesId,
          timeBucket: detection.timeBucket,
          eventBucket: detection.eventBucket,
        },
        immutable: detection.immutable,
        epoch: BigInt(detection.epoch),
        bytes: BigInt(detection.bytes),
        events: BigInt(detection.events),
        detectTime: timeOfMicros(detection.detectedAt),
      },
    }),
  };
}

function answerMessage(answer: SettledAnswer): MessageInitShape<typeof DeadDetectionsAnswerSchema> {
  return {
    count: BigInt(answer.letters),
    missing: answer.missing.map(positionText),
    notKept: answer.notKept.map(positionText),
    more: answer.more,
  };
}

function tokenOf(position: DeadPosition): string {
  return Buffer.from(utf8(positionText(position))).toString("base64url");
}

function tokenIn(token: string, problems: Problems): DeadPosition {
  const first = { partition: 0, offset: 0 };
  if (token === "") return first;
  let position: DeadPosition | undefined;
  try {
    position = positionOf(fromUtf8(Buffer.from(token, "base64url")));
  } catch {
    // Not UTF-8: not a token of this server, as below.
  }
  if (position === undefined)
    problems.add("pageToken is not one this server gave out", "pageToken");
  return position ?? first;
}
