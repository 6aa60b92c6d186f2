/** The span of a call: what it was, and how it ended. */
import { CODES } from "../lib/errors.ts";
import type { Span, Tracer } from "../lib/tracer.ts";
import type { Outcome } from "./error-map.ts";
import { pathOf } from "./methods/method.ts";
import type { Method } from "./methods/method.ts";
import type { Exchange } from "./transport/exchange.ts";

/** From here on the server failed, not the caller. */
const SERVER_ERROR = 500;

/** Undefined if there is no tracer, or the caller's trace is not sampled. */
export function beginSpan(
  tracer: Tracer | undefined,
  { headers, httpVersion }: Exchange,
  method: Method,
  requestId: string,
): Span | undefined {
  if (tracer === undefined) return undefined;
  const { traceparent, tracestate } = headers;
  return tracer.root(
    pathOf(method).slice(1),
    "SERVER",
    {
      "rpc.service": method.desc.parent.typeName,
      "rpc.method": method.desc.name,
      "network.protocol.version": String(httpVersion),
      "braid.request_id": requestId,
    },
    { traceparent: textOf(traceparent), tracestate: textOf(tracestate) },
  );
}

/** A refusal is not an error of the server: it is in `braid.outcome`. */
export function endSpan(span: Span | undefined, outcome: Outcome, namespace: string): void {
  if (span === undefined) return;
  span.set({
    "braid.outcome": outcome,
    "braid.namespace": namespace === "" ? undefined : namespace,
  });
  const failed = outcome !== "OK" && outcome !== "CANCELLED" && CODES[outcome].http >= SERVER_ERROR;
  span.end(failed ? outcome : undefined);
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined;
}
