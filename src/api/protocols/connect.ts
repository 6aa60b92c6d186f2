/**
 * The methods over the Connect protocol, on HTTP/1.1 and HTTP/2: unary calls with plain bodies, and
 * streams of prefixed messages whose last one carries the error, if there is any.
 *
 * Events pass through undecoded as over gRPC, and the same limits apply: `Calls` holds them.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { ServiceError } from "../../lib/errors.ts";
import type { Call, Calls } from "../calls.ts";
import type {
  Answer,
  CopiedBytes,
  Method,
  MethodForm,
  StreamMethod,
  UnaryMethod,
} from "../methods/method.ts";
import { REQUEST_ID_HEADER } from "../request-id.ts";
import type { Exchange } from "../transport/exchange.ts";
import { receive } from "../transport/receive.ts";
import { connectErrorJson, connectStatus, endOfStreamJson } from "./connect-error.ts";
import { CODE_HEADER } from "./error-details.ts";
import { acceptsGzip, encodingOf, ENCODINGS, zipped } from "./gzip.ts";
import { bytesOf, retryHeader } from "./json.ts";
import { COMPRESSED, prefixed, receiveMessage, sendPage, unpacked } from "./messages.ts";

const VERSION_HEADER = "connect-protocol-version";
const TIMEOUT_HEADER = "connect-timeout-ms";
/** The flag of the message that ends a stream. */
const END_OF_STREAM = 2;

const UNARY_TYPES = "application/proto, application/json";
const STREAM_TYPES = "application/connect+proto, application/connect+json";

type Codec = "proto" | "json";

/** What a content type says: how messages are encoded, and whether they are in a stream. */
interface Form {
  readonly codec: Codec;
  readonly streams: boolean;
}

/** Whether a request wants Connect's answers and errors. */
export function isConnect(headers: IncomingHttpHeaders): boolean {
  const type = headers["content-type"];
  return (
    headers[VERSION_HEADER] !== undefined ||
    (type !== undefined && /^application\/(?:proto|connect\+[^;]*)\s*(?:;|$)/i.test(type))
  );
}

/** Answers one call. Never rejects, never throws. */
export async function answerConnect(
  exchange: Exchange,
  method: Method,
  calls: Calls,
): Promise<void> {
  const call = calls.begin(exchange, method, timeoutMs(exchange.headers[TIMEOUT_HEADER]));
  const form = formOf(exchange.headers["content-type"]);
  if (form === undefined || form.streams !== (method.kind === "stream")) {
    refuseType(call, method);
  } else if (method.kind === "unary") {
    await answerUnary(call, method, form.codec);
  } else {
    await answerStream(call, method, form.codec);
  }
}

/** Answers what is no call: a path that is not a method, or a request that browsers may not send. */
export function refuseConnect(exchange: Exchange, error: ServiceError): void {
  const form = formOf(exchange.headers["content-type"]);
  if (form?.streams === true) {
    exchange.answer(200, streamHead(form.codec), endMessage(error));
  } else {
    answerError(exchange, error, {});
  }
}

async function answerUnary(call: Call, method: UnaryMethod, codec: Codec): Promise<void> {
  const { exchange } = call;
  const head = { [REQUEST_ID_HEADER]: call.id };
  try {
    const body = await unaryRequest(call, method);
    const answer = await call.run(decoded(call, method, codec, body));
    const bytes = await encoded(answer, codec);
    call.takeAnswer(bytes.length);
    const wantsGzip = acceptsGzip(exchange.headers["accept-encoding"]);
    const small = wantsGzip ? await zipped(bytes) : undefined;
    const encoding = small === undefined ? {} : { "content-encoding": "gzip" };
    call.succeeded();
    exchange.answer(
      200,
      { ...head, ...encoding, "content-type": `application/${codec}` },
      small ?? bytes,
    );
  } catch (error) {
    const failure = call.failed(error);
    if (failure === undefined) exchange.cut();
    else answerError(exchange, failure, head);
  }
}

async function answerStream(call: Call, method: StreamMethod, codec: Codec): Promise<void> {
  const { exchange } = call;
  const { headers } = exchange;
  const head = { ...streamHead(codec), [REQUEST_ID_HEADER]: call.id };
  const wantsGzip = acceptsGzip(headers["connect-accept-encoding"]);
  if (wantsGzip) Object.assign(head, { "connect-content-encoding": "gzip" });
  let begun = false;
  try {
    call.admit();
    checkVersion(call);
    const name = "connect-content-encoding";
    const message = await receiveMessage(call, method, encodingOf(headers[name], name));
    for await (const page of call.stream(decoded(call, method, codec, message))) {
      const framed = await framedPage(call, page, codec, wantsGzip);
      if (!begun) exchange.begin(200, head);
      begun = true;
      await sendPage(call, framed);
    }
    call.succeeded();
    if (begun) await endStream(exchange);
    else exchange.answer(200, head, endMessage());
  } catch (error) {
    const failure = call.failed(error);
    if (failure === undefined) exchange.cut();
    else if (begun) await endStream(exchange, failure);
    else exchange.answer(200, head, endMessage(failure));
  }
}

async function unaryRequest(call: Call, method: UnaryMethod): Promise<Buffer> {
  call.admit();
  checkVersion(call);
  const name = "content-encoding";
  const encoding = encodingOf(call.exchange.headers[name], name);
  const body = await receive(call.exchange, {
    clock: call.clock,
    bytesMax: method.requestBytesMax,
    charge: (length) => call.take(length),
    signal: call.signal,
  });
  // An empty body is an empty message, compressed or not.
  if (encoding === "identity" || body.length === 0) return body;
  return unpacked(call, body, method.requestBytesMax);
}

/** A version that this server does not know may mean anything: the request is not read. */
function checkVersion({ exchange, problems }: Call): void {
  const version = exchange.headers[VERSION_HEADER];
  if (version === undefined || version === "1") return;
  const given = JSON.stringify(String(version).slice(0, 40));
  problems.add(`${VERSION_HEADER} must be "1", not ${given}`);
  problems.throwIfAny("REQUEST_INVALID");
}

function decoded<R>(
  { caller, problems }: Call,
  method: MethodForm<R>,
  codec: Codec,
  message: Buffer,
): R | Promise<R> {
  return codec === "proto"
    ? method.fromBinary(message, caller, problems)
    : method.fromJson(message, caller, problems);
}

async function encoded(answer: Answer, codec: Codec): Promise<Buffer> {
  return codec === "proto" ? joined(await answer.binary()) : bytesOf(await answer.json());
}

function joined(message: CopiedBytes): Buffer {
  if (Buffer.isBuffer(message)) return message;
  const bytes = Buffer.allocUnsafe(message.byteLength);
  message.copy(bytes, 0);
  return bytes;
}

async function framedPage(
  call: Call,
  page: Answer,
  codec: Codec,
  wantsGzip: boolean,
): Promise<Buffer> {
  if (codec === "proto" && !wantsGzip) return prefixed(await page.binary());
  const bytes = await encoded(page, codec);
  call.takeAnswer(bytes.length);
  const small = wantsGzip ? await zipped(bytes) : undefined;
  call.giveAnswer(bytes.length);
  return small === undefined ? prefixed(bytes) : prefixed(small, COMPRESSED);
}

function streamHead(codec: Codec): OutgoingHttpHeaders {
  return {
    "content-type": `application/connect+${codec}`,
    "connect-accept-encoding": ENCODINGS,
  };
}

function endMessage(error?: ServiceError): Buffer {
  return prefixed(Buffer.from(endOfStreamJson(error)), END_OF_STREAM);
}

async function endStream(exchange: Exchange, error?: ServiceError): Promise<void> {
  try {
    await exchange.send(endMessage(error));
    exchange.end();
  } catch {
    // The peer has left, so nobody can receive the end.
    exchange.cut();
  }
}

function answerError(exchange: Exchange, error: ServiceError, headers: OutgoingHttpHeaders): void {
  const head = {
    ...headers,
    ...retryHeader(error),
    [CODE_HEADER]: error.code,
    "accept-encoding": ENCODINGS,
    "content-type": "application/json",
  };
  exchange.answer(connectStatus(error), head, connectErrorJson(error));
}

/** The protocol has no code for this: the status says it, and `Accept-Post` says what would do. */
function refuseType(call: Call, { kind }: Method): void {
  const types = kind === "stream" ? STREAM_TYPES : UNARY_TYPES;
  const given = JSON.stringify(String(call.exchange.headers["content-type"]).slice(0, 100));
  const message = `the content type of this method is one of ${types}, not ${given}`;
  call.failed(new ServiceError("NOT_SUPPORTED", message));
  call.exchange.answer(
    415,
    {
      [REQUEST_ID_HEADER]: call.id,
      "accept-post": types,
      "content-type": "application/json",
    },
    JSON.stringify({ code: "unknown", message }),
  );
}

function formOf(contentType: string | undefined): Form | undefined {
  const pattern = /^application\/(connect\+)?(proto|json)\s*(?:;|$)/i;
  const [, streams, codec] = pattern.exec(contentType ?? "") ?? [];
  if (codec === undefined) return undefined;
  return {
    codec: codec.toLowerCase() === "proto" ? "proto" : "json",
    streams: streams !== undefined,
  };
}

/** Undefined if there is none; NaN if it is malformed. */
function timeoutMs(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  return /^\d{1,10}$/.test(String(header)) ? Number(header) : Number.NaN;
}
