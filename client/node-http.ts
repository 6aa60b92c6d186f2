/**
 * HTTP by Node's own `node:http`, over connections that stay open between calls. A small call costs
 * less than half of what it costs by `fetch`.
 *
 * The module is asked for at run time and never imported: bundlers for browsers find nothing of
 * Node here.
 */
import type { CallSignal } from "./call-signal.ts";
import { joined, tooLong } from "./http.ts";
import type { HttpAnswer, HttpRequest, SendHttp } from "./http.ts";

/** Sends by `node:http` or `node:https`; undefined where there is none. */
export function nodeHttp(address: string): SendHttp | undefined {
  const url = new URL(address);
  const client = builtIn<NodeHttp>(url.protocol === "https:" ? "node:https" : "node:http");
  const server = builtIn<NodeUrl>("node:url")?.urlToHttpOptions(url);
  if (client === undefined || server === undefined) return undefined;
  // Idle connections do not keep the program running, and close before the server closes them.
  const base = { ...server, method: "POST", agent: new client.Agent({ keepAlive: true }) };
  const prefix = url.pathname.replace(/\/$/, "");
  return (request, scope) =>
    send(client, { ...base, path: `${prefix}/${request.path}` }, request, scope);
}

function send(
  client: NodeHttp,
  options: RequestOptions,
  { headers, body }: HttpRequest,
  scope: CallSignal,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    scope.throwIfAborted();
    const request = client.request({ ...options, headers });
    const stop = scope.onAbort(() => {
      request.destroy();
      reject(reasonOf(scope));
    });
    request.on("error", (error) => {
      stop();
      reject(error);
    });
    request.on("response", (response) => {
      stop();
      resolve(new NodeAnswer(response, scope));
    });
    // With the whole body at hand, Node sends its length and one packet.
    request.end(body);
  });
}

class NodeAnswer implements HttpAnswer {
  readonly #response: IncomingMessage;
  readonly #scope: CallSignal;
  readonly #stop: () => void;

  constructor(response: IncomingMessage, scope: CallSignal) {
    this.#response = response;
    this.#scope = scope;
    this.#stop = scope.onAbort(() => response.destroy());
    response.on("close", this.#stop);
    // The body is read by others, who get the error; without a listener here it would end Node.
    response.on("error", this.#stop);
  }

  get status(): number {
    return this.#response.statusCode;
  }

  header(name: string): string | undefined {
    const value = this.#response.headers[name];
    return typeof value === "string" ? value : value?.join(", ");
  }

  body(bytesMax: number): Promise<Uint8Array> {
    const response = this.#response;
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let length = 0;
      response.on("data", (chunk) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length <= bytesMax) return;
        chunks.length = 0;
        reject(tooLong(bytesMax));
        response.destroy();
      });
      response.on("end", () => {
        this.#stop();
        resolve(joined(chunks, length));
      });
      response.on("error", (error) => reject(this.#reasonOf(error)));
      response.on("close", () => reject(this.#reasonOf(new Error("the answer is incomplete"))));
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* this.#response;
    } catch (error) {
      throw this.#reasonOf(error);
    } finally {
      this.#stop();
    }
  }

  /** Why reading failed: the reason of the abort, if that closed the connection. */
  #reasonOf(error: unknown): Error {
    return reasonOf(this.#scope, error);
  }
}

function reasonOf(scope: CallSignal, error?: unknown): Error {
  return (scope.aborted ? scope.reason : error) as Error;
}

function builtIn<T>(name: string): T | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => T | undefined };
  };
  return process?.getBuiltinModule?.(name);
}

// What is used of Node: the client is compiled without Node's types, for browsers too.

type RequestOptions = Readonly<Record<string, unknown>>;

interface NodeHttp {
  readonly Agent: new (options: { keepAlive: boolean }) => object;
  request(options: RequestOptions): ClientRequest;
}

interface NodeUrl {
  urlToHttpOptions(url: URL): RequestOptions;
}

interface ClientRequest {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "response", listener: (response: IncomingMessage) => void): unknown;
  end(body: string | Uint8Array): unknown;
  destroy(): unknown;
}

interface IncomingMessage extends AsyncIterable<Uint8Array> {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end" | "close", listener: () => void): unknown;
  destroy(): unknown;
}
