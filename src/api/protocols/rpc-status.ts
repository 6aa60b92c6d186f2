/**
 * An error as gRPC and Connect send it: one of their codes, the message, and machine-readable
 * details.
 */
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import type { Any } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { CODES } from "../../lib/errors.ts";
import type { ErrorDetails, ServiceError } from "../../lib/errors.ts";
import { retryAfterMs } from "../error-map.ts";

/** The header, trailer or metadata that carries Braid's code. */
export const CODE_HEADER = "braid-code";

export interface RpcStatus {
  /** gRPC's number. */
  readonly code: number;
  readonly message: string;
  readonly details: readonly Any[];
}

export function rpcStatus(error: ServiceError): RpcStatus {
  return {
    code: CODES[error.code].grpc,
    message: error.message,
    details: detailsOf(error),
  };
}

const DETAIL_MAX = 1_000;

/** `ErrorInfo` with Braid's code, and `RetryInfo` if a retry may help. */
function detailsOf(error: ServiceError): Any[] {
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

function metadataOf(details: ErrorDetails): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [key, value] of Object.entries(details)) {
    const text = typeof value === "object" ? value.join("; ") : String(value);
    metadata[key] = clipped(text, DETAIL_MAX);
  }
  return metadata;
}

export function clipped(text: string, max: number): string {
  // The cut must not leave half of a surrogate pair, which cannot be sent.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
