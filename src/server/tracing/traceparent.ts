/** The trace of a caller: the headers of W3C Trace Context. */
import type { TraceHeaders } from "../../lib/tracer.ts";

export interface CallersTrace {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** Passed on as it is. */
  readonly state: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
const SAMPLED = 1;
/** The longest state that the standard asks to pass on. */
const STATE_LENGTH_MAX = 512;

/** Undefined if there is none, or one that the standard says to ignore. */
export function callersTrace({ traceparent, tracestate }: TraceHeaders): CallersTrace | undefined {
  const match = TRACEPARENT.exec(traceparent ?? "");
  if (match === null) return undefined;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = match;
  // Later versions may add fields; this one has none.
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  const usable = tracestate !== undefined && tracestate.length <= STATE_LENGTH_MAX;
  return { traceId, spanId, sampled, state: usable ? tracestate : "" };
}
