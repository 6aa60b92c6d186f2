/**
 * Spans of a trace, as the parts that do the work see them. What records and sends them is loaded
 * only if traces are wanted (`server/tracing/`); without it there is no tracer, and nothing is paid.
 *
 * Spans hold neither time series ids nor payloads, as log lines do not.
 */
export type SpanValue = string | number | boolean;
export type SpanValues = Readonly<Record<string, SpanValue | undefined>>;

/** Whose work a span is: that of a caller of this process, its own, or that of a storage it asks. */
export type SpanKind = "SERVER" | "INTERNAL" | "CLIENT";

export interface Span {
  /** Adds values; undefined ones are left out. */
  set(values: SpanValues): void;
  /** Spans that the work begins, also later and in what it awaits, are children of this one. */
  run<T>(work: () => T): T;
  /** Call it once. `error` says in one line why the work failed. */
  end(error?: string): void;
}

/** The headers in which a caller says of which trace its call is a part (W3C Trace Context). */
export interface TraceHeaders {
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

export interface Tracer {
  /** Begins a trace, or continues the caller's. Undefined if this one is not sampled. */
  root(name: string, kind: SpanKind, values: SpanValues, headers?: TraceHeaders): Span | undefined;
  /** Undefined outside of a sampled trace, and when its root has ended. */
  child(name: string, kind: SpanKind, values: SpanValues): Span | undefined;
}

/** Runs the work as a child of the current span, if there is one. */
export async function inSpan<T>(
  tracer: Tracer | undefined,
  name: string,
  values: SpanValues,
  work: () => Promise<T>,
): Promise<T> {
  const span = tracer?.child(name, "INTERNAL", values);
  return span === undefined ? work() : endWith(span, () => span.run(work));
}

/** Ends the span with the work, and says so if it failed. */
export async function endWith<T>(span: Span, work: () => Promise<T>): Promise<T> {
  let failure: string | undefined;
  try {
    return await work();
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
    throw error;
  } finally {
    span.end(failure);
  }
}
