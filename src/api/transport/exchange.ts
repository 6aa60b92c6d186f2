/**
 * One request and its answer, over HTTP/1.1 or HTTP/2: what the protocols above need of either.
 *
 * Nothing here throws when the peer has left: what is sent then goes nowhere. An answer leaves in slices, so
 * that the server sees whether the peer takes any of it; `stalledMs` says for how long it has not.
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
  readonly headers: IncomingHttpHeaders;
  readonly connection: Connection;
  /** The request's body. */
  readonly body: Readable;
  /** Sends the head of an answer that follows. */
  begin(status: number, headers: OutgoingHttpHeaders): void;
  /** Resolves when the transport has taken all of it; rejects with PeerGone if the peer leaves first. */
  send(bytes: Uint8Array): Promise<void>;
  /** Ends an answer that was begun. Trailers reach the peer over HTTP/2 only. */
  end(trailers?: OutgoingHttpHeaders): void;
  /** A whole answer. */
  answer(status: number, headers: OutgoingHttpHeaders, body: Uint8Array | string): void;
  /** Ends request and answer at once, without a word. */
  cut(): void;
  /** For how long bytes of the answer have been waiting without the peer taking any. */
  readonly stalledMs: number;
  /** Calls back once, when nothing of request and answer is held any more. */
  onClosed(listener: (complete: boolean) => void): void;
}

/** The peer left before it had its answer. */
export class PeerGone extends Error {
  constructor() {
    super("the peer has left");
    this.name = "PeerGone";
  }
}

/**
 * What is handed to the socket at a time. Small enough that a slow peer is told from one that takes nothing;
 * large enough that a page of megabytes costs little more than in one piece.
 */
const SLICE_BYTES = 64 * 1024;

/** How long a request that was answered before it had come may still come. */
export const UNREAD_MS = 5_000;

/** Writes an answer's bytes in slices and notes when the peer last took one. */
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

  /** The last of an answer: what is left of it waits until the exchange is closed. */
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
      // A write whose stream is destroyed under it may never call back.
      const left = (): void => settle(true);
      to.once("close", left);
      to.write(bytes, (error) => settle(error !== null && error !== undefined));
    });
  }
}
