/**
 * Callers of one namespace with wide partitions: they write and read, have splits made, taken back
 * and made again, and an operator changes the configuration, the read mode, the kill switch, the
 * pause of splits and blocked ids.
 */
import type { NamespaceChange, NewEvent, Split } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import type { JudgedQuery } from "../e2e/splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  eventually,
  isServable,
  shortBuckets,
} from "../e2e/splits-support.ts";
import { checkPromise, collectWrong, judgedRead, often } from "./callers.ts";
import type { CallerContext, Callers } from "./callers.ts";
import { Promised } from "./promised.ts";

const SECOND = 1_000_000;
const BUCKET_SECONDS = 60;
const SETTLED = ["settled-0", "settled-1", "settled-2"];
/** Of each: about 12 parts. */
const SETTLED_EVENTS = { count: 900, bytes: 800 };
const LIVE = ["live-0", "live-1"];
const BLOCKED = ["blocked-0", "blocked-1"];
const BATCH = 10;
const EVENT_BYTES = 600;
/** Raised, it re-opens time whose splits are served. */
const ACCEPT_LIMITS = ["3s", "3s", "20s", "400s"];
const LAYOUTS = ["PACKED", "ROWS"] as const;
const READ_MODES = ["OFF", "SHADOW", "COMPARE", "SERVE"] as const;
const WHY = { reason: "torture" };

export class SplitCallers implements Callers {
  readonly #context: CallerContext;
  readonly #name: string;
  readonly #ledger = new Ledger();
  readonly #from = bucketBefore(BUCKET_SECONDS, 5);
  readonly #acceptLimit = new Promised<string>("acceptLimit", "300s");
  readonly #layout = new Promised<string>("layout", "PACKED");
  readonly #mode = new Promised<string>("read mode", "SHADOW");
  readonly #killSwitch = new Promised<boolean>("kill switch", false);
  readonly #paused = new Promised<boolean>("splits are paused", false);
  readonly #blocked = new Map(
    BLOCKED.map((id) => [id, new Promised<boolean>(`block of ${id}`, false)]),
  );

  constructor(context: CallerContext) {
    this.#context = context;
    this.#name = `wide_${context.era}`;
  }

  get eventsJudged(): number {
    return this.#ledger.eventsJudged;
  }

  get eventsAcknowledged(): number {
    return this.#ledger.acknowledged;
  }

  async begin(): Promise<void> {
    const { patient } = this.#context;
    await patient.createNamespace(this.#name, shortBuckets(BUCKET_SECONDS));
    const to = this.#from + BUCKET_SECONDS * SECOND;
    for (const series of SETTLED) {
      const events = eventsOver(this.#ledger, series, this.#from, to, SETTLED_EVENTS);
      await this.#ledger.write(patient, this.#name, events);
    }
    await this.#setAcceptLimit("3s");
    await this.#setMode("SERVE");
  }

  call(signal: AbortSignal): readonly Promise<void>[] {
    const context = this.#context;
    return [
      ...LIVE.map((series) => often(context, 60, signal, () => this.#write(series))),
      often(context, 120, signal, () => this.#write(context.random.one(BLOCKED))),
      often(context, 120, signal, () => this.#read()),
      often(context, 150, signal, () => this.#splitAgain()),
      often(context, 150, signal, () => this.#operate()),
    ];
  }

  /** How far its splits are: "SPLITTING", "unconfirmed". */
  async stages(): Promise<string[]> {
    const listed = await this.#context.calls.make("list splits", () =>
      Array.fromAsync(this.#context.client.splits.list(this.#name)),
    );
    if (listed.kind !== "done") return [];
    return listed.value.map((split) =>
      split.state === "COMPLETED" && !isServable(split) ? "unconfirmed" : split.state,
    );
  }

  async check(): Promise<void> {
    const context = this.#context;
    const { patient } = context;
    const { config } = await patient.getNamespace(this.#name);
    checkPromise(context, this.#acceptLimit, config.acceptLimit);
    checkPromise(context, this.#layout, config.widePartition.layout);
    const mode = await patient.splits.getReadMode(this.#name);
    checkPromise(context, this.#mode, mode.mode);
    checkPromise(context, this.#paused, mode.splitsPause !== undefined);
    checkPromise(context, this.#killSwitch, mode.killSwitch.on);
    const blocked = await Array.fromAsync(patient.listBlockedIds(this.#name));
    for (const [id, promised] of this.#blocked) {
      const isBlocked = blocked.some(({ timeSeriesId }) => timeSeriesId === id);
      checkPromise(context, promised, isBlocked);
      if (!isBlocked) await this.#readWhole(id);
    }
    for (const series of [...SETTLED, ...LIVE]) await this.#readWhole(series);
    collectWrong(context, this.#name, this.#ledger);
  }

  async end(): Promise<void> {
    const { patient, wrong } = this.#context;
    await patient.splits.setKillSwitch(false, WHY);
    await patient.splits.resume(this.#name, WHY);
    await patient.splits.setReadMode(this.#name, "SERVE", { ...WHY, force: true });
    await patient.updateNamespace(this.#name, { acceptLimit: "3s" });
    await patient.unblockIds(this.#name, BLOCKED);
    for (const split of await this.#settledSplits()) {
      if (split.held) await patient.splits.retry(this.#name, split.preSplitData, WHY);
    }
    await eventually(
      "every settled id is split",
      async () => {
        for (const series of SETTLED) await this.#readWhole(series);
        return this.#settledSplits();
      },
      (splits) => splits.length === SETTLED.length && splits.every(isServable),
      300_000,
    );
    for (const series of [...SETTLED, ...LIVE, ...BLOCKED]) await this.#readWhole(series);
    const id = await patient.splits.startVerify(this.#name);
    const { differences, reason, state } = await eventually(
      "the splits are compared with their originals",
      () => patient.splits.getVerify(this.#name, id),
      (seen) => seen.state !== "RUNNING",
      300_000,
    );
    if (state !== "DONE") wrong.push(`${this.#name} cannot be verified: ${reason}`);
    for (const each of differences) wrong.push(`${this.#name}: ${JSON.stringify(each)}`);
    collectWrong(this.#context, this.#name, this.#ledger);
    await patient.deleteNamespace(this.#name, { purge: true });
  }

  async #readWhole(series: string): Promise<void> {
    const query: JudgedQuery = {
      series,
      from: this.#from,
      to: (Date.now() + 1_000) * 1_000,
      order: "OLDEST_FIRST",
      over: "stream",
    };
    await this.#ledger.read([this.#context.patient], this.#name, query);
  }

  async #write(series: string): Promise<void> {
    const now = Date.now() * 1_000;
    const events = Array.from({ length: BATCH }, (_, nth) =>
      this.#ledger.event(series, now + Math.floor(nth / 2), EVENT_BYTES),
    );
    await this.#send(events);
  }

  async #send(events: readonly NewEvent[]): Promise<void> {
    const { calls, client, wrong } = this.#context;
    const answer = await calls.make("write", () =>
      client.writeSync(this.#name, events, { failures: "return" }),
    );
    if (answer.kind !== "done") return;
    const { failures } = answer.value;
    this.#ledger.acknowledge(events, new Set(failures.map(({ index }) => index)));
    for (const { code, message } of failures) {
      const expected = ["EVENT_TOO_OLD", "OVERLOADED", "OUTCOME_UNKNOWN", "ID_BLOCKED"];
      if (!expected.includes(code)) wrong.push(`an event was answered ${code}: ${message}`);
    }
  }

  async #read(): Promise<void> {
    const { random } = this.#context;
    const series = random.one([...SETTLED, ...LIVE]);
    const now = Date.now() * 1_000;
    const settled = { from: this.#from, to: this.#from + BUCKET_SECONDS * SECOND };
    const interval = LIVE.includes(series) ? { from: now - 60 * SECOND, to: now } : settled;
    const query: JudgedQuery = {
      series,
      ...interval,
      order: random.one(["NEWEST_FIRST", "OLDEST_FIRST"]),
      over: random.one([250, 1_000, "stream"]),
    };
    await judgedRead(this.#context, this.#ledger, this.#name, query);
    collectWrong(this.#context, this.#name, this.#ledger);
  }

  /** Takes a finished split back and has it made again, or repeats what failed or was left. */
  async #splitAgain(): Promise<void> {
    const { calls, client, random } = this.#context;
    const listed = await calls.make("list splits", () => this.#settledSplits());
    if (listed.kind !== "done" || listed.value.length === 0) return;
    const split = random.one(listed.value);
    if (isServable(split) && random.chance(0.7)) {
      await calls.make("roll back", () =>
        client.splits.rollback(this.#name, split.preSplitData, WHY),
      );
    }
    await calls.make("retry", () => client.splits.retry(this.#name, split.preSplitData, WHY));
  }

  async #settledSplits(): Promise<Split[]> {
    const splits = await Array.fromAsync(this.#context.client.splits.list(this.#name));
    return splits.filter(({ preSplitData }) => SETTLED.includes(preSplitData.timeSeriesId));
  }

  /** Does what a kill is aimed at, or something else. */
  async #operate(): Promise<void> {
    const { wanted, random } = this.#context;
    const operation = this.#operations[wanted.call] ?? random.one(Object.values(this.#operations));
    await operation();
  }

  /** By the names of their calls. */
  readonly #operations: Readonly<Record<string, () => Promise<void>>> = {
    "set read mode": () => this.#setMode(this.#context.random.one(READ_MODES)),
    "set acceptLimit": () => this.#setAcceptLimit(this.#context.random.one(ACCEPT_LIMITS)),
    "set layout": () => this.#setLayout(this.#context.random.one(LAYOUTS)),
    "set kill switch": () => this.#setKillSwitch(this.#killSwitch.value === false),
    block: () => this.#block(this.#context.random.one(BLOCKED)),
    unblock: () => this.#unblock(this.#context.random.one(BLOCKED)),
    pause: async () => {
      await this.#setPaused(true);
      await this.#setPaused(false);
    },
    resume: () => this.#setPaused(false),
  };

  async #setMode(mode: (typeof READ_MODES)[number]): Promise<void> {
    const { calls, client } = this.#context;
    const options = { ...WHY, force: true, autoAdvance: false };
    await this.#mode.change(mode, () =>
      calls.make("set read mode", () => client.splits.setReadMode(this.#name, mode, options)),
    );
  }

  async #setAcceptLimit(acceptLimit: string): Promise<void> {
    const { calls, client } = this.#context;
    await this.#acceptLimit.change(acceptLimit, () =>
      calls.make("set acceptLimit", () => client.updateNamespace(this.#name, { acceptLimit })),
    );
  }

  async #setLayout(layout: (typeof LAYOUTS)[number]): Promise<void> {
    const { calls, client } = this.#context;
    const change: NamespaceChange = { widePartition: { layout } };
    await this.#layout.change(layout, () =>
      calls.make("set layout", () => client.updateNamespace(this.#name, change)),
    );
  }

  async #setKillSwitch(on: boolean): Promise<void> {
    const { calls, client } = this.#context;
    await this.#killSwitch.change(on, () =>
      calls.make("set kill switch", () => client.splits.setKillSwitch(on, WHY)),
    );
  }

  async #setPaused(paused: boolean): Promise<void> {
    const { calls, client } = this.#context;
    await this.#paused.change(paused, () =>
      paused
        ? calls.make("pause", () => client.splits.pause(this.#name, WHY))
        : calls.make("resume", () => client.splits.resume(this.#name, WHY)),
    );
  }

  async #block(id: string): Promise<void> {
    const { calls, client } = this.#context;
    await this.#blocked
      .get(id)
      ?.change(true, () =>
        calls.make("block", () => client.blockIds(this.#name, [{ timeSeriesId: id, ...WHY }])),
      );
  }

  async #unblock(id: string): Promise<void> {
    const { calls, client } = this.#context;
    await this.#blocked
      .get(id)
      ?.change(false, () => calls.make("unblock", () => client.unblockIds(this.#name, [id])));
  }
}
