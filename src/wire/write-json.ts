/**
 * Parses a JSON write request in place: finds the events in its bytes and parses them one by one,
 * so that a large request never blocks the event loop (rule C27).
 */
import { isUtf8 } from "node:buffer";
import { ServiceError } from "../lib/errors.ts";
import { inSteps } from "../lib/in-steps.ts";
import { Problems } from "../lib/problems.ts";
import { EventEncoder } from "./encode-json-event.ts";
import type { EventBytes } from "./event-record.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  JsonWalk,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json-walk.ts";
import type { EventProblem } from "./validate-event.ts";
import type { EventLimits } from "./event-limits.ts";
import { STEP_BYTES, tooManyEvents } from "./write-request.ts";
import type { WriteBatch } from "./write-request.ts";

/** More values than an event with all its items has. */
const VALUES_PER_EVENT = 1_024;

/**
 * A body that is not JSON, or not a write request, is REQUEST_INVALID, with all its problems and
 * with `problems`, those of the headers.
 */
export function parseWriteJson(
  body: Buffer,
  limits: EventLimits,
  problems = new Problems(),
): WriteBatch | Promise<WriteBatch> {
  if (!isUtf8(body)) throw new ServiceError("REQUEST_INVALID", "the body is not valid UTF-8");
  return inSteps(new WriteJson(body, limits, problems).parse(), body.length <= STEP_BYTES);
}

class WriteJson {
  readonly #body: Buffer;
  readonly #walk: JsonWalk;
  readonly #limits: EventLimits;
  readonly #problems: Problems;
  readonly #events: (EventBytes | EventProblem)[] = [];
  #namespace: unknown;

  constructor(body: Buffer, limits: EventLimits, problems: Problems) {
    this.#body = body;
    this.#limits = limits;
    this.#problems = problems;
    this.#walk = new JsonWalk(body, limits.requestEventsMax * VALUES_PER_EVENT);
  }

  *parse(): Generator<void, WriteBatch> {
    const walk = this.#walk;
    if (walk.peek() !== -1) {
      if (!walk.take(OPEN_BRACE)) throw notAnObject();
      const seen = new Set<string>();
      for (let more = !walk.take(CLOSE_BRACE); more; more = this.#separated(CLOSE_BRACE)) {
        const key = this.#key();
        if (seen.has(key)) this.#problems.add(`${key} is given twice; keep one`);
        seen.add(key);
        if (key === "events") yield* this.#takeEvents();
        else if (key === "namespace") this.#namespace = this.#value();
        else {
          this.#value();
          this.#problems.add(
            `unknown field ${JSON.stringify(key.slice(0, 40))}; known are namespace, events`,
          );
        }
      }
      if (walk.peek() !== -1) throw notJson("the body continues behind the object");
    }
    return this.#batch();
  }

  #batch(): WriteBatch {
    const namespace = this.#namespace ?? "";
    if (typeof namespace !== "string") this.#problems.add("namespace must be a string");
    else if (namespace === "") this.#problems.add("namespace is missing");
    this.#problems.throwIfAny("REQUEST_INVALID");
    return {
      namespace: typeof namespace === "string" ? namespace : "",
      events: this.#events,
      bytes: this.#body.length,
    };
  }

  *#takeEvents(): Generator<void, void> {
    const walk = this.#walk;
    if (walk.peek() !== OPEN_BRACKET) {
      if (this.#value() !== null) this.#problems.add("events must be an array");
      return;
    }
    walk.at++;
    const { requestEventsMax } = this.#limits;
    // Encoded events are never longer: a field name in JSON is longer than its tag and length in
    // protobuf.
    const encoder = new EventEncoder(this.#body.length, this.#limits, this.#problems);
    let pauseAt = walk.at + STEP_BYTES;
    for (let more = !walk.take(CLOSE_BRACKET); more; more = this.#separated(CLOSE_BRACKET)) {
      if (this.#events.length === requestEventsMax) throw tooManyEvents(this.#limits);
      const before = walk.members;
      const event = this.#value();
      this.#events.push(encoder.encode(event, this.#events.length, walk.members - before));
      if (walk.at < pauseAt) continue;
      pauseAt = walk.at + STEP_BYTES;
      yield;
    }
  }

  /** Between two members or elements: true if another follows, false at the end. */
  #separated(end: number): boolean {
    if (this.#walk.take(COMMA)) return true;
    if (this.#walk.take(end)) return false;
    throw notJson(`a comma is missing at byte ${this.#walk.at}`);
  }

  #key(): string {
    if (this.#walk.peek() !== QUOTE) {
      throw notJson(`the name of a field is missing at byte ${this.#walk.at}`);
    }
    const key = String(this.#value());
    if (!this.#walk.take(COLON)) throw notJson(`a colon is missing at byte ${this.#walk.at}`);
    return key;
  }

  #value(): unknown {
    const walk = this.#walk;
    walk.peek();
    const start = walk.at;
    walk.skipValue();
    const text = this.#body.toString("utf8", start, walk.at);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message.slice(0, 200) : "";
      throw notJson(`${problem} (at byte ${start})`, cause);
    }
  }
}

function notAnObject(): ServiceError {
  return new ServiceError(
    "REQUEST_INVALID",
    "the body must be a JSON object with namespace and events",
  );
}

function notJson(why: string, cause?: unknown): ServiceError {
  return new ServiceError("REQUEST_INVALID", `the body is not JSON: ${why}`, { cause });
}
