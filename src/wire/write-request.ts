/**
 * Parses a write request in place: the namespace, and each event, checked and located.
 *
 * Both write requests of the API have the same fields, so one parser serves both.
 */
import { fromUtf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import { inSteps } from "../lib/in-steps.ts";
import { Problems } from "../lib/problems.ts";
import type { EventBytes } from "./event-record.ts";
import { validateEvent } from "./validate-event.ts";
import type { EventProblem } from "./validate-event.ts";
import type { EventLimits } from "./event-limits.ts";
import { VarintReader } from "./varint.ts";

export interface WriteBatch {
  readonly namespace: string;
  /** In the order of the request: an event, or why it is refused. */
  readonly events: readonly (EventBytes | EventProblem)[];
  /** The memory that the request uses. */
  readonly bytes: number;
}

const TAG_NAMESPACE = 0x0a;
const TAG_EVENTS = 0x12;

/** How many bytes are parsed in one step: a few milliseconds of work. */
export const STEP_BYTES = 256 * 1024;

/** Throws REQUEST_INVALID with `problems`, those of the headers, and the request's own. */
export function parseWriteRequest(
  request: Uint8Array,
  limits: EventLimits,
  problems = new Problems(),
): WriteBatch | Promise<WriteBatch> {
  return inSteps(walkRequest(request, limits, problems), request.length <= STEP_BYTES);
}

function* walkRequest(
  request: Uint8Array,
  limits: EventLimits,
  problems: Problems,
): Generator<void, WriteBatch> {
  const reader = new VarintReader();
  const events: (EventBytes | EventProblem)[] = [];
  const end = request.length;
  let namespace = "";
  let pauseAt = STEP_BYTES;
  while (reader.position < end) {
    const tag = reader.read(request, end);
    const length = lengthOf(tag & 7, reader, request);
    const start = reader.position;
    if (tag < 0 || length < 0 || start + length > end) {
      problems.add("the request is not a valid message; see the proto files or /openapi.json");
      problems.throwIfAny("REQUEST_INVALID");
    }
    reader.position = start + length;
    if (start >= pauseAt) {
      pauseAt = start + STEP_BYTES;
      yield;
    }
    if (tag === TAG_EVENTS) {
      if (events.length === limits.requestEventsMax) throw tooManyEvents(limits);
      events.push(validateEvent(request, start, start + length, limits));
    } else if (tag === TAG_NAMESPACE) {
      namespace = namespaceText(request.subarray(start, start + length), problems);
    }
  }
  if (namespace === "") problems.add("namespace is missing", "namespace");
  problems.throwIfAny("REQUEST_INVALID");
  return { namespace, events, bytes: end };
}

/**
 * The bytes a field occupies behind its tag; -1 if there is no such field. Unknown fields are
 * skipped, as protobuf requires.
 */
function lengthOf(wireType: number, reader: VarintReader, request: Uint8Array): number {
  if (wireType === 2) return reader.read(request, request.length);
  if (wireType === 1) return 8;
  if (wireType === 5) return 4;
  if (wireType !== 0) return -1;
  const start = reader.position;
  for (let length = 1; length <= 10; length++) {
    if ((request[start + length - 1] ?? 0x80) < 0x80) return length;
  }
  return -1;
}

/** For every transport of a request. */
export function tooManyEvents(limits: EventLimits): ServiceError {
  return new ServiceError(
    "REQUEST_TOO_LARGE",
    `a request holds at most ${limits.requestEventsMax} events; send them in several`,
    { details: { limit: limits.requestEventsMax } },
  );
}

function namespaceText(bytes: Uint8Array, problems: Problems): string {
  try {
    return fromUtf8(bytes);
  } catch {
    problems.add("namespace is not valid UTF-8", "namespace");
    return "";
  }
}
