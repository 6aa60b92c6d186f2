/**
 * Sends ended spans to a receiver, in batches, one at a time, beside the work.
 *
 * Nothing waits for it: what does not fit into its queue is dropped, and what the receiver does not
 * take after some attempts too. Both are counted.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { backOffMs } from "../../lib/back-off.ts";
import { BUILD_INFO } from "../../lib/build-info.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Random } from "../../lib/random.ts";
import { otlpJson } from "./otlp-json.ts";
import type { SpanResult } from "../runtime.ts";
import type { EndedSpan } from "./span-recorder.ts";
import type { TracingSettings } from "./tracing-settings.ts";

export interface SpanExporterOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settings: Omit<TracingSettings, "sampled">;
}

const ATTEMPTS_MAX = 5;
const BACK_OFF = { firstMs: 1_000, maxMs: 30_000 };
/** What a process that stops spends on the spans it still has. */
const LAST_MS = 2_000;
/** By the standard, these alone may be tried again. */
const TRY_AGAIN = new Set([429, 502, 503, 504]);

type Sent = "taken" | { readonly why: string; readonly again: boolean };

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #waiting: EndedSpan[] = [];
  readonly #counts: Record<SpanResult, number> = { sent: 0, dropped: 0, failed: 0 };
  #wake = new AbortController();
  /** Whether the last batch failed: only a change is logged. */
  #failing = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
  }

  get counts(): Readonly<Record<SpanResult, number>> {
    return this.#counts;
  }

  add(span: EndedSpan): void {
    const { queueMax, batchMax } = this.#options.settings;
    if (this.#waiting.length >= queueMax) {
      this.#counts.dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= batchMax) this.#wake.abort();
  }

  /** Sends until the signal aborts, and then what is left, for a moment. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      if (this.#waiting.length < settings.batchMax) {
        await clock.sleep(settings.delayMs, AbortSignal.any([signal, this.#wake.signal]));
      }
      const batch = this.#waiting.splice(0, settings.batchMax);
      if (batch.length > 0) await this.#sendAgainAndAgain(batch, signal);
    }
    const endMs = clock.monotonicMs() + LAST_MS;
    while (this.#waiting.length > 0) {
      const leftMs = endMs - clock.monotonicMs();
      const batch = this.#waiting.splice(0, settings.batchMax);
      this.#settle(batch, leftMs <= 0 ? GIVEN_UP : await this.#send(batch, leftMs));
    }
  }

  async #sendAgainAndAgain(batch: readonly EndedSpan[], signal: AbortSignal): Promise<void> {
    const { clock, random, settings } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const sent = await this.#send(batch, settings.timeoutMs);
      const last = attempt === ATTEMPTS_MAX || signal.aborted;
      if (sent === "taken" || !sent.again || last) return this.#settle(batch, sent);
      this.#told(sent);
      await clock.sleep(backOffMs(attempt, BACK_OFF, random), signal);
    }
  }

  #settle(batch: readonly EndedSpan[], sent: Sent): void {
    this.#counts[sent === "taken" ? "sent" : "failed"] += batch.length;
    this.#told(sent);
  }

  #told(sent: Sent): void {
    const failing = sent !== "taken";
    if (failing === this.#failing) return;
    this.#failing = failing;
    const { log, settings } = this.#options;
    const { origin } = new URL(settings.url);
    if (failing) log.warn({ receiver: origin, why: sent.why }, "traces cannot be sent");
    else log.info({ receiver: origin }, "traces are sent again");
  }

  async #send(batch: readonly EndedSpan[], timeoutMs: number): Promise<Sent> {
    const { clock, settings } = this.#options;
    const { url, headers, resource } = settings;
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () => late.abort());
    try {
      const json = otlpJson(resource, BUILD_INFO.version, batch);
      const response = await fetch(url, {
        method: "POST",
        headers: {
          ...headers,
          "content-type": "application/json",
          ...(settings.gzip && { "content-encoding": "gzip" }),
        },
        body: settings.gzip ? await promisify(gzip)(json) : json,
        redirect: "error",
        signal: late.signal,
      });
      await response.body?.cancel();
      if (response.ok) return "taken";
      return { why: `status ${response.status}`, again: TRY_AGAIN.has(response.status) };
    } catch (error) {
      // The cause of fetch's error says more than its message.
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const why = late.signal.aborted ? `no answer within ${timeoutMs} ms` : String(cause);
      return { why, again: true };
    } finally {
      cancel();
    }
  }
}

const GIVEN_UP: Sent = { why: "the process stops", again: false };
