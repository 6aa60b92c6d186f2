/**
 * What the client needs from HTTP: to send one request and to read the answer, whole or chunk by
 * chunk. `node-http.ts` and `fetch-http.ts` implement it.
 */
import { BraidError } from "./braid-error.ts";
import type { CallSignal } from "./call-signal.ts";

export interface HttpRequest {
  /** Below the server's address, without a slash in front. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface HttpAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** All of the body, in memory of its own. Rejects if it has more than `bytesMax`. */
  body(bytesMax: number): Promise<Uint8Array>;
  /**
   * The body as it arrives; the next chunk is asked for when the loop asks for it. Leaving the loop
   * early closes the connection, so that the server stops.
   */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Rejects with the reason of the signal once it has aborted, also while the body is read. */
export type SendHttp = (request: HttpRequest, scope: CallSignal) => Promise<HttpAnswer>;

/** The chunks of a body as one, in memory of its own. */
export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export function tooLong(bytesMax: number): BraidError {
  return new BraidError(
    "ANSWER_INVALID",
    `the answer has more than ${bytesMax} bytes; is this a Braid server of this version?`,
    { outcome: "unknown" },
  );
}
