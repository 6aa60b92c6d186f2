/**
 * The methods over the Connect protocol, on HTTP/1.1 and HTTP/2: unary calls with plain bodies, and
 * streams of prefixed messages whose last one carries the error, if there is any.
 *
 * Events pass through undecoded as over gRPC, and the same limits apply: `Calls` holds them.
 */
import type { OutgoingHttpHeaders } from "node:http";
import { CODES, ServiceError } from "../../lib/errors.ts";
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
import { endOfStream, unaryError } from "./connect-error.ts";
import {
  allowsVerb,
  connectMessage,
  connectTimeoutMs,
  formOf,
  wantsGzip,
} from "./connect-request.ts";
import type { Codec, ConnectForm } from "./connect-request.ts";
import { ENCODINGS, zipped } from "./gzip.ts";
import { bytesOf, retryHeader } from "./json.ts";
import { COMPRESSED, prefixed, sendPage } from "./messages.ts";
import { CODE_HEADER } from "./rpc-status.ts";

/** The flag of the message that ends a stream. */
const END_OF_STREAM = 2;

const UNARY_TYPES = "application/proto, application/json";
const STREAM_TYPES = "application/connect+proto, application/connect+json";

/** Answers of a GET must neither be cached nor taken for something else by a browser. */
const GET_HEAD = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Answers one call. Never rejects, never throws. */
export async function answerConnect(
  exchange: Exchange,
  method: Method,
  calls: Calls,
): Promise<void> {
  const call = calls.begin(exchange, method, connectTimeoutMs(exchange));
  const form = formOf(exchange);
  if (!allowsVerb(method, exchange.verb)) {
    refuseVerb(call, method);
  } else if (form === undefined || form.streams !== (method.kind === "stream")) {
    refuseType(call, method);
  } else if (method.kind === "unary") {
    await answerUnary(call, method, form);
  } else {
    await answerStream(call, method, form);
  }
}

/** Answers what is no call: a path that is not a method, or a request that a browser may not send. */
export function refuseConnect(exchange: Exchange, error: ServiceError): void {
  const form = formOf(exchange);
  if (form?.streams === true) {
    exchange.answer(200, streamHead(form.codec), endMessage({}, error));
  } else {
    // No method answers here, so the status is HTTP's.
    answerError(exchange, error, {}, CODES[error.code].http);
  }
}

async function answerUnary(call: Call, method: UnaryMethod, form: ConnectForm): Promise<void> {
  const { exchange } = call;
  try {
    const message = await connectMessage(call, method);
    const answer = await call.run(decoded(call, method, form.codec, message));
    const bytes = await encoded(answer, form.codec);
    call.takeAnswer(bytes.length);
    const small = wantsGzip(exchange, form) ? await zipped(bytes) : undefined;
    const head = {
      ...unaryHead(call),
      ...(small !== undefined && { "content-encoding": "gzip" }),
      "content-type": `application/${form.codec}`,
    };
    call.succeeded();
    exchange.answer(200, head, small ?? bytes);
  } catch (error) {
    const failure = call.failed(error);
    if (failure === undefined) exchange.cut();
    else answerError(exchange, failure, unaryHead(call));
  }
}

async function answerStream(call: Call, method: StreamMethod, form: ConnectForm): Promise<void> {
  const { exchange } = call;
  const { codec } = form;
  const zips = wantsGzip(exchange, form);
  const head = (): OutgoingHttpHeaders => ({
    ...callHead(call),
    ...streamHead(codec),
    ...(zips && { "connect-content-encoding": "gzip" }),
  });
  let begun = false;
  try {
    const message = await connectMessage(call, method);
    for await (const page of call.stream(decoded(call, method, codec, message))) {
      const framed = zips ? await zippedPage(call, page, codec) : await plainPage(page, codec);
      if (!begun) exchange.begin(200, head());
      begun = true;
      await sendPage(call, framed);
    }
    call.succeeded();
    if (begun) await endStream(call);
    else exchange.answer(200, head(), endMessage(call.trailers));
  } catch (error) {
    const failure = call.failed(error);
    if (failure === undefined) exchange.cut();
    else if (begun) await endStream(call, failure);
    else exchange.answer(200, head(), endMessage(call.trailers, failure));
  }
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

async function plainPage(page: Answer, codec: Codec): Promise<Buffer> {
  return prefixed(codec === "proto" ? await page.binary() : bytesOf(await page.json()));
}

async function zippedPage(call: Call, page: Answer, codec: Codec): Promise<Buffer> {
  const bytes = await encoded(page, codec);
  call.takeAnswer(bytes.length);
  const small = await zipped(bytes);
  call.giveAnswer(bytes.length);
  return small === undefined ? prefixed(bytes) : prefixed(small, COMPRESSED);
}

/** A unary answer has its trailers among its headers. */
function unaryHead(call: Call): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = {
    ...callHead(call),
    ...(call.exchange.verb === "GET" && GET_HEAD),
  };
  for (const [name, value] of Object.entries(call.trailers)) head[`trailer-${name}`] = value;
  return head;
}

function callHead({ head, id }: Call): OutgoingHttpHeaders {
  return { ...head, [REQUEST_ID_HEADER]: id };
}

function streamHead(codec: Codec): OutgoingHttpHeaders {
  return {
    "content-type": `application/connect+${codec}`,
    "connect-accept-encoding": ENCODINGS,
  };
}

function endMessage(trailers: OutgoingHttpHeaders, error?: ServiceError): Buffer {
  return prefixed(Buffer.from(endOfStream(trailers, error)), END_OF_STREAM);
}

async function endStream({ exchange, trailers }: Call, error?: ServiceError): Promise<void> {
  try {
    await exchange.send(endMessage(trailers, error));
    exchange.end();
  } catch {
    // The peer has left, so nobody can receive the end.
    exchange.cut();
  }
}

function answerError(
  exchange: Exchange,
  error: ServiceError,
  headers: OutgoingHttpHeaders,
  httpStatus?: number,
): void {
  const { status, body } = unaryError(error);
  const head = {
    ...headers,
    ...retryHeader(error),
    [CODE_HEADER]: error.code,
    "accept-encoding": ENCODINGS,
    "content-type": "application/json",
  };
  exchange.answer(httpStatus ?? status, head, body);
}

function refuseVerb(call: Call, method: Method): void {
  const allow = allowsVerb(method, "GET") ? "GET, POST" : "POST";
  refuseByStatus(call, 405, { allow }, `this method takes ${allow.replace(",", " or")}`);
}

function refuseType(call: Call, { kind }: Method): void {
  const types = kind === "stream" ? STREAM_TYPES : UNARY_TYPES;
  const message = `the content type of this method is one of ${types}; a GET needs encoding=proto or json`;
  refuseByStatus(call, 415, { "accept-post": types }, message);
}

/** The protocol has no code of its own for these: HTTP's status says it. */
function refuseByStatus(
  call: Call,
  status: number,
  headers: OutgoingHttpHeaders,
  message: string,
): void {
  call.failed(new ServiceError("NOT_SUPPORTED", message));
  const head = { ...callHead(call), ...headers, "content-type": "application/json" };
  call.exchange.answer(status, head, JSON.stringify({ code: "unknown", message }));
}
