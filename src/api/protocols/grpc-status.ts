/** An error in gRPC: the status, machine-readable details, and Braid's code as a trailer. */
import type { OutgoingHttpHeaders } from "node:http";
import { create, toBinary } from "@bufbuild/protobuf";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import type { ServiceError } from "../../lib/errors.ts";
import { REQUEST_ID_HEADER } from "../request-id.ts";
import { clipped, CODE_HEADER, rpcStatus } from "./rpc-status.ts";

/** Some clients reject trailers of more than 8 KiB in all, and base64 adds a third. */
const MESSAGE_MAX = 1_000;

export const CANCELLED: OutgoingHttpHeaders = { "grpc-status": "1", "grpc-message": "cancelled" };

export function okTrailers(requestId: string): OutgoingHttpHeaders {
  return { "grpc-status": "0", [REQUEST_ID_HEADER]: requestId };
}

export function errorTrailers(error: ServiceError, requestId: string): OutgoingHttpHeaders {
  const { code, message: whole, details } = rpcStatus(error);
  const message = clipped(whole, MESSAGE_MAX);
  const rich = create(StatusSchema, { code, message, details: [...details] });
  return {
    "grpc-status": String(code),
    "grpc-message": percentEncoded(message),
    "grpc-status-details-bin": unpadded(toBinary(StatusSchema, rich)),
    [CODE_HEADER]: error.code,
    [REQUEST_ID_HEADER]: requestId,
  };
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
