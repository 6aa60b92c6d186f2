/**
 * Receives the body of a request. Charges its chunks as they arrive, refuses it as soon as it is
 * too large, and gives up when it takes too long.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { PeerGone } from "./exchange.ts";
import type { Exchange } from "./exchange.ts";
import { RECEIVE_MS } from "./limits.ts";

export interface ReceiveOptions {
  readonly clock: Clock;
  readonly bytesMax: number;
  /** Called for each chunk before it is kept. Throws OVERLOADED if there is no room for it. */
  readonly charge: (bytes: number) => void;
  /** Inspects what has arrived so far. Throws if the rest need not be received. */
  readonly peek?: (first: Buffer) => void;
  readonly signal: AbortSignal;
}

/** Rejects with PeerGone if the peer leaves, otherwise with a ServiceError. Stops reading then. */
export function receive(exchange: Exchange, options: ReceiveOptions): Promise<Buffer> {
  const { clock, bytesMax, charge, peek, signal } = options;
  const declared = Number(exchange.headers["content-length"] ?? 0);
  if (declared > bytesMax) return Promise.reject(tooLarge(bytesMax));
  exchange.acceptBody();
  return new Promise((resolve, reject) => {
    const { body } = exchange;
    const chunks: Buffer[] = [];
    let length = 0;
    let done = false;
    const finish = (settle: () => void): void => {
      if (done) return;
      done = true;
      stopTimer();
      body.off("data", onData).off("end", onEnd).off("close", onClose);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: Error): void => {
      finish(() => {
        body.pause();
        reject(error);
      });
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      try {
        if (length > bytesMax) throw tooLarge(bytesMax);
        charge(chunk.length);
        chunks.push(chunk);
        if (peek !== undefined) peek(chunks[0] as Buffer);
      } catch (error) {
        // Only errors are thrown there.
        fail(error as Error);
      }
    };
    const onEnd = (): void => {
      finish(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    };
    const onClose = (): void => fail(new PeerGone());
    const onAbort = (): void => fail(signal.reason as Error);
    const stopTimer = clock.after(RECEIVE_MS, () =>
      fail(
        new ServiceError(
          "DEADLINE_EXCEEDED",
          `the request did not arrive within ${RECEIVE_MS / 1000} s; send it faster, or in several`,
        ),
      ),
    );
    body.on("data", onData).once("end", onEnd).once("close", onClose);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else if (body.destroyed) onClose();
  });
}

export function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError(
    "REQUEST_TOO_LARGE",
    `the request is larger than ${bytesMax} bytes; send it in several`,
    { details: { limit: bytesMax } },
  );
}
