/** An error in gRPC: the status, machine-readable details, and Braid's code as a trailer. */
import type { OutgoingHttpHeaders } from "node:http";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { CODES } from "../../lib/errors.ts";
import type { ErrorDetails, ServiceError } from "../../lib/errors.ts";
import { retryAfterMs } from "../error-map.ts";

export const REQUEST_ID_HEADER = "braid-request-id";
const CODE_TRAILER = "braid-code";

/** Some clients reject trailers of more than 8 KiB in all, and base64 adds a third. */
const MESSAGE_MAX = 1_000;
const DETAIL_MAX = 1_000;

export const CANCELLED: OutgoingHttpHeaders = { "grpc-status": "1", "grpc-message": "cancelled" };

export function okTrailers(requestId: string): OutgoingHttpHeaders {
  return { "grpc-status": "0", [REQUEST_ID_HEADER]: requestId };
}

export function errorTrailers(error: ServiceError, requestId: string): OutgoingHttpHeaders {
  const code = CODES[error.code].grpc;
  const message = clipped(error.message, MESSAGE_MAX);
  const rich = create(StatusSchema, { code, message, details: errorDetails(error) });
  return {
    "grpc-status": String(code),
    "grpc-message": percentEncoded(message),
    "grpc-status-details-bin": unpadded(toBinary(StatusSchema, rich)),
    [CODE_TRAILER]: error.code,
    [REQUEST_ID_HEADER]: requestId,
  };
}

/** `ErrorInfo` with Braid's code, and `RetryInfo` if a retry may help. */
function errorDetails(error: ServiceError): Any[] {
  const info = create(ErrorInfoSchema, {
    reason: error.code,
    domain: "braid",
    metadata: metadataOf(error.details),
  });
  const details = [anyPack(ErrorInfoSchema, info)];
  const retryMs = retryAfterMs(error);
  if (retryMs !== undefined) {
    const seconds = Math.floor(retryMs / 1000);
    const nanos = Math.round((retryMs - seconds * 1000) * 1e6);
    const retry = create(RetryInfoSchema, { retryDelay: { seconds: BigInt(seconds), nanos } });
    details.push(anyPack(RetryInfoSchema, retry));
  }
  return details;
}

/** gRPC requires percent-encoding of everything but printable ASCII, as UTF-8. */
function percentEncoded(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\x20-\x24\x26-\x7e]+/g, (match) =>
      Buffer.from(match).reduce(
        (all, byte) => `${all}%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
        "",
      ),
    );
}

/** The base64 of a `-bin` header. */
function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}

function metadataOf(details: ErrorDetails): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [key, value] of Object.entries(details)) {
    const text = typeof value === "object" ? value.join("; ") : String(value);
    metadata[key] = clipped(text, DETAIL_MAX);
  }
  return metadata;
}

function clipped(text: string, max: number): string {
  // The cut must not leave half of a surrogate pair, which cannot be sent.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
