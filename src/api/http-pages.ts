/**
 * The pages for operators and browsers, by GET: health, metrics, the description of the API, and
 * the console at `/`.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { BUILD_INFO } from "../lib/build-info.ts";
import type { Metrics } from "../lib/metrics.ts";
import { ConsoleFiles } from "./console-files.ts";
import { docsPage } from "./docs-page.ts";
import { openApi } from "./openapi.ts";
import { JSON_TYPE } from "./protocols/json.ts";
import { workerPage } from "./worker-page.ts";
import type { Exchange } from "./transport/exchange.ts";

export interface HttpPagesOptions {
  readonly metrics: Metrics;
  readonly methods: readonly DescMethod[];
  /** Why the server cannot serve now; undefined if it can. */
  readonly notReady: () => string | undefined;
  /** Further detail for /readyz; it does not affect whether requests are answered. */
  readonly readyDetail: () => ReadyDetail | undefined;
}

/** What is switched off, as far as this process knows. */
export interface ReadyDetail {
  readonly killSwitch: {
    readonly on: boolean;
    readonly by: string;
    readonly reason: string;
  };
  /** Namespaces whose splits are paused; only the first few. */
  readonly paused: readonly string[];
  /** Whether this machine's clock is in doubt, and what that means. */
  readonly clock: {
    readonly inDoubt: boolean;
    readonly believedTime: string;
    readonly message: string;
  };
  /** Why events are refused while reads are answered; left out if they are not. */
  readonly readOnly?: string | undefined;
}

interface Page {
  readonly status?: number;
  readonly type: string;
  readonly body: string;
}

const HEALTHY = JSON.stringify({ status: "ok", ...BUILD_INFO });
const HTML_TYPE = "text/html; charset=utf-8";

const SECURITY = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

export class HttpPages {
  readonly #pages: ReadonlyMap<string, () => Page | Promise<Page>>;
  /** A worker has none: it has no methods that a console could call. */
  readonly #console: ConsoleFiles | undefined;

  constructor({ metrics, methods, notReady, readyDetail }: HttpPagesOptions) {
    // Both depend only on the descriptors, so each is made once, on first use.
    const description = once(() => JSON.stringify(openApi(methods)));
    // A worker has no methods: its page shows what it has instead.
    const docs = once(() => (methods.length === 0 ? workerPage() : docsPage(methods)));
    this.#pages = new Map<string, () => Page | Promise<Page>>([
      ["/metrics", async () => ({ type: metrics.contentType, body: await metrics.text() })],
      ["/healthz", () => ({ type: JSON_TYPE, body: HEALTHY })],
      ["/readyz", () => readiness(notReady(), readyDetail())],
      ["/openapi.json", () => ({ type: JSON_TYPE, body: description() })],
      ["/docs", () => ({ type: HTML_TYPE, body: docs() })],
      ...(methods.length === 0 ? [["/", () => ({ type: HTML_TYPE, body: docs() })] as const] : []),
    ]);
    this.#console = methods.length === 0 ? undefined : new ConsoleFiles();
  }

  has(exchange: Exchange): boolean {
    return this.#pages.has(exchange.path) || this.#console?.has(exchange) === true;
  }

  /** Rejects only because of a bug. */
  async answer(exchange: Exchange): Promise<void> {
    const page = await this.#pages.get(exchange.path)?.();
    if (page === undefined) return this.#console?.answer(exchange);
    const headers = { ...SECURITY, "content-type": page.type, "cache-control": "no-store" };
    exchange.answer(page.status ?? 200, headers, page.body);
  }
}

function readiness(why: string | undefined, detail: ReadyDetail | undefined): Page {
  const readiness = why === undefined ? { status: "ready" } : { status: "not ready", why };
  return {
    status: why === undefined ? 200 : 503,
    type: JSON_TYPE,
    body: JSON.stringify({ ...readiness, ...detail }),
  };
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
