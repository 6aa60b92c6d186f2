/**
 * Messages with a prefix of five bytes, flags and length: the framing of gRPC and of Connect's
 * streams.
 */
import { gunzip } from "node:zlib";
import { ServiceError } from "../../lib/errors.ts";
import type { CopiedBytes } from "../methods/method.ts";
import { tooLarge } from "../transport/receive.ts";

export const PREFIX_BYTES = 5;
export const COMPRESSED = 1;

export interface PrefixedMessage {
  readonly flags: number;
  readonly bytes: Buffer;
}

/** Throws as soon as a prefix announces a message that is too large. */
export function peekPrefix(first: Buffer, bytesMax: number): void {
  if (first.length >= PREFIX_BYTES && first.readUInt32BE(1) > bytesMax) throw tooLarge(bytesMax);
}

/**
 * The one message of a unary request. Throws REQUEST_INVALID if there is none, only half of one, or
 * a second.
 */
export function onlyMessage(body: Buffer): PrefixedMessage {
  if (body.length === 0) throw notOne("it has no message");
  const length = body.length < PREFIX_BYTES ? -1 : body.readUInt32BE(1);
  if (length < 0 || body.length < PREFIX_BYTES + length) throw notOne("its message is incomplete");
  if (body.length > PREFIX_BYTES + length) throw notOne("it has more than one message");
  return { flags: body[0] ?? 0, bytes: body.subarray(PREFIX_BYTES) };
}

function notOne(why: string): ServiceError {
  return new ServiceError("REQUEST_INVALID", `the request must be one message: ${why}`);
}

/** A message with its prefix, copied once. */
export function prefixed(message: CopiedBytes, flags = 0): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.byteLength);
  framed[0] = flags;
  framed.writeUInt32BE(message.byteLength, 1);
  message.copy(framed, PREFIX_BYTES);
  return framed;
}

/** Decompresses off the event loop. Rejects with REQUEST_TOO_LARGE beyond `bytesMax`. */
export function unzipped(bytes: Uint8Array, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzip(bytes, { maxOutputLength: Math.max(1, bytesMax) }, (error, result) => {
      if (error === null) resolve(result);
      else if ("code" in error && error.code === "ERR_BUFFER_TOO_LARGE") reject(tooLarge(bytesMax));
      else {
        reject(
          new ServiceError(
            "REQUEST_INVALID",
            "the message is not valid gzip, although its encoding says so",
            {
              cause: error,
            },
          ),
        );
      }
    });
  });
}
