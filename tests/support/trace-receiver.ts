/** A receiver of traces, as OpenTelemetry's collector is one: it keeps what it is sent. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly ReceivedValue[];
  readonly status: { readonly code?: number; readonly message?: string };
}

export interface ReceivedValue {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}

interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly ReceivedValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
  }[];
}

export class TraceReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
  resource: Readonly<Record<string, string>> = {};
  /** The statuses of the next answers; then 200. */
  readonly statuses: number[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TraceReceiver> {
    const server = createServer();
    const receiver = new TraceReceiver(server);
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const sent = await buffer(request);
      receiver.requests.push({ path: request.url ?? "", headers: request.headers });
      const status = receiver.statuses.shift() ?? 200;
      if (status === 200) {
        const zipped = request.headers["content-encoding"] === "gzip";
        const body = JSON.parse((zipped ? gunzipSync(sent) : sent).toString()) as Body; // Ours.
        for (const { resource, scopeSpans } of body.resourceSpans) {
          receiver.resource = valuesOf(resource.attributes);
          for (const { spans } of scopeSpans) receiver.spans.push(...spans);
        }
      }
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    };
    server.on("request", (request, response) => void answer(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // It listens on TCP.
  }

  /** The spans below this one, at any depth. */
  below({ traceId, spanId }: ReceivedSpan): ReceivedSpan[] {
    const children = this.spans.filter(
      (span) => span.traceId === traceId && span.parentSpanId === spanId,
    );
    return children.flatMap((child) => [child, ...this.below(child)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** All values as text. */
export function valuesOf(attributes: readonly ReceivedValue[]): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]),
  );
}
