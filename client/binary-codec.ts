/**
 * The Connect protocol with protobuf (https://connectrpc.com/docs/protocol): plain messages for
 * single answers, messages behind prefixes for streams, errors as JSON.
 */
import { fromBase64 } from "./base64.ts";
import { BraidError } from "./braid-error.ts";
import type { Codec } from "./codec.ts";
import { decodeDuration, decodePage, decodeWritten } from "./decode-answer.ts";
import { encodeFrame, encodeNamespace, encodeRead, encodeWrite } from "./encode-request.ts";
import { END_OF_STREAM, inEnvelope, readEnvelopes } from "./envelopes.ts";
import type { EventPage } from "./read-query.ts";
import type { HttpAnswer } from "./http.ts";
import { joined } from "./http.ts";
import {
  asErrorBody,
  errorFromBody,
  isObject,
  parseJson,
  retryAfterOf,
  unknownError,
} from "./json-error.ts";
import { malformed, MessageReader } from "./message-reader.ts";
import { decodeText } from "./utf8.ts";

export const binaryCodec: Codec = {
  unaryHeaders: { "content-type": "application/proto", "connect-protocol-version": "1" },
  streamHeaders: { "content-type": "application/connect+proto", "connect-protocol-version": "1" },
  timeoutHeader: "connect-timeout-ms",
  // A page has at most 3 MiB of events, or one larger event, which has at most 1 MiB.
  bytesMax: 16 * 1024 * 1024,

  encodeWrite,
  encodeEvent: encodeFrame,
  joinWrite(namespace, events) {
    const parts = [encodeNamespace(namespace), ...events];
    return joined(
      parts,
      parts.reduce((sum, { length }) => sum + length, 0),
    );
  },
  encodeRead,
  encodeStream: (namespace, query, pageToken) =>
    inEnvelope(encodeRead(namespace, query, pageToken)),

  decodeWriteSync(bytes) {
    const { count: written, ...answer } = decodeWritten(bytes);
    return { written, ...answer };
  },
  decodeWrite(bytes) {
    const { count: accepted, ...answer } = decodeWritten(bytes);
    return { accepted, ...answer };
  },
  decodePage,
  streamedPages,

  checkAnswer(answer, stream) {
    const type = answer.header("content-type") ?? "";
    if (type === (stream ? "application/connect+proto" : "application/proto")) return;
    throw malformed(`its content-type is ${JSON.stringify(type.slice(0, 100))}`);
  },
  errorOf,
};

/** The server does not speak Connect: it refused the request for its content-type. */
export class NotConnectError extends BraidError {}

async function* streamedPages(answer: HttpAnswer): AsyncGenerator<EventPage, void, undefined> {
  let ended = false;
  for await (const { flags, bytes } of readEnvelopes(answer.chunks(), binaryCodec.bytesMax)) {
    if (ended) throw malformed("a message follows the end of the stream");
    if ((flags & END_OF_STREAM) === 0) {
      yield decodePage(bytes);
      continue;
    }
    const error = endError(bytes);
    if (error !== undefined) throw error;
    // The connection serves the next call only if the answer is read to its end.
    ended = true;
  }
  if (!ended) throw new BraidError("SERVER_UNREACHABLE", "the stream stopped before its end");
}

/** The error in the last message of a stream. */
function endError(bytes: Uint8Array): BraidError | undefined {
  const end = parseJson(decodeText(bytes, 0, bytes.length));
  if (!isObject(end)) throw malformed("the end of the stream is not an object of JSON");
  if (end["error"] === undefined) return undefined;
  return connectError(end["error"], undefined, undefined) ?? malformed("its error has no code");
}

function errorOf(answer: HttpAnswer, bytes: Uint8Array): BraidError {
  const { status } = answer;
  const retryAfterMs = retryAfterOf(answer);
  const body = parseJson(decodeText(bytes, 0, bytes.length));
  const error = asErrorBody(body);
  // Braid's own shape where Connect's is due: the server knows the method but not the protocol.
  if (status === 415 || error?.code === "REQUEST_INVALID") {
    const message = 'this server does not speak Connect; connect with protocol: "json"';
    return new NotConnectError("HTTP_415", message, { status });
  }
  if (error !== undefined && /^[A-Z_]+$/.test(error.code)) {
    return errorFromBody(error, status, retryAfterMs);
  }
  return connectError(body, status, retryAfterMs) ?? unknownError(status, retryAfterMs);
}

/** Connect's JSON of an error; undefined if it is something else. */
function connectError(
  body: unknown,
  status: number | undefined,
  retryAfterMs: number | undefined,
): BraidError | undefined {
  if (!isObject(body) || typeof body["code"] !== "string") return undefined;
  const message = typeof body["message"] === "string" ? body["message"] : "";
  const { reason, details, retryMs } = detailsOf(body["details"]);
  const code = reason ?? body["code"].toUpperCase();
  return errorFromBody({ code, message, details }, status, retryAfterMs ?? retryMs);
}

interface Details {
  /** Braid's code. */
  reason?: string;
  details: Record<string, string>;
  retryMs?: number;
}

function detailsOf(list: unknown): Details {
  const found: Details = { details: {} };
  for (const detail of Array.isArray(list) ? (list as unknown[]) : []) {
    if (!isObject(detail) || typeof detail["value"] !== "string") continue;
    const type = String(detail["type"]).replace(/^.*\//, "");
    try {
      const reader = new MessageReader(fromBase64(detail["value"]));
      if (type === "google.rpc.ErrorInfo") readErrorInfo(reader, found);
      else if (type === "google.rpc.RetryInfo") readRetryInfo(reader, found);
    } catch {
      // A detail that cannot be decoded takes nothing from the code and the message.
    }
  }
  return found;
}

function readErrorInfo(reader: MessageReader, found: Details): void {
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) found.reason = reader.text();
    if (tag !== 0x1a) continue;
    const entry = reader.message();
    let key = "";
    let value = "";
    for (let part = entry.next(); part !== 0; part = entry.next()) {
      if (part === 0x0a) key = entry.text();
      else if (part === 0x12) value = entry.text();
    }
    found.details[key] = value;
  }
}

function readRetryInfo(reader: MessageReader, found: Details): void {
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag !== 0x0a) continue;
    const { seconds, nanos } = decodeDuration(reader.message());
    found.retryMs = seconds * 1000 + nanos / 1e6;
  }
}
