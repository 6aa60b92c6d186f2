/**
 * Health and reflection over gRPC: streams of small messages in both directions, bounded in size, number and time. They
 * need no place among the calls, so that health answers a server that is full.
 */
import { ServiceError } from "../../lib/errors.ts";
import { PeerGone } from "../transport/exchange.ts";
import type { Exchange } from "../transport/exchange.ts";
import { CANCELLED, errorTrailers } from "./grpc-status.ts";
import { PREFIX_BYTES, prefixed } from "./messages.ts";

/** Rejects with a ServiceError, or because a message cannot be decoded. */
export type BuiltInMethod = (
  messages: AsyncIterable<Buffer>,
  signal: AbortSignal,
) => AsyncIterable<Uint8Array>;

const HEAD = { "content-type": "application/grpc+proto" };
const MESSAGE_BYTES_MAX = 4 * 1024;
/** In one stream; a caller that wants more begins another. */
const MESSAGES_MAX = 1_000;
/** Of all connections together: `Watch` is open for as long as its caller likes. */
const OPEN_MAX = 256;

export class BuiltInMethods {
  readonly #methods: ReadonlyMap<string, BuiltInMethod>;
  #open = 0;

  constructor(...methods: readonly ReadonlyMap<string, BuiltInMethod>[]) {
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
    this.#open++;
    try {
      if (method === undefined)
        throw new ServiceError("METHOD_NOT_FOUND", "there is no such method");
      if (this.#open > OPEN_MAX)
        throw new ServiceError("OVERLOADED", "too many such calls are open");
      for await (const message of method(messagesOf(exchange), left.signal)) {
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
    } finally {
      this.#open--;
    }
  }
}

function understoodError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("REQUEST_INVALID", "the message cannot be read", { cause: error });
}

async function* messagesOf(exchange: Exchange): AsyncGenerator<Buffer, void, undefined> {
  let held: Buffer = Buffer.alloc(0);
  let count = 0;
  // One message may be all that is wanted; the answer still has to leave by the same stream.
  const chunks: AsyncIterable<Buffer> = exchange.body.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= PREFIX_BYTES) {
      const length = held.readUInt32BE(1);
      if (length > MESSAGE_BYTES_MAX || held[0] !== 0) {
        throw new ServiceError("REQUEST_INVALID", "the message is too large, or compressed");
      }
      if (held.length < PREFIX_BYTES + length) break;
      if (++count > MESSAGES_MAX) throw new ServiceError("OVERLOADED", "begin another stream");
      yield held.subarray(PREFIX_BYTES, PREFIX_BYTES + length);
      held = held.subarray(PREFIX_BYTES + length);
    }
  }
  if (held.length > 0) throw new ServiceError("REQUEST_INVALID", "the last message is cut short");
}
