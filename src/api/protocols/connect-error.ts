/**
 * An error in Connect's shape: the body of a unary answer, or the message that ends a stream.
 */
import type { Any } from "@bufbuild/protobuf/wkt";
import { CODES } from "../../lib/errors.ts";
import type { Code, ServiceError } from "../../lib/errors.ts";
import { CODE_HEADER, errorDetails } from "./error-details.ts";

interface ConnectCode {
  readonly name: string;
  readonly http: number;
}

/** Connect's names for the codes of gRPC, and the HTTP status that the protocol gives each. */
const CONNECT_CODES: Readonly<Record<(typeof CODES)[Code]["grpc"], ConnectCode>> = {
  3: { name: "invalid_argument", http: 400 },
  4: { name: "deadline_exceeded", http: 504 },
  5: { name: "not_found", http: 404 },
  6: { name: "already_exists", http: 409 },
  7: { name: "permission_denied", http: 403 },
  8: { name: "resource_exhausted", http: 429 },
  10: { name: "aborted", http: 409 },
  12: { name: "unimplemented", http: 501 },
  13: { name: "internal", http: 500 },
  14: { name: "unavailable", http: 503 },
  15: { name: "data_loss", http: 500 },
};

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly value: string }[];
}

export function connectStatus(error: ServiceError): number {
  return CONNECT_CODES[CODES[error.code].grpc].http;
}

export function connectErrorJson(error: ServiceError): string {
  return JSON.stringify(bodyOf(error));
}

/** The last message of a stream. Its metadata are what trailers are in gRPC. */
export function endOfStreamJson(error?: ServiceError): string {
  if (error === undefined) return "{}";
  return JSON.stringify({ error: bodyOf(error), metadata: { [CODE_HEADER]: [error.code] } });
}

function bodyOf(error: ServiceError): ErrorBody {
  const { name } = CONNECT_CODES[CODES[error.code].grpc];
  return { code: name, message: error.message, details: errorDetails(error).map(detailOf) };
}

/** Connect wants the bare type name and base64 without padding. */
function detailOf({ typeUrl, value }: Any): { type: string; value: string } {
  const type = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
  return { type, value: Buffer.from(value).toString("base64").replaceAll("=", "") };
}
