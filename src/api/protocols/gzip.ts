/** Compression of messages, off the event loop and with a limit on what comes out. */
import { gunzip, gzip } from "node:zlib";
import { ServiceError } from "../../lib/errors.ts";
import { tooLarge } from "../transport/receive.ts";

/** What the server understands and sends, as `accept-encoding` and its relatives say it. */
export const ENCODINGS = "identity,gzip";

/** A smaller message gains less than a packet. */
const ZIPPED_BYTES_MIN = 1_024;
/** The fastest. On a page of 1,000 events, level 6 takes twice the time to save a tenth more. */
const LEVEL = 1;

export type Encoding = "identity" | "gzip";

/** Throws NOT_SUPPORTED for an encoding that the server does not understand. */
export function encodingOf(header: string | string[] | undefined, name: string): Encoding {
  const given = header ?? "identity";
  if (given === "identity" || given === "gzip") return given;
  throw new ServiceError(
    "NOT_SUPPORTED",
    `${name} ${JSON.stringify(String(given).slice(0, 40))} is not supported; use identity or gzip`,
  );
}

/** Whether a list such as `br;q=0.5, gzip` accepts gzip. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  return String(header)
    .split(",")
    .some((each) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|;(?!\s*q=)|$)/i.test(each));
}

/** Rejects with REQUEST_TOO_LARGE beyond `bytesMax`. */
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
            { cause: error },
          ),
        );
      }
    });
  });
}

/** Returns undefined if compression does not make the message smaller. */
export function zipped(bytes: Uint8Array): Promise<Buffer | undefined> {
  if (bytes.length < ZIPPED_BYTES_MIN) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    gzip(bytes, { level: LEVEL }, (error, result) => {
      if (error !== null) reject(error);
      else resolve(result.length < bytes.length ? result : undefined);
    });
  });
}
