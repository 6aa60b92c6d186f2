/**
 * Health and reflection over gRPC: streams of small messages in both directions, bounded in size,
 * number and time. They need no slot, so that a full server still answers health checks; `Calls`
 * bounds how many are open.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { PeerGone } from "../transport/exchange.ts";
import type { Exchange } from "../transport/exchange.ts";
import { CANCELLED, errorTrailers } from "./grpc-status.ts";
import { PREFIX_BYTES, prefixed } from "./messages.ts";

/** Rejects with a ServiceError, or if a message cannot be decoded. */
export type BuiltInMethod = (
  messages: AsyncIterable<Buffer>,
  signal: AbortSignal,
) => AsyncIterable<Uint8Array>;

const HEAD = { "content-type": "application/grpc+proto" };
const MESSAGE_BYTES_MAX = 4 * 1024;
/** Messages in one stream; a caller that needs more starts another. */
const MESSAGES_MAX = 1_000;
/** Time for the first message to arrive. */
const FIRST_MESSAGE_MS = 10_000;

export class BuiltInMethods {
  readonly #methods: ReadonlyMap<string, BuiltInMethod>;
  readonly #clock: Clock;

  constructor(clock: Clock, ...methods: readonly ReadonlyMap<string, BuiltInMethod>[]) {
    this.#clock = clock;
    this.#methods = new Map(methods.flatMap((each) => [...each]));
  }

  has(path: string): boolean {
    return this.#methods.has(path);
  }

  /** Never rejects. */
  async answer(exchange: Exchange): Promise<void> {
    const method = this.#methods.get(exchange.path);
    const left = new AbortController();
    exchange.onClosed(() => left.abort(new PeerGone()));
    let begun = false;
    const stopTimer = this.#clock.after(FIRST_MESSAGE_MS, () => exchange.cut());
    exchange.onClosed(stopTimer);
    try {
      if (method === undefined)
        throw new ServiceError("METHOD_NOT_FOUND", "this method does not exist");
      for await (const message of method(messagesOf(exchange, stopTimer), left.signal)) {
        if (!begun) exchange.begin(200, HEAD);
        begun = true;
        await exchange.send(prefixed(Buffer.from(message)));
      }
      if (!begun) exchange.begin(200, HEAD);
      exchange.end({ "grpc-status": "0" });
    } catch (error) {
      const trailers =
        error instanceof PeerGone ? CANCELLED : errorTrailers(understoodError(error), "");
      if (begun) exchange.end(trailers);
      else exchange.answer(200, { ...HEAD, ...trailers }, "");
    }
  }
}

function understoodError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("REQUEST_INVALID", "the message cannot be decoded", { cause: error });
}

async function* messagesOf(
  exchange: Exchange,
  arrived: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const message of eachMessage(exchange)) {
      arrived();
      yield message;
    }
    arrived();
  } finally {
    // What follows is discarded, not held.
    exchange.body.resume();
  }
}

async function* eachMessage(exchange: Exchange): AsyncGenerator<Buffer, void, undefined> {
  let held: Buffer = Buffer.alloc(0);
  let count = 0;
  // The caller may want only one message; the answer still leaves by the same stream.
  const chunks: AsyncIterable<Buffer> = exchange.body.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= PREFIX_BYTES) {
      const length = held.readUInt32BE(1);
      if (length > MESSAGE_BYTES_MAX || held[0] !== 0) {
        throw new ServiceError("REQUEST_INVALID", "the message is too large or compressed");
      }
      if (held.length < PREFIX_BYTES + length) break;
      if (++count > MESSAGES_MAX)
        throw new ServiceError(
          "OVERLOADED",
          "this stream has carried too many messages; start another",
        );
      yield held.subarray(PREFIX_BYTES, PREFIX_BYTES + length);
      held = held.subarray(PREFIX_BYTES + length);
    }
  }
  if (held.length > 0) throw new ServiceError("REQUEST_INVALID", "the last message is incomplete");
}
