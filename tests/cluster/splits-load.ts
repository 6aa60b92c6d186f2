/**
 * Callers of wide ids that never stop: some write all the time, also late events where allowed;
 * others read without a pause. The ledger checks every read against the events acknowledged before
 * it.
 */
import { setTimeout as pause } from "node:timers/promises";
import { BraidError } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import type { JudgedQuery, Ledger } from "../e2e/splits-ledger.ts";
import { DOCUMENTED } from "./steady-load.ts";

export interface SplitLoadOptions {
  readonly clients: readonly BraidClient[];
  readonly namespace: string;
  readonly ledger: Ledger;
  /** Ids that are written to all the time. */
  readonly live: readonly string[];
  /** Ids that were filled before. */
  readonly settled: readonly Pick<JudgedQuery, "series" | "from" | "to">[];
}

const BATCH = 8;
const EVENT_BYTES = 500;
const WRITE_PAUSE_MS = 250;
const READ_PAUSE_MS = 200;
const READERS = 2;
/** Readers read this much of the newest time of a live id. */
const WINDOW_MICROS = 60_000_000;
const SECOND = 1_000_000;

export class SplitLoad {
  readonly #options: SplitLoadOptions;
  readonly #running: Promise<void>[];
  readonly #answers = new Map<string, number>();
  readonly #live: readonly string[];
  #stopping = false;
  /** The greatest age of a written event, in microseconds. */
  lateMicros = 0;
  lateAcknowledged = 0;

  constructor(options: SplitLoadOptions) {
    this.#options = options;
    this.#live = options.live;
    this.#running = [
      ...this.#live.map((series, n) => this.#write(series, n)),
      ...Array.from({ length: READERS }, (_, n) => this.#read(n)),
    ];
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#running);
  }

  /** For test output: "read OK 120, write OK 80, …". */
  summary(): string {
    return [...this.#answers]
      .map(([name, count]) => `${name} ${count}`)
      .toSorted()
      .join(", ");
  }

  async #write(series: string, writer: number): Promise<void> {
    const { clients, ledger, namespace } = this.#options;
    for (let turn = 0; !this.#stopping; turn++) {
      const late = this.lateMicros;
      const now = Date.now() * 1_000;
      // Several in the same microsecond, and some late events beside current ones.
      const events = Array.from({ length: BATCH }, (_, i) => {
        const behind = i < 6 ? 0 : Math.floor((late * ((turn * 7) % 10)) / 10);
        return ledger.event(series, now - behind, EVENT_BYTES);
      });
      const result = await this.#ask("write", () =>
        at(clients, writer + turn).writeSync(namespace, events, { failures: "return" }),
      );
      if (result !== undefined) {
        for (const { code } of result.failures) this.#note("event", code);
        const refused = new Set(result.failures.map(({ index }) => index));
        ledger.acknowledge(events, refused);
        if (late > 0 && !refused.has(BATCH - 1)) this.lateAcknowledged++;
      }
      await pause(WRITE_PAUSE_MS);
    }
  }

  async #read(reader: number): Promise<void> {
    const { clients, ledger, namespace } = this.#options;
    const ways = [250, "stream", 1_000] as const;
    for (let turn = reader; !this.#stopping; turn++) {
      const query: JudgedQuery = {
        ...this.#intervalOf(turn),
        order: turn % 2 === 0 ? "NEWEST_FIRST" : "OLDEST_FIRST",
        over: at(ways, turn),
        ...(turn % 5 === 0 && { device: "ios" }),
      };
      const turned = [at(clients, turn), at(clients, turn + 1)];
      await this.#ask("read", () => ledger.read(turned, namespace, query));
      await pause(READ_PAUSE_MS);
    }
  }

  #intervalOf(turn: number): Pick<JudgedQuery, "series" | "from" | "to"> {
    const { settled } = this.#options;
    const n = Math.floor(turn / READERS);
    const chosen = settled[n % (settled.length + this.#live.length)];
    if (chosen !== undefined) return chosen;
    const now = Date.now() * 1_000;
    return { series: at(this.#live, n), from: now - WINDOW_MICROS, to: now + SECOND };
  }

  async #ask<T>(kind: "read" | "write", call: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await call();
      this.#note(kind, "OK");
      return result;
    } catch (error) {
      if (!(error instanceof BraidError)) throw error;
      this.#note(kind, error.code);
      return undefined;
    }
  }

  #note(kind: "read" | "write" | "event", code: string): void {
    const name = `${kind} ${code}`;
    this.#answers.set(name, (this.#answers.get(name) ?? 0) + 1);
    if (code === "OK" || DOCUMENTED.includes(code)) return;
    // The server may refuse an event that is late, or arrives late on a slow machine.
    if (kind !== "read" && code === "EVENT_TOO_OLD") return;
    this.#options.ledger.wrong.push(`${kind}: answered ${code}`);
  }
}

function at<T>(list: readonly T[], n: number): T {
  const found = list[n % list.length];
  if (found === undefined) throw new RangeError("the list is empty");
  return found;
}
