/**
 * An error in Connect's shape: the body of a unary answer, or the message that ends a stream.
 */
import type { OutgoingHttpHeaders } from "node:http";
import type { Any } from "@bufbuild/protobuf/wkt";
import type { ServiceError } from "../../lib/errors.ts";
import { CODE_HEADER, rpcStatus } from "./rpc-status.ts";

interface ConnectCode {
  readonly name: string;
  readonly http: number;
}

const UNKNOWN: ConnectCode = { name: "unknown", http: 500 };

/** Connect's names for the codes of gRPC, and the HTTP status that the protocol gives each. */
const CONNECT_CODES: Readonly<Record<number, ConnectCode>> = {
  1: { name: "canceled", http: 499 },
  2: UNKNOWN,
  3: { name: "invalid_argument", http: 400 },
  4: { name: "deadline_exceeded", http: 504 },
  5: { name: "not_found", http: 404 },
  6: { name: "already_exists", http: 409 },
  7: { name: "permission_denied", http: 403 },
  8: { name: "resource_exhausted", http: 429 },
  9: { name: "failed_precondition", http: 400 },
  10: { name: "aborted", http: 409 },
  11: { name: "out_of_range", http: 400 },
  12: { name: "unimplemented", http: 501 },
  13: { name: "internal", http: 500 },
  14: { name: "unavailable", http: 503 },
  15: { name: "data_loss", http: 500 },
  16: { name: "unauthenticated", http: 401 },
};

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly value: string }[];
}

/** The HTTP status and the body of a unary answer. */
export function unaryError(error: ServiceError): { status: number; body: string } {
  const { http, body } = shapeOf(error);
  return { status: http, body: JSON.stringify(body) };
}

/** The last message of a stream. Its metadata are what trailers are in gRPC. */
export function endOfStream(trailers: OutgoingHttpHeaders, error?: ServiceError): string {
  const all = error === undefined ? trailers : { ...trailers, [CODE_HEADER]: error.code };
  const metadata = Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, Array.isArray(value) ? value : [value]]),
  );
  return JSON.stringify({
    ...(error !== undefined && { error: shapeOf(error).body }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  });
}

function shapeOf(error: ServiceError): { http: number; body: ErrorBody } {
  const { code, message, details } = rpcStatus(error);
  const { name, http } = CONNECT_CODES[code] ?? UNKNOWN;
  return { http, body: { code: name, message, details: details.map(detailOf) } };
}

/** Connect wants the bare name of the type, and base64 without padding. */
function detailOf({ typeUrl, value }: Any): { type: string; value: string } {
  const type = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
  return { type, value: Buffer.from(value).toString("base64").replaceAll("=", "") };
}
