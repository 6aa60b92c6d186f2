/**
 * A watch as a program sees it: one endless list of changes. If the connection breaks, the watch says
 * so, waits, and resumes where it was; what it missed follows, or everything if the server does not
 * know that any more.
 */
import { BraidError } from "./braid-error.ts";
import { CallSignal } from "./call-signal.ts";
import { jsonCodec, streamedResults } from "./json-codec.ts";
import type { WatchResponse } from "./generated/messages.ts";
import type { MetricsHistory, WatchQuery } from "./messages.ts";
import { withGaps } from "./metrics.ts";
import { mayRepeat } from "./transport.ts";
import type { Method, Transport } from "./transport.ts";

/** What has changed of one topic, or all of it; without a topic, a sign of life. */
export interface WatchChange extends Omit<WatchResponse, "metrics"> {
  readonly kind: "change";
  readonly metrics?: MetricsHistory;
}

/** The server cannot be reached: what came last may be out of date. */
export interface WatchAway {
  readonly kind: "away";
  readonly error: BraidError;
  /** The next try follows after this time. */
  readonly retryInMs: number;
}

export type WatchUpdate = WatchChange | WatchAway;

/** A server gives a sign of life every 10 s. */
const SILENCE_MS = 30_000;
const DELAY_MS = { first: 250, max: 5_000 } as const;

export async function* watchUpdates(
  transport: Transport,
  method: Method,
  query: WatchQuery & { readonly signal?: AbortSignal | undefined },
): AsyncGenerator<WatchUpdate, void, undefined> {
  const { topics, namespace = "", verifyId = "", series = [], signal } = query;
  let { cursor = "" } = query;
  for (let failures = 0; ; failures++) {
    const scope = new CallSignal(transport.timing, signal);
    let error: BraidError;
    try {
      scope.arm(SILENCE_MS);
      const body = JSON.stringify({ topics, namespace, verifyId, series, cursor });
      const answer = await transport.open(method, jsonCodec, body, scope);
      let ending = "";
      for await (const result of streamedResults(answer)) {
        // The contract fixes the shape of an answer, so it is not checked.
        const { metrics, ...message } = result as WatchResponse;
        ({ cursor, ending } = message);
        failures = 0;
        const history = metrics && { metrics: withGaps(metrics) };
        // The program may take its time with a message.
        scope.disarm();
        yield { kind: "change", ...message, ...history };
        scope.arm(SILENCE_MS);
      }
      error = new BraidError("SERVER_UNREACHABLE", ending || "the stream ended");
    } catch (thrown) {
      error = transport.explain(thrown, signal);
      // Silence passes too, as the client's own deadline.
      if (error.code !== "DEADLINE_EXCEEDED" && !mayRepeat(error, "reads")) throw error;
    } finally {
      scope.end();
    }
    const retryInMs = delayMs(error, failures, transport.timing.fraction());
    yield { kind: "away", error, retryInMs };
    await transport.timing.sleep(retryInMs, signal);
    signal?.throwIfAborted();
  }
}

/** Longer each time, and half of it random: watchers of one server do not return together. */
function delayMs(error: BraidError, failures: number, fraction: number): number {
  const ceiling = Math.min(DELAY_MS.max, DELAY_MS.first * 2 ** Math.min(failures, 10));
  return Math.round((error.retryAfterMs ?? 0) + ceiling * (0.5 + 0.5 * fraction));
}
