/**
 * A request of the Connect protocol: what its headers or its query say, and its one message.
 *
 * A unary message is the body of a POST, or a parameter of a GET. A stream's is a prefixed message.
 */
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { ServiceError } from "../../lib/errors.ts";
import type { Call } from "../calls.ts";
import type { Method } from "../methods/method.ts";
import type { Exchange } from "../transport/exchange.ts";
import { receive } from "../transport/receive.ts";
import { acceptsGzip, encodingOf } from "./gzip.ts";
import { receiveMessage, unpacked } from "./messages.ts";

const VERSION_HEADER = "connect-protocol-version";
const VERSION = "1";
const QUERY_VERSION = "v1";

export type Codec = "proto" | "json";

/** How messages are encoded, and whether they are in a stream. */
export interface ConnectForm {
  readonly codec: Codec;
  readonly streams: boolean;
}

/** Whether a request wants Connect's answers and errors. */
export function isConnect({ headers, verb, query }: Exchange): boolean {
  if (verb === "GET") return /(?:^|&)connect=/.test(query);
  const type = headers["content-type"];
  return (
    headers[VERSION_HEADER] !== undefined ||
    (type !== undefined && /^application\/(?:proto|connect\+[^;]*)\s*(?:;|$)/i.test(type))
  );
}

/** Whether the method may be called with this verb. */
export function allowsVerb({ desc, kind }: Method, verb: string): boolean {
  if (verb === "POST") return true;
  return verb === "GET" && kind === "unary" && desc.idempotency === Idempotency.NO_SIDE_EFFECTS;
}

/** Undefined if the content type, or the parameter `encoding`, is not one of Connect's. */
export function formOf({ headers, verb, query }: Exchange): ConnectForm | undefined {
  if (verb === "GET") {
    const codec = new URLSearchParams(query).get("encoding");
    return codec === "proto" || codec === "json" ? { codec, streams: false } : undefined;
  }
  const pattern = /^application\/(connect\+)?(proto|json)\s*(?:;|$)/i;
  const [, streams, codec] = pattern.exec(headers["content-type"] ?? "") ?? [];
  if (codec === undefined) return undefined;
  return {
    codec: codec.toLowerCase() === "proto" ? "proto" : "json",
    streams: streams !== undefined,
  };
}

/** Undefined if there is none; NaN if it is malformed. */
export function connectTimeoutMs({ headers }: Exchange): number | undefined {
  const header = headers["connect-timeout-ms"];
  if (header === undefined) return undefined;
  return /^\d{1,10}$/.test(String(header)) ? Number(header) : Number.NaN;
}

export function wantsGzip({ headers }: Exchange, { streams }: ConnectForm): boolean {
  return acceptsGzip(headers[streams ? "connect-accept-encoding" : "accept-encoding"]);
}

/** Receives the one message of a request, decompressed. Admits the call first. */
export async function connectMessage(call: Call, method: Method): Promise<Buffer> {
  call.admit();
  const { headers, verb, query } = call.exchange;
  if (verb === "GET") return queryMessage(call, method, new URLSearchParams(query));
  checkVersion(call, headers[VERSION_HEADER] ?? VERSION, VERSION);
  if (method.kind === "unary") return bodyMessage(call, method);
  const name = "connect-content-encoding";
  return receiveMessage(call, method, encodingOf(headers[name], name));
}

async function bodyMessage(call: Call, { requestBytesMax }: Method): Promise<Buffer> {
  const name = "content-encoding";
  const encoding = encodingOf(call.exchange.headers[name], name);
  const body = await receive(call.exchange, {
    clock: call.clock,
    bytesMax: requestBytesMax,
    charge: (length) => call.take(length),
    signal: call.signal,
  });
  // An empty body is an empty message, compressed or not.
  if (encoding === "identity" || body.length === 0) return body;
  return unpacked(call, body, requestBytesMax);
}

/** The limit of all headers is the limit of the query. */
async function queryMessage(
  call: Call,
  { requestBytesMax }: Method,
  query: URLSearchParams,
): Promise<Buffer> {
  checkVersion(call, query.get("connect") ?? "", QUERY_VERSION);
  const encoding = encodingOf(query.get("compression") ?? undefined, "compression");
  const text = query.get("message");
  const encoded = query.get("base64") === "1";
  if (text === null || (encoded && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(text))) {
    throw new ServiceError(
      "REQUEST_INVALID",
      "a GET needs the parameter message, and with base64=1 it must be base64",
    );
  }
  const bytes = Buffer.from(text, encoded ? "base64" : "utf8");
  call.take(bytes.length);
  return encoding === "identity" ? bytes : unpacked(call, bytes, requestBytesMax);
}

/** A request of a version that this server does not know may mean anything: it is not read. */
function checkVersion({ problems }: Call, given: string | string[], known: string): void {
  if (given === known) return;
  const shown = JSON.stringify(String(given).slice(0, 40));
  problems.add(`the version of the Connect protocol must be "${known}", not ${shown}`);
  problems.throwIfAny("REQUEST_INVALID");
}
