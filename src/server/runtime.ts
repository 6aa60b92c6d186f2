/** What a process takes from outside; the simulator passes its own. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Random } from "../lib/random.ts";
import type { Tracer } from "../lib/tracer.ts";

/** What became of spans that ended: dropped if too many waited, failed if nobody took them. */
export const SPAN_RESULTS = ["sent", "dropped", "failed"] as const;
export type SpanResult = (typeof SPAN_RESULTS)[number];

/** Traces of this process, if its environment asks for them. */
export interface Tracing {
  readonly tracer: Tracer;
  /** How many spans so far. */
  spans(): Readonly<Record<SpanResult, number>>;
  /** Sends spans until the signal aborts, and what is left. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
}
