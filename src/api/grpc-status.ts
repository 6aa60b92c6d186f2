/** An error as gRPC tells it: the status, machine-readable details beside it, and our code as a trailer. */
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Metadata } from "@grpc/grpc-js";
import type { StatusObject } from "@grpc/grpc-js";
import { ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { CODES } from "../lib/errors.ts";
import type { ErrorDetails, ServiceError } from "../lib/errors.ts";
import { retryAfterMs } from "./error-map.ts";

export const CODE_TRAILER = "braid-code";
export const REQUEST_ID_HEADER = "braid-request-id";

/** Some clients refuse trailers of more than 8 KiB in all, and base64 adds a third. */
const MESSAGE_MAX = 1_000;
const DETAIL_MAX = 1_000;

export function statusOf(error: ServiceError, requestId: string): StatusObject {
  const code = CODES[error.code].grpc;
  const message = clipped(error.message, MESSAGE_MAX);
  const metadata = trailersOf(requestId);
  metadata.set(CODE_TRAILER, error.code);
  metadata.set("grpc-status-details-bin", Buffer.from(richStatus(error, code, message)));
  return { code, details: message, metadata };
}

export function trailersOf(requestId: string): Metadata {
  const metadata = new Metadata();
  metadata.set(REQUEST_ID_HEADER, requestId);
  return metadata;
}

function richStatus(error: ServiceError, code: number, message: string): Uint8Array {
  const info = create(ErrorInfoSchema, {
    reason: error.code,
    domain: "braid",
    metadata: metadataOf(error.details),
  });
  const details = [anyPack(ErrorInfoSchema, info)];
  const retryMs = retryAfterMs(error);
  if (retryMs !== undefined) {
    const seconds = Math.floor(retryMs / 1000);
    const retryDelay = {
      seconds: BigInt(seconds),
      nanos: Math.round((retryMs - seconds * 1000) * 1e6),
    };
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
}

function metadataOf(details: ErrorDetails): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [key, value] of Object.entries(details)) {
    metadata[key] = clipped(
      typeof value === "object" ? value.join("; ") : String(value),
      DETAIL_MAX,
    );
  }
  return metadata;
}

function clipped(text: string, max: number): string {
  // Half of a surrogate pair at the cut could not be sent.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
