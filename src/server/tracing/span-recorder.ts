/**
 * Records spans. Which span work belongs to follows from where it was begun, through everything
 * that it awaits (`AsyncLocalStorage`).
 *
 * A trace has at most `SPANS_MAX` spans here and takes no new ones when its root has ended, so that
 * a long copy or a background task that a request started does not make a trace without an end.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { Micros, Millis } from "../../lib/time-units.ts";
import type { Span, SpanKind, SpanValue, SpanValues, Tracer } from "../../lib/tracer.ts";
import type { TraceHeaders } from "../../lib/tracer.ts";
import { callersTrace } from "./traceparent.ts";
import type { CallersTrace } from "./traceparent.ts";

export interface EndedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the first span of a trace. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMicros: Micros;
  readonly endMicros: Micros;
  readonly values: ReadonlyMap<string, SpanValue>;
  readonly error: string | undefined;
}

export interface SpanRecorderOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly sampled: (traceId: string, caller: CallersTrace | undefined) => boolean;
  readonly ended: (span: EndedSpan) => void;
}

/** Spans of one trace in this process. */
const SPANS_MAX = 1_000;
const TEXT_LENGTH_MAX = 1_000;
const RANDOM_BYTES = 4_096;

/** What the spans of one root share. */
interface Trace {
  readonly traceId: string;
  readonly state: string;
  /** The same moment on both clocks: spans are timed by the second. */
  readonly atMicros: Micros;
  readonly atMs: Millis;
  spans: number;
  /** Spans that were too many. */
  omitted: number;
  over: boolean;
}

export class SpanRecorder implements Tracer {
  readonly #options: SpanRecorderOptions;
  readonly #current = new AsyncLocalStorage<RecordedSpan>();
  #random = Buffer.alloc(0);
  #used = 0;

  constructor(options: SpanRecorderOptions) {
    this.#options = options;
  }

  root(name: string, kind: SpanKind, values: SpanValues, headers?: TraceHeaders): Span | undefined {
    const { clock, sampled } = this.#options;
    const caller = headers === undefined ? undefined : callersTrace(headers);
    const traceId = caller?.traceId ?? this.#id(16);
    if (!sampled(traceId, caller)) return undefined;
    const trace: Trace = {
      traceId,
      state: caller?.state ?? "",
      atMicros: clock.nowMicros(),
      atMs: clock.monotonicMs(),
      spans: 1,
      omitted: 0,
      over: false,
    };
    return this.#begin(trace, caller?.spanId ?? "", true, name, kind, values);
  }

  child(name: string, kind: SpanKind, values: SpanValues): Span | undefined {
    const parent = this.#current.getStore();
    if (parent === undefined || parent.trace.over) return undefined;
    const { trace, spanId } = parent;
    if (trace.spans >= SPANS_MAX) {
      trace.omitted++;
      return undefined;
    }
    trace.spans++;
    return this.#begin(trace, spanId, false, name, kind, values);
  }

  #begin(
    trace: Trace,
    parentId: string,
    isRoot: boolean,
    name: string,
    kind: SpanKind,
    values: SpanValues,
  ): RecordedSpan {
    const { clock, ended } = this.#options;
    const ids = { traceId: trace.traceId, spanId: this.#id(8), parentId, state: trace.state };
    const nowMicros = (): Micros =>
      Math.round(trace.atMicros + (clock.monotonicMs() - trace.atMs) * 1_000);
    const startMicros = nowMicros();
    const end = (kept: Map<string, SpanValue>, error: string | undefined): void => {
      if (isRoot) {
        trace.over = true;
        if (trace.omitted > 0) kept.set("braid.spans_omitted", trace.omitted);
      }
      ended({ ...ids, name, kind, startMicros, endMicros: nowMicros(), values: kept, error });
    };
    const span = new RecordedSpan(trace, ids.spanId, this.#current, end);
    span.set(values);
    return span;
  }

  /** A number of random bytes as text. One request for randomness serves many ids. */
  #id(bytes: number): string {
    if (this.#used + bytes > this.#random.length) {
      this.#random = Buffer.from(this.#options.random.bytes(RANDOM_BYTES));
      this.#used = 0;
    }
    return this.#random.toString("hex", this.#used, (this.#used += bytes));
  }
}

class RecordedSpan implements Span {
  readonly trace: Trace;
  readonly spanId: string;
  readonly #current: AsyncLocalStorage<RecordedSpan>;
  readonly #end: (values: Map<string, SpanValue>, error: string | undefined) => void;
  readonly #values = new Map<string, SpanValue>();
  #ended = false;

  constructor(
    trace: Trace,
    spanId: string,
    current: AsyncLocalStorage<RecordedSpan>,
    end: (values: Map<string, SpanValue>, error: string | undefined) => void,
  ) {
    this.trace = trace;
    this.spanId = spanId;
    this.#current = current;
    this.#end = end;
  }

  set(values: SpanValues): void {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) continue;
      this.#values.set(name, typeof value === "string" ? shortened(value) : value);
    }
  }

  run<T>(work: () => T): T {
    return this.#current.run(this, work);
  }

  end(error?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#end(this.#values, error === undefined ? undefined : shortened(error));
  }
}

function shortened(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}
