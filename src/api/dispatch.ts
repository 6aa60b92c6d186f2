/**
 * Decides what answers an exchange: a page, or a method through the protocol that its content type
 * names.
 *
 * Nothing that arrives makes this throw, and every exchange gets an answer or is cut off.
 */
import { ServiceError } from "../lib/errors.ts";
import { nearest } from "../lib/nearest.ts";
import { browserProblem, crossSiteProblem } from "./browser-guard.ts";
import type { Calls } from "./calls.ts";
import { pathOf } from "./methods/method.ts";
import type { Method } from "./methods/method.ts";
import type { HttpPages } from "./http-pages.ts";
import type { BuiltInMethods } from "./protocols/grpc-built-in.ts";
import { isConnect } from "./protocols/connect-request.ts";
import { answerConnect, refuseConnect } from "./protocols/connect.ts";
import { answerGrpc, answerUnknownGrpc, isGrpc } from "./protocols/grpc.ts";
import { answerError, answerJson } from "./protocols/json.ts";
import type { Exchange } from "./transport/exchange.ts";

export interface DispatchOptions {
  readonly methods: readonly Method[];
  readonly calls: Calls;
  readonly pages: HttpPages;
  readonly builtIn: BuiltInMethods;
  /** Host names that requests may use, besides addresses and this machine's own names. */
  readonly allowedHosts: readonly string[];
  /** Called with the error when a bug ends an exchange, which is then cut off. */
  readonly failed: (error: unknown) => void;
}

export class Dispatch {
  readonly #options: DispatchOptions;
  readonly #methods: ReadonlyMap<string, Method>;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#methods = new Map(options.methods.map((method) => [pathOf(method), method]));
  }

  handle(exchange: Exchange): void {
    try {
      Promise.resolve(this.#answer(exchange)).catch((error: unknown) => this.#bug(exchange, error));
    } catch (error) {
      this.#bug(exchange, error);
    }
  }

  #answer(exchange: Exchange): Promise<void> | void {
    const { calls, allowedHosts } = this.#options;
    const protocol = protocolOf(exchange);
    const { path, verb } = exchange;
    const method = this.#methods.get(path);
    const problem =
      browserProblem(exchange.headers, allowedHosts) ??
      crossSiteProblem(exchange.headers, method === undefined ? "page" : "method");
    const callable = method !== undefined && problem === undefined;
    if (callable && protocol === "connect" && verb !== "OPTIONS") {
      return answerConnect(exchange, method, calls);
    }
    if (callable && verb === "POST") {
      if (protocol === "json") return answerJson(exchange, method, calls);
      if (exchange.httpVersion === 2) return answerGrpc(exchange, method, calls);
    }
    if (!calls.aside(exchange)) return;
    if (problem !== undefined) return refuse(exchange, protocol, "REQUEST_INVALID", problem);
    return this.#answerAside(exchange, method, protocol);
  }

  /** Everything but methods. */
  #answerAside(
    exchange: Exchange,
    method: Method | undefined,
    protocol: Protocol,
  ): Promise<void> | void {
    const { pages, builtIn } = this.#options;
    const { path, verb } = exchange;
    if (method !== undefined && verb === "POST") {
      return refuse(exchange, "json", "REQUEST_INVALID", "gRPC needs HTTP/2");
    }
    if (protocol === "grpc" && builtIn.has(path)) return builtIn.answer(exchange);
    if ((verb === "GET" || verb === "HEAD") && pages.has(exchange)) return pages.answer(exchange);
    if (verb === "OPTIONS" && (method !== undefined || pages.has(exchange))) {
      const allow = method === undefined ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
      return exchange.answer(204, { allow }, "");
    }
    return refuse(exchange, protocol, "METHOD_NOT_FOUND", this.#notFound(verb, path));
  }

  #notFound(verb: string, path: string): string {
    const paths = [...this.#methods.keys()];
    const known = paths.find((candidate) => candidate.toLowerCase() === path.toLowerCase());
    const named = nearest(
      path.split("/").at(-1) ?? "",
      paths.map((candidate) => candidate.split("/").at(-1) ?? ""),
    );
    const meant = known ?? paths.find((candidate) => candidate.endsWith(`/${named ?? ""}`));
    const hint =
      meant === undefined
        ? "methods are POST /braid.v1.<Service>/<Method>; /docs lists them"
        : `did you mean POST ${meant}?`;
    return `there is no ${verb} ${path.slice(0, 200)}; ${hint}`;
  }

  #bug(exchange: Exchange, error: unknown): void {
    this.#options.failed(error);
    exchange.cut();
  }
}

type Protocol = "grpc" | "connect" | "json";

function protocolOf(exchange: Exchange): Protocol {
  if (isGrpc(exchange.headers["content-type"])) return "grpc";
  return isConnect(exchange) ? "connect" : "json";
}

function refuse(
  exchange: Exchange,
  protocol: Protocol,
  code: "REQUEST_INVALID" | "METHOD_NOT_FOUND",
  why: string,
): void {
  const error = new ServiceError(code, why);
  if (protocol === "connect") refuseConnect(exchange, error);
  else if (protocol === "grpc" && exchange.httpVersion === 2) answerUnknownGrpc(exchange, error);
  else answerError(exchange, error);
}
