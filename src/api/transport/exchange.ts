/**
 * One request and its answer, over HTTP/1.1 or HTTP/2: what the protocols need of either.
 *
 * Nothing here throws when the peer has left: what is sent then is discarded. An answer leaves in
 * slices, so that the server sees whether the peer takes any of it; `stalledMs` says how long it
 * has taken none.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import type { Connection } from "./connection.ts";

export interface Exchange {
  readonly httpVersion: 1 | 2;
  readonly verb: string;
  /** Without the query. */
  readonly path: string;
  /** What follows the question mark; "" if there is none. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: Connection;
  /** The request's body. */
  readonly body: Readable;
  /** Tells a peer that waits for it (`Expect: 100-continue`) to send the body. */
  acceptBody(): void;
  /** Sends the head of an answer; its body follows. */
  begin(status: number, headers: OutgoingHttpHeaders): void;
  /**
   * Resolves when the transport has taken all bytes. Rejects with PeerGone if the peer leaves
   * first.
   */
  send(bytes: Uint8Array): Promise<void>;
  /** Ends an answer. Trailers reach the peer over HTTP/2 only. */
  end(trailers?: OutgoingHttpHeaders): void;
  /** Sends a whole answer. */
  answer(status: number, headers: OutgoingHttpHeaders, body: Uint8Array | string): void;
  /** Ends request and answer at once, without an error message. */
  cut(): void;
  /** How long bytes of the answer have waited without the peer taking any. */
  readonly stalledMs: number;
  /** Calls back once, when no bytes of request and answer are held any more. */
  onClosed(listener: (complete: boolean) => void): void;
}

/** Divides what a request asks for into path and query. */
export function splitTarget(target: string): { path: string; query: string } {
  const at = target.indexOf("?");
  return at < 0
    ? { path: target, query: "" }
    : { path: target.slice(0, at), query: target.slice(at + 1) };
}

/** The peer left before it had its answer. */
export class PeerGone extends Error {
  constructor() {
    super("the peer has left");
    this.name = "PeerGone";
  }
}

/**
 * The bytes handed to the socket at a time. Small enough to distinguish a slow peer from one that
 * takes nothing; large enough that a page of megabytes costs little more than in a single write.
 */
const SLICE_BYTES = 64 * 1024;

/** Writes an answer's bytes in slices and records when the peer last took one. */
export class SlicedWriter {
  readonly #to: Writable;
  readonly #clock: Clock;
  #waitingSinceMs: number | undefined;

  constructor(to: Writable, clock: Clock) {
    this.#to = to;
    this.#clock = clock;
  }

  get stalledMs(): number {
    return this.#waitingSinceMs === undefined
      ? 0
      : this.#clock.monotonicMs() - this.#waitingSinceMs;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      await this.#slice(bytes.subarray(at, at + SLICE_BYTES));
    }
  }

  /** The end of an answer: the remaining bytes wait until the exchange is closed. */
  ending(): void {
    this.#waitingSinceMs = this.#clock.monotonicMs();
  }

  #slice(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      const to = this.#to;
      if (to.destroyed || to.writableEnded) {
        reject(new PeerGone());
        return;
      }
      this.#waitingSinceMs = this.#clock.monotonicMs();
      let settled = false;
      const settle = (gone: boolean): void => {
        if (settled) return;
        settled = true;
        to.off("close", left);
        this.#waitingSinceMs = undefined;
        if (gone) reject(new PeerGone());
        else resolve();
      };
      // A write to a stream that is destroyed meanwhile may never call back.
      const left = (): void => settle(true);
      to.once("close", left);
      to.write(bytes, (error) => settle(error !== null && error !== undefined));
    });
  }
}
