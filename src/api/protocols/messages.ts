/**
 * Messages with a prefix of five bytes, flags and length: the framing of gRPC and of Connect's
 * streams.
 */
import { ServiceError } from "../../lib/errors.ts";
import type { Call } from "../calls.ts";
import type { CopiedBytes, Method } from "../methods/method.ts";
import { receive, tooLarge } from "../transport/receive.ts";
import { unzipped } from "./gzip.ts";
import type { Encoding } from "./gzip.ts";

export const PREFIX_BYTES = 5;
export const COMPRESSED = 1;

/**
 * Receives the one message of a request, decompressed. `bytesMax` limits what arrives and what it
 * unpacks to.
 */
export async function receiveMessage(
  call: Call,
  { requestBytesMax }: Method,
  encoding: Encoding,
): Promise<Buffer> {
  const body = await receive(call.exchange, {
    clock: call.clock,
    bytesMax: requestBytesMax + PREFIX_BYTES,
    charge: (bytes) => call.take(bytes),
    peek: (first) => peekPrefix(first, requestBytesMax),
    signal: call.signal,
  });
  const { flags, bytes } = onlyMessage(body);
  if (flags === 0) return bytes;
  if (flags !== COMPRESSED) {
    throw new ServiceError("REQUEST_INVALID", `a message of a request cannot have flags ${flags}`);
  }
  if (encoding === "identity") {
    throw new ServiceError(
      "FRAMING_INVALID",
      "the message is compressed, but the headers do not say how",
    );
  }
  return unpacked(call, bytes, requestBytesMax);
}

/** Decompresses a message and charges what comes out. */
export async function unpacked(call: Call, bytes: Buffer, bytesMax: number): Promise<Buffer> {
  const message = await unzipped(bytes, bytesMax);
  call.take(message.length);
  return message;
}

/** Sends one message of a stream, and waits until the transport has taken it. */
export async function sendPage(call: Call, framed: Uint8Array): Promise<void> {
  call.takeAnswer(framed.length);
  await call.exchange.send(framed);
  call.giveAnswer(framed.length);
  call.progressed();
}

interface PrefixedMessage {
  readonly flags: number;
  readonly bytes: Buffer;
}

/** Throws as soon as a prefix announces a message that is too large. */
function peekPrefix(first: Buffer, bytesMax: number): void {
  if (first.length >= PREFIX_BYTES && first.readUInt32BE(1) > bytesMax) throw tooLarge(bytesMax);
}

/**
 * The one message of a request. Throws NOT_SUPPORTED if there is none or a second, and
 * REQUEST_INVALID if there is only half of one.
 */
function onlyMessage(body: Buffer): PrefixedMessage {
  if (body.length === 0) throw notOne("NOT_SUPPORTED", "it has no message");
  const length = body.length < PREFIX_BYTES ? -1 : body.readUInt32BE(1);
  if (length < 0 || body.length < PREFIX_BYTES + length) {
    throw notOne("REQUEST_INVALID", "its message is incomplete");
  }
  if (body.length > PREFIX_BYTES + length) {
    throw notOne("NOT_SUPPORTED", "it has more than one message");
  }
  return { flags: body[0] ?? 0, bytes: body.subarray(PREFIX_BYTES) };
}

function notOne(code: "NOT_SUPPORTED" | "REQUEST_INVALID", why: string): ServiceError {
  return new ServiceError(code, `the request must be one message: ${why}`);
}

/** A message with its prefix, copied once. */
export function prefixed(message: CopiedBytes, flags = 0): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.byteLength);
  framed[0] = flags;
  framed.writeUInt32BE(message.byteLength, 1);
  message.copy(framed, PREFIX_BYTES);
  return framed;
}
