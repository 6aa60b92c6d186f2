/**
 * The methods over HTTP/JSON: `POST /braid.v1.<Service>/<Method>`. A stream is lines of JSON; the
 * server reads the next page when the socket has taken the last.
 */
import type { OutgoingHttpHeaders } from "node:http";
import { CODES } from "../../lib/errors.ts";
import type { ServiceError } from "../../lib/errors.ts";
import type { Problems } from "../../lib/problems.ts";
import type { Call, Calls } from "../calls.ts";
import { errorJson, retryAfterMs } from "../error-map.ts";
import type { Method } from "../methods/method.ts";
import type { Exchange } from "../transport/exchange.ts";
import { REQUEST_ID_HEADER } from "../request-id.ts";
import { receive } from "../transport/receive.ts";
import { sendPage } from "./messages.ts";

/** The header with the caller's deadline, if it differs from the default. */
const TIMEOUT_HEADER = "braid-timeout-ms";

export const JSON_TYPE = "application/json; charset=utf-8";
const LINES_TYPE = "application/x-ndjson; charset=utf-8";

/** Answers one call. Never rejects, never throws. */
export async function answerJson(exchange: Exchange, method: Method, calls: Calls): Promise<void> {
  const call = calls.begin(exchange, method, timeoutMs(exchange.headers[TIMEOUT_HEADER]));
  const head = { ...call.head, [REQUEST_ID_HEADER]: call.id };
  let begun = false;
  try {
    const body = await requestOf(exchange, method, call);
    if (method.kind === "unary") {
      const json = bytesOf(
        await (await call.run(method.fromJson(body, call.caller, call.problems))).json(),
      );
      call.takeAnswer(json.length);
      call.succeeded();
      exchange.answer(200, { ...head, "content-type": JSON_TYPE }, json);
      return;
    }
    const lines = { ...head, "content-type": LINES_TYPE };
    for await (const page of call.stream(method.fromJson(body, call.caller, call.problems))) {
      // The status can still report what fails before the first page.
      if (!begun) exchange.begin(200, lines);
      begun = true;
      await sendPage(call, lineOf(await page.json()));
    }
    if (!begun) exchange.begin(200, lines);
    call.succeeded();
    exchange.end();
  } catch (error) {
    const failure = call.failed(error);
    if (failure === undefined) exchange.cut();
    else if (!begun) answerFailure(exchange, failure, head);
    else await endWithError(exchange, failure);
  }
}

/** HTTP has a status of its own for a body of an unknown type. */
function answerFailure(exchange: Exchange, error: ServiceError, head: OutgoingHttpHeaders): void {
  if (error.code !== "REQUEST_INVALID" || isJson(exchange)) answerError(exchange, error, head);
  else answerError(exchange, error, { ...head, "accept-post": "application/json" }, 415);
}

export function answerError(
  exchange: Exchange,
  error: ServiceError,
  headers: OutgoingHttpHeaders = {},
  status: number = CODES[error.code].http,
): void {
  const head = { ...headers, ...retryHeader(error), "content-type": JSON_TYPE };
  exchange.answer(status, head, errorJson(error));
}

/** `Retry-After`, if a retry may help. */
export function retryHeader(error: ServiceError): OutgoingHttpHeaders {
  const retryMs = retryAfterMs(error);
  return retryMs === undefined ? {} : { "retry-after": String(Math.ceil(retryMs / 1000)) };
}

/** After a stream has begun, an error is its last line. */
async function endWithError(exchange: Exchange, failure: ServiceError): Promise<void> {
  try {
    await exchange.send(Buffer.from(`{"error":${errorJson(failure)}}\n`));
    exchange.end();
  } catch {
    // The peer has left, so nobody can receive the error.
    exchange.cut();
  }
}

async function requestOf(exchange: Exchange, method: Method, call: Call): Promise<Buffer> {
  call.admit();
  checkType(exchange, call.problems);
  return receive(exchange, {
    clock: call.clock,
    bytesMax: method.requestBytesMax,
    charge: (length) => call.take(length),
    signal: call.signal,
  });
}

/** A body of another type or encoding cannot be read: the headers' problems are all there is. */
function checkType(exchange: Exchange, problems: Problems): void {
  const { headers } = exchange;
  const before = problems.count;
  if (!isJson(exchange)) {
    const given = JSON.stringify(headers["content-type"]?.slice(0, 100));
    problems.add(
      `the body must be JSON with content-type: application/json (with curl: --json '…'), not ${given}`,
    );
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    problems.add("send the body without content-encoding");
  }
  if (problems.count > before) problems.throwIfAny("REQUEST_INVALID");
}

/** A body without a type is taken for JSON. */
function isJson({ headers }: Exchange): boolean {
  const type = headers["content-type"];
  return type === undefined || /^application\/json\s*(;|$)/i.test(type);
}

/** Undefined if there is none; NaN if it is malformed. */
function timeoutMs(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  return /^\d{1,12}$/.test(String(header)) ? Number(header) : Number.NaN;
}

export function bytesOf(json: Uint8Array | string): Buffer {
  if (typeof json === "string") return Buffer.from(json);
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
}

function lineOf(json: Uint8Array | string): Buffer {
  return Buffer.concat([LINE_START, bytesOf(json), LINE_END]);
}

const LINE_START = Buffer.from('{"result":');
const LINE_END = Buffer.from("}\n");
