/**
 * The methods over gRPC: one prefixed message in, one or many out, and the status in the trailers.
 *
 * A stream sends one page, waits until the transport has taken it, and only then asks for the next
 * page: a slow reader holds about one page of memory, not everything it has not read yet.
 */
import type { ServiceError } from "../../lib/errors.ts";
import type { Method } from "../methods/method.ts";
import type { Call, Calls } from "../calls.ts";
import type { Exchange } from "../transport/exchange.ts";
import { CANCELLED, errorTrailers, okTrailers } from "./grpc-status.ts";
import { encodingOf, ENCODINGS } from "./gzip.ts";
import { prefixed, receiveMessage, sendPage } from "./messages.ts";

const HEAD = { "content-type": "application/grpc+proto", "grpc-accept-encoding": ENCODINGS };

export function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:\+proto)?(?:;|$)/i.test(contentType);
}

/** Answers one call. Never rejects, never throws. */
export async function answerGrpc(exchange: Exchange, method: Method, calls: Calls): Promise<void> {
  const call = calls.begin(exchange, method, grpcTimeoutMs(exchange));
  let begun = false;
  try {
    const message = await requestOf(exchange, method, call);
    if (method.kind === "unary") {
      const answer = await call.run(method.fromBinary(message, call.caller, call.problems));
      const framed = prefixed(await answer.binary());
      call.takeAnswer(framed.length);
      begun = true;
      exchange.begin(200, { ...HEAD, ...call.head });
      await exchange.send(framed);
    } else {
      for await (const page of call.stream(
        method.fromBinary(message, call.caller, call.problems),
      )) {
        if (!begun) exchange.begin(200, { ...HEAD, ...call.head });
        begun = true;
        await sendPage(call, prefixed(await page.binary()));
      }
      if (!begun) exchange.begin(200, { ...HEAD, ...call.head });
    }
    call.succeeded();
    exchange.end({ ...call.trailers, ...okTrailers(call.id) });
  } catch (error) {
    fail(call, call.failed(error), begun);
  }
}

async function requestOf(exchange: Exchange, method: Method, call: Call): Promise<Buffer> {
  call.admit();
  return receiveMessage(
    call,
    method,
    encodingOf(exchange.headers["grpc-encoding"], "grpc-encoding"),
  );
}

/** Sends an error. If nothing goes before it, head and trailers are one. */
function fail(call: Call, failure: ServiceError | undefined, begun: boolean): void {
  const { exchange, head, trailers, id } = call;
  const all = {
    ...trailers,
    ...(failure === undefined ? CANCELLED : errorTrailers(failure, id)),
  };
  const separate = begun || Object.keys(head).length > 0;
  if (!separate) {
    exchange.answer(200, { ...HEAD, ...all }, "");
    return;
  }
  if (!begun) exchange.begin(200, { ...HEAD, ...head });
  exchange.end(all);
}

/** Answers a path that is not a method. */
export function answerUnknownGrpc(exchange: Exchange, error: ServiceError): void {
  exchange.answer(200, { ...HEAD, ...errorTrailers(error, "") }, "");
}

const UNITS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Undefined if there is none; NaN if it is malformed. */
export function grpcTimeoutMs({ headers }: Exchange): number | undefined {
  const header = headers["grpc-timeout"];
  if (header === undefined) return undefined;
  const [, digits = "", unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  return Number(digits === "" ? Number.NaN : digits) * (UNITS[unit] ?? Number.NaN);
}
