/**
 * Callers of two namespaces whose slices come and go: in one, slices of a few seconds are made,
 * sealed, closed and dropped; in the other, the tuner changes the partitioning of coming slices,
 * by itself or when an operator accepts what it proposes.
 */
import { Ledger } from "../e2e/splits-ledger.ts";
import { shortSlices, TOO_NARROW } from "../e2e/tuning-support.ts";
import { collectWrong, judgedRead, often } from "./callers.ts";
import type { CallerContext, Callers } from "./callers.ts";

const SECOND = 1_000_000;
const SLICE_SECONDS = 5;
const CLOSE_SECONDS = 120;
/** Events younger than this are in slices that are not closed yet, however slow the machine is. */
const KEPT_SECONDS = 40;
/** Likewise in the other namespace, whose slices are closed after 1,000 s. */
const TUNED_KEPT_SECONDS = 800;
const BATCH = 8;
const EVENT_BYTES = 200;

export class SliceCallers implements Callers {
  readonly #context: CallerContext;
  readonly #dropped: string;
  readonly #tuned: string;
  readonly #ledger = new Ledger();
  readonly #tunedLedger = new Ledger();
  readonly #began = Date.now() * 1_000;

  constructor(context: CallerContext) {
    this.#context = context;
    this.#dropped = `dropped_${context.era}`;
    this.#tuned = `tuned_${context.era}`;
  }

  get eventsJudged(): number {
    return this.#ledger.eventsJudged + this.#tunedLedger.eventsJudged;
  }

  get eventsAcknowledged(): number {
    return this.#ledger.acknowledged + this.#tunedLedger.acknowledged;
  }

  async begin(): Promise<void> {
    const { patient, era } = this.#context;
    await patient.createNamespace(this.#dropped, {
      timePartition: { secondsPerTimeSlice: SLICE_SECONDS, secondsPerTimeBucket: SLICE_SECONDS },
      acceptLimit: "2s",
      futureLimit: "1s",
      retention: { closeAfter: `${CLOSE_SECONDS}s`, deleteAfter: `${CLOSE_SECONDS + 8}s` },
      tuning: { mode: "OFF" },
    });
    const { partition, target } = TOO_NARROW;
    const mode = era % 2 === 0 ? "AUTO" : "PROPOSE";
    await patient.createNamespace(this.#tuned, shortSlices(partition, { mode, ...target }));
  }

  call(signal: AbortSignal): readonly Promise<void>[] {
    const context = this.#context;
    return [
      often(context, 80, signal, () => this.#write(this.#dropped, this.#ledger, "p", EVENT_BYTES)),
      often(context, 200, signal, () => this.#readNewest()),
      often(context, 500, signal, () => this.#writeTuned()),
      often(context, 400, signal, () => this.#decide()),
    ];
  }

  async check(): Promise<void> {
    await this.#judgeNewest(this.#context.patient);
    for (const series of tunedIds()) {
      const now = Date.now() * 1_000;
      const from = Math.max(this.#began, now - TUNED_KEPT_SECONDS * SECOND);
      const query = { series, from, to: now + SECOND };
      const whole = { ...query, order: "OLDEST_FIRST", over: "stream" } as const;
      await this.#tunedLedger.read([this.#context.patient], this.#tuned, whole);
    }
    collectWrong(this.#context, this.#dropped, this.#ledger);
    collectWrong(this.#context, this.#tuned, this.#tunedLedger);
  }

  async end(): Promise<void> {
    const { patient } = this.#context;
    await this.check();
    await patient.deleteNamespace(this.#dropped, { purge: true });
    await patient.deleteNamespace(this.#tuned, { purge: true });
  }

  async #write(namespace: string, ledger: Ledger, series: string, bytes: number): Promise<void> {
    const { calls, client } = this.#context;
    const now = Date.now() * 1_000;
    const count = namespace === this.#tuned ? 1 : BATCH;
    const events = Array.from({ length: count }, (_, n) => ledger.event(series, now + n, bytes));
    const answer = await calls.make("write", () =>
      client.writeSync(namespace, events, { failures: "return" }),
    );
    if (answer.kind !== "done") return;
    ledger.acknowledge(events, new Set(answer.value.failures.map(({ index }) => index)));
  }

  /** One event of each id. */
  async #writeTuned(): Promise<void> {
    const { eventBytes } = TOO_NARROW.traffic;
    for (const series of tunedIds()) {
      await this.#write(this.#tuned, this.#tunedLedger, series, eventBytes);
    }
  }

  async #readNewest(): Promise<void> {
    const from = Date.now() * 1_000 - KEPT_SECONDS * SECOND;
    const query = { series: "p", from, to: from + KEPT_SECONDS * SECOND } as const;
    const newest = { ...query, order: "NEWEST_FIRST", over: 500 } as const;
    await judgedRead(this.#context, this.#ledger, this.#dropped, newest);
    collectWrong(this.#context, this.#dropped, this.#ledger);
  }

  async #judgeNewest(client: CallerContext["client"]): Promise<void> {
    const now = Date.now() * 1_000;
    const query = { series: "p", from: now - KEPT_SECONDS * SECOND, to: now + SECOND };
    const whole = { ...query, order: "OLDEST_FIRST", over: "stream" } as const;
    await this.#ledger.read([client], this.#dropped, whole);
  }

  /** The tuner leaves a namespace alone that nobody reads. */
  async #decide(): Promise<void> {
    const { calls, client, random } = this.#context;
    const now = Date.now() * 1_000;
    const query = { series: random.one(tunedIds()), from: now - 10 * SECOND, to: now };
    const newest = { ...query, order: "NEWEST_FIRST", over: 100 } as const;
    await judgedRead(this.#context, this.#tunedLedger, this.#tuned, newest);
    const listed = await calls.make("list tunings", () => client.listTunings(this.#tuned));
    if (listed.kind !== "done") return;
    if (listed.value.nothingWhy === "CLOCK_IN_DOUBT") {
      await calls.make("confirm clock", () => client.confirmClock());
    }
    const proposed = listed.value.tunings.find(({ state }) => state === "PROPOSED");
    if (proposed === undefined) return;
    const decision = { accept: random.chance(0.7), reason: "torture" };
    await calls.make("decide tuning", () =>
      client.decideTuning(this.#tuned, proposed.id, decision),
    );
  }
}

function tunedIds(): string[] {
  return Array.from({ length: TOO_NARROW.traffic.ids }, (_, nth) => `id-${nth}`);
}
