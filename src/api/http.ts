/**
 * Answers the methods over HTTP/JSON: `POST /braid.v1.<Service>/<Method>`, and what an operator asks for with GET.
 *
 * A request is admitted by its declared length before its body is read. A stream is lines of JSON, and
 * the next page is asked for when the socket has taken the last.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { fastify } from "fastify";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BUILD_INFO } from "../lib/build-info.ts";
import { CODES, ServiceError } from "../lib/errors.ts";
import type { Code } from "../lib/errors.ts";
import type { Metrics } from "../lib/metrics.ts";
import { nearest } from "../lib/nearest.ts";
import { browserProblem } from "./browser-guard.ts";
import { callerOf, OPERATOR_HEADER } from "./caller.ts";
import { docsPage } from "./docs-page.ts";
import { workerPage } from "./worker-page.ts";
import { errorJson, retryAfterMs } from "./error-map.ts";
import { REQUEST_ID_HEADER } from "./grpc-status.ts";
import { parseJsonBody } from "./json-body.ts";
import { pathOf } from "./methods/method.ts";
import type { Answer, JsonBody, Method, StreamMethod, UnaryMethod } from "./methods/method.ts";
import { openApi } from "./openapi.ts";
import { callerRequestId } from "./request-id.ts";
import type { OpenRequest, Requests } from "./requests.ts";

export interface HttpOptions {
  readonly methods: readonly Method[];
  readonly requests: Requests;
  readonly metrics: Metrics;
  readonly requestBytesMax: number;
  /** Whether only this machine can reach the server. */
  readonly loopbackOnly: boolean;
  /** Why the server cannot serve now; undefined if it can. */
  readonly notReady: () => string | undefined;
  /** What /readyz says beside that: whatever it is, requests are answered. */
  readonly readyDetail?: () => ReadyDetail;
}

/** What is switched off, as this process knows it. */
export interface ReadyDetail {
  readonly killSwitch: {
    readonly on: boolean;
    readonly by: string;
    readonly reason: string;
  };
  /** Namespaces whose splits are paused; the first of them. */
  readonly paused: readonly string[];
}

/** Of a caller that wants an answer sooner than by the default. */
const TIMEOUT_HEADER = "braid-timeout-ms";

/** Time for the headers, and for a whole request, to arrive: a slow sender must not hold a place for ever. */
const HEADERS_MS = 10_000;
const RECEIVE_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;
/** A connection on which nothing moves for this long, either way, is let go: its reader has stopped reading. */
const SILENT_MS = 120_000;

const JSON_TYPE = "application/json; charset=utf-8";
const LINES_TYPE = "application/x-ndjson; charset=utf-8";

export class HttpServer {
  readonly #app: FastifyInstance;
  readonly #options: HttpOptions;
  #draining = false;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#app = fastify({
      bodyLimit: options.requestBytesMax,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionTimeout: SILENT_MS,
      requestTimeout: RECEIVE_MS,
      http: { headersTimeout: HEADERS_MS },
      return503OnClosing: false,
      clientErrorHandler: answerBrokenHttp,
      frameworkErrors: (error, _request, reply) => {
        sendError(reply, new ServiceError("REQUEST_INVALID", error.message));
      },
    });
    this.#app.removeAllContentTypeParsers();
    this.#app.addContentTypeParser("*", { parseAs: "buffer" }, (request, body, done) => {
      try {
        const bytes = checkedBody(request, body);
        // A path that is no method has no request under way.
        opened.get(request)?.admitAll(bytes.length);
        done(null, parseJsonBody(bytes));
      } catch (error) {
        // Only ServiceErrors are thrown there.
        done(error as Error);
      }
    });
    this.#app.setNotFoundHandler((request, reply) => {
      sendError(reply, this.#notFound(request));
    });
    this.#app.setErrorHandler((error: FastifyError, request, reply) => {
      this.#fail(openOf(request), error, reply);
    });
    for (const method of options.methods) this.#addMethod(method);
    this.#addPages();
  }

  async ready(): Promise<void> {
    await this.#app.ready();
    // The server does not listen itself, but what watches over slow senders begins with this event.
    this.#server.emit("listening");
  }

  /** Takes over a connection that speaks HTTP/1.1. */
  take(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** Connections close after what they are answering; idle ones close now. */
  drain(): void {
    this.#draining = true;
    this.#server.closeIdleConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await this.#app.close();
  }

  get #server(): Server {
    return this.#app.server;
  }

  #addMethod(method: Method): void {
    this.#app.post(
      pathOf(method),
      { onRequest: (request, reply, done) => this.#begin(method, request, reply, done) },
      method.kind === "unary"
        ? (request, reply) => this.#answer(method, request, reply)
        : (request, reply) => this.#stream(method, request, reply),
    );
  }

  #begin(
    method: Method,
    request: FastifyRequest,
    reply: FastifyReply,
    done: (error?: Error) => void,
  ): void {
    const { headers } = request;
    const open = this.#options.requests.begin(
      method.desc.name,
      timeoutOf(headers[TIMEOUT_HEADER]),
      callerRequestId(headers[REQUEST_ID_HEADER]),
    );
    opened.set(request, open);
    reply.header(REQUEST_ID_HEADER, open.id);
    if (this.#draining) reply.header("connection", "close");
    reply.raw.once("close", () => {
      if (!reply.raw.writableFinished) open.callerGone();
      open.end(reply.raw.writableFinished ? "OK" : undefined);
    });
    try {
      const problem = browserProblem(headers, this.#options.loopbackOnly);
      if (problem !== undefined) throw new ServiceError("REQUEST_INVALID", problem);
      open.admit(firstBytes(headers, this.#options.requestBytesMax));
      done();
    } catch (error) {
      // Only ServiceErrors are thrown there.
      done(error as Error);
    }
  }

  async #answer(method: UnaryMethod, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const open = openOf(request);
    try {
      const parsed = method.fromJson(bodyOf(request), callerOf(request.headers[OPERATOR_HEADER]));
      open.namespace = parsed.namespace;
      const answer = await parsed.run(open.signal);
      await reply.header("content-type", JSON_TYPE).send(answer.json());
    } catch (error) {
      this.#fail(open, error, reply);
    }
  }

  async #stream(method: StreamMethod, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const open = openOf(request);
    try {
      const parsed = method.fromJson(bodyOf(request), callerOf(request.headers[OPERATOR_HEADER]));
      open.namespace = parsed.namespace;
      const pages = parsed.run(open.signal)[Symbol.asyncIterator]();
      // What fails before the first page can still be told by the status.
      const first = await pages.next();
      const lines = Readable.from(linesOf(open, first, pages), {
        objectMode: false,
        highWaterMark: 1,
      });
      // A stream that is left before its first line never starts the generator that would end the read.
      lines.once("close", () => void pages.return?.());
      await reply.header("content-type", LINES_TYPE).send(lines);
    } catch (error) {
      this.#fail(open, error, reply);
    }
  }

  #fail(open: OpenRequest | undefined, error: unknown, reply: FastifyReply): void {
    const cause = fastifyError(error, this.#options.requestBytesMax) ?? error;
    if (open === undefined) {
      const failure =
        cause instanceof ServiceError ? cause : new ServiceError("INTERNAL", "the server failed");
      sendError(reply, failure);
      return;
    }
    const failure = open.failureOf(cause);
    open.end(failure);
    if (failure === undefined) reply.hijack().raw.destroy();
    else sendError(reply, failure);
  }

  #notFound(request: FastifyRequest): ServiceError {
    const path = request.url.split("?", 1)[0] ?? "";
    const paths = this.#options.methods.map(pathOf);
    const known = paths.find((candidate) => candidate.toLowerCase() === path.toLowerCase());
    const named = nearest(
      path.split("/").at(-1) ?? "",
      this.#options.methods.map((method) => method.desc.name),
    );
    const meant = known ?? paths.find((candidate) => candidate.endsWith(`/${named ?? ""}`));
    const hint =
      meant === undefined
        ? "methods are POST /braid.v1.<Service>/<Method>; /docs lists them"
        : `did you mean POST ${meant}?`;
    return new ServiceError(
      "METHOD_NOT_FOUND",
      `there is no ${request.method} ${path.slice(0, 200)}; ${hint}`,
    );
  }

  #addPages(): void {
    const { metrics, notReady, readyDetail, methods } = this.#options;
    const descriptors = methods.map((method) => method.desc);
    const app = this.#app;
    app.get("/metrics", async (_request, reply) => {
      await reply.header("content-type", metrics.contentType).send(await metrics.text());
    });
    app.get("/healthz", (_request, reply) => {
      reply.header("content-type", JSON_TYPE).send(JSON.stringify({ status: "ok", ...BUILD_INFO }));
    });
    app.get("/readyz", (_request, reply) => {
      const why = this.#draining ? "the server is shutting down" : notReady();
      reply
        .code(why === undefined ? 200 : 503)
        .header("content-type", JSON_TYPE)
        .send(
          JSON.stringify({
            ...(why === undefined ? { status: "ready" } : { status: "not ready", why }),
            ...readyDetail?.(),
          }),
        );
    });
    // Both follow from the descriptors alone, so each is made once, when first asked for.
    let description: string | undefined;
    app.get("/openapi.json", (_request, reply) => {
      description ??= JSON.stringify(openApi(descriptors));
      reply.header("content-type", JSON_TYPE).send(description);
    });
    let page: string | undefined;
    for (const path of ["/", "/docs"]) {
      app.get(path, (_request, reply) => {
        page ??= methods.length === 0 ? workerPage() : docsPage(descriptors);
        reply
          .header("content-type", "text/html; charset=utf-8")
          .header(
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          )
          .header("x-content-type-options", "nosniff")
          .header("referrer-policy", "no-referrer")
          .send(page);
      });
    }
  }
}

const opened = new WeakMap<FastifyRequest, OpenRequest>();

function openOf(request: FastifyRequest): OpenRequest {
  return opened.get(request) as OpenRequest;
}

/** Lines of an answer that has begun: from here on an error is the last line. Never throws. */
async function* linesOf(
  open: OpenRequest,
  first: IteratorResult<Answer>,
  pages: AsyncIterator<Answer>,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (let next = first; next.done !== true; next = await pages.next()) {
      yield lineOf(next.value.json());
      open.progressed();
    }
  } catch (error) {
    const failure = open.failureOf(error);
    open.end(failure);
    if (failure !== undefined) yield Buffer.from(`{"error":${errorJson(failure)}}\n`);
  } finally {
    // A reader that left early must not leave the read behind it running.
    await pages.return?.();
  }
}

function lineOf(json: Uint8Array | string): Buffer {
  const body = typeof json === "string" ? Buffer.from(json) : json;
  return Buffer.concat([LINE_START, body, LINE_END]);
}

const LINE_START = Buffer.from('{"result":');
const LINE_END = Buffer.from("}\n");

function sendError(reply: FastifyReply, error: ServiceError): void {
  const retryMs = retryAfterMs(error);
  if (retryMs !== undefined) reply.header("retry-after", String(Math.ceil(retryMs / 1000)));
  void reply.code(CODES[error.code].http).header("content-type", JSON_TYPE).send(errorJson(error));
}

function bodyOf(request: FastifyRequest): JsonBody {
  // Without a body the parser is not asked; with one it made this.
  return (request.body as JsonBody | undefined) ?? { value: {}, bytes: 0 };
}

function checkedBody(request: FastifyRequest, body: string | Buffer): Buffer {
  const type = request.headers["content-type"];
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(type)) {
    throw new ServiceError(
      "REQUEST_INVALID",
      `the body must be JSON with content-type: application/json (with curl: --json '…'), not ${JSON.stringify(type.slice(0, 100))}`,
    );
  }
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new ServiceError("REQUEST_INVALID", "send the body as it is, without content-encoding");
  }
  return typeof body === "string" ? Buffer.from(body) : body;
}

/**
 * What a request is charged before its body has come: not what it says, or a few callers who only say so
 * would refuse everybody else. The rest is charged when it is there.
 */
function firstBytes(headers: FastifyRequest["headers"], requestBytesMax: number): number {
  const declared = Number(headers["content-length"] ?? 0);
  if (declared > requestBytesMax) throw tooLarge(requestBytesMax);
  const chunked = headers["transfer-encoding"] !== undefined;
  return chunked ? FIRST_BYTES_MAX : Math.min(declared, FIRST_BYTES_MAX);
}

const FIRST_BYTES_MAX = 64 * 1024;

function timeoutOf(header: string | string[] | undefined): number | undefined {
  const ms = typeof header === "string" ? Number(header) : Number.NaN;
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/** What the framework found wrong before a method saw the request. */
function fastifyError(error: unknown, requestBytesMax: number): ServiceError | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") return tooLarge(requestBytesMax);
  if (typeof error.code === "string" && error.code.startsWith("FST_ERR_CTP_")) {
    return new ServiceError("REQUEST_INVALID", error.message, { cause: error });
  }
  return undefined;
}

function tooLarge(requestBytesMax: number): ServiceError {
  return new ServiceError(
    "REQUEST_TOO_LARGE",
    `the request is larger than ${requestBytesMax} bytes; send it in several`,
    { details: { limit: requestBytesMax } },
  );
}

/** What is not HTTP, or too slow, or has too long headers, is answered here and let go. */
function answerBrokenHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code, message] = brokenHttp(error.code);
  const body = errorJson(new ServiceError(code, message));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: ${JSON_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function brokenHttp(code: string | undefined): [string, Code, string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        "431 Request Header Fields Too Large",
        "REQUEST_TOO_LARGE",
        "the headers are too large",
      ];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return ["408 Request Timeout", "DEADLINE_EXCEEDED", "the request did not arrive in time"];
    case undefined:
    default:
      return ["400 Bad Request", "REQUEST_INVALID", "this is not HTTP/1.1"];
  }
}
