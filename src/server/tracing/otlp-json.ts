/** Spans as the receivers of OpenTelemetry understand them: OTLP in its JSON form. */
import type { SpanKind, SpanValue } from "../../lib/tracer.ts";
import type { EndedSpan } from "./span-recorder.ts";

const KINDS: Readonly<Record<SpanKind, number>> = { INTERNAL: 1, SERVER: 2, CLIENT: 3 };
const ERROR = 2;

export function otlpJson(
  resource: Readonly<Record<string, string>>,
  version: string,
  spans: readonly EndedSpan[],
): string {
  const scopeSpans = [{ scope: { name: "braid", version }, spans: spans.map(spanOf) }];
  const described = { attributes: attributesOf(Object.entries(resource)) };
  return JSON.stringify({ resourceSpans: [{ resource: described, scopeSpans }] });
}

function spanOf(span: EndedSpan): object {
  const { traceId, spanId, parentId, state, name, kind, values, error } = span;
  return {
    traceId,
    spanId,
    ...(parentId !== "" && { parentSpanId: parentId }),
    ...(state !== "" && { traceState: state }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanos(span.startMicros),
    endTimeUnixNano: nanos(span.endMicros),
    attributes: attributesOf(values),
    status: error === undefined ? {} : { code: ERROR, message: error },
  };
}

/** As text: a number does not hold that many digits. */
function nanos(micros: number): string {
  return `${micros}000`;
}

function attributesOf(values: Iterable<readonly [string, SpanValue]>): object[] {
  return Array.from(values, ([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: SpanValue): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
