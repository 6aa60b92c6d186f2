/**
 * A small world from a seed: servers, workers, writers, readers and an operator, on one virtual
 * clock, with crashes, delays, sleeping processes, paused machines, failing and lost calls, and a
 * queue that loses and repeats.
 *
 * Every read is checked against what was acknowledged before it began: events that were written,
 * and splits that an operator withdrew. At the end the faults stop; then every split must come to rest, everything served must still be right, and no split may
 * differ from its original.
 */
import { ServiceError } from "../../src/lib/errors.ts";
import { LinkedAbort } from "../../src/lib/linked-abort.ts";
import { listSplits } from "../../src/records/split-records.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import { IntegrityError } from "../../src/parts/part-reader.ts";
import { READ_MODES } from "../../src/model/read-mode.ts";
import type { SplitLocation } from "../../src/splits/use-cases.ts";
import { SPLIT_LAYOUTS } from "../../src/model/layouts.ts";
import { SPLIT_STRATEGIES } from "../../src/model/strategies/strategies.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import { Verifier } from "../../src/splits/verify/verifier.ts";
import { eventOfFrame } from "../../src/wire/frames.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { CALM } from "./faulty-parts.ts";
import type { Chaos } from "./faulty-parts.ts";
import { Model } from "./model.ts";
import type { ReadAsked, SimEvent } from "./model.ts";
import {
  isExpected,
  NAMESPACE,
  PAUSE_MAX_MS,
  PAUSES_APART_MS,
  startServer,
  startWorker,
  VIEW_MAX_AGE_MS,
} from "./processes.ts";
import type { Shared, SimServer, SimWorker } from "./processes.ts";
import { SeededRandom } from "./seeded-random.ts";
import { SimQueue } from "./sim-queue.ts";
import { Withdrawals } from "./withdrawals.ts";

const START = Date.UTC(2026, 2, 28, 12) * 1_000;
const SECOND = 1_000_000;
const SERIES = ["hot", "warm", "cold"];
const BUSY_SECONDS = 150;
const QUIET_SECONDS_MAX = 1_200;
const VERIFY_SECONDS_MAX = 300;
const ACCEPT_SECONDS = [15, 30, 60];

export interface SimReport {
  readonly seed: number;
  readonly events: number;
  readonly reads: number;
  /** Events of splits compared with their originals at the end. */
  readonly verified: number;
  readonly splits: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
}

/** Reports the failure and the command that reproduces it. */
export class SimFailure extends Error {
  constructor(seed: number, seconds: number, what: string) {
    super(`${what} (after ${seconds} s; npm run sim -- --seed ${seed} --worlds 1)`);
    this.name = "SimFailure";
  }
}

export async function simulate(seed: number): Promise<SimReport> {
  const world = new SimWorld(seed);
  await world.live();
  return world.report();
}

class SimWorld {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #clock = new VirtualClock(START);
  readonly #shared: Shared;
  readonly #model = new Model();
  readonly #counts = new Map<string, number>();
  readonly #chaos: Chaos;
  readonly #servers: SimServer[] = [];
  readonly #workers: SimWorker[] = [];
  readonly #over = new AbortController();
  #failure: string | undefined;
  #started = 0;
  #reads = 0;
  #verified = 0;
  #splits: Record<string, number> = {};
  /** Event ids are unique, except for deliberate repeats. */
  #written = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
    const faulty = this.#random.chance(0.85);
    this.#chaos = faulty
      ? {
          delayed: 0.2,
          delayMsMax: 200,
          asleep: this.#random.one([0, 0.001, 0.004]),
          asleepMsMax: 20_000,
          failed: this.#random.one([0, 0.005, 0.03]),
          lost: this.#random.one([0, 0.005, 0.02]),
        }
      : CALM;
    const world = { clock: this.#clock, catalog: new MemoryCatalog({ shared: true }) };
    const fail = (what: string): void => this.#fail(what);
    this.#shared = {
      ...world,
      withdrawals: new Withdrawals(world, VIEW_MAX_AGE_MS, fail),
      store: new MemoryStore(),
      queue: new SimQueue(this.#clock, this.#random.fork()),
      random: this.#random.fork(),
      count: (what) => this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1),
      trouble: (error) => {
        const fault = error instanceof ServiceError || error instanceof IntegrityError;
        if (!fault) this.#fail(textOf(error));
      },
    };
  }

  async live(): Promise<void> {
    await this.#create();
    const actors = [
      this.#writeOften(),
      this.#writeOften(),
      this.#readOften(),
      this.#readOften(),
      this.#operate(),
      this.#crashOften(),
      this.#pauseOften(),
    ];
    await this.#pass(BUSY_SECONDS);
    this.#over.abort();
    await this.#pass(30);
    await Promise.race([Promise.all(actors), this.#pass(60)]);
    await this.#quieten();
    await this.#restOfAll();
    await this.#judgeAll();
    await this.#verifyAll();
    for (const process of [...this.#servers, ...this.#workers]) process.kill();
  }

  report(): SimReport {
    return {
      seed: this.#seed,
      events: this.#model.acknowledged,
      reads: this.#reads,
      verified: this.#verified,
      splits: this.#splits,
      counts: Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    };
  }

  async #create(): Promise<void> {
    this.#startServer(CALM);
    this.#startServer(CALM);
    const [server] = this.#servers;
    const random = this.#random;
    const creating = server?.namespaces.create(NAMESPACE, {
      timePartition: {
        secondsPerTimeSlice: random.one([120, 240]),
        secondsPerTimeBucket: random.one([60, 120]),
        eventBuckets: random.one([1, 1, 2]),
      },
      acceptLimitMicros: 15 * SECOND,
      futureLimitMicros: 5 * SECOND,
      retention: { closeAfterMicros: 7_200 * SECOND, deleteAfterMicros: 10_800 * SECOND },
      slos: { read: { targetMs: 1 } },
      widePartition: {
        bytesMax: 65_536,
        targetBytes: 65_536,
        eventsMax: 100,
        maxParts: random.one([2, 4_096]),
        layout: random.one(SPLIT_LAYOUTS),
        strategy: random.one(["AUTO", ...SPLIT_STRATEGIES]),
      },
    });
    let created = false;
    void creating?.then(() => (created = true));
    for (let seconds = 0; !created && seconds < 120; seconds++) await this.#clock.advance(1_000);
    if (!created) this.#fail("the namespace cannot be created");
    for (const { way } of this.#servers) way.chaos = this.#chaos;
    this.#startWorker(this.#chaos);
    this.#startWorker(this.#chaos);
  }

  #startServer(chaos: Chaos): void {
    this.#servers.push(startServer(this.#shared, `server-${++this.#started}`, chaos));
  }

  #startWorker(chaos: Chaos): void {
    this.#workers.push(startWorker(this.#shared, `worker-${++this.#started}`, chaos));
  }

  /** Lets virtual time pass, and stops at the first failure. */
  async #pass(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      await this.#clock.advance(1_000);
      if (this.#failure !== undefined) this.#throw(this.#failure);
    }
  }

  #fail(what: string): void {
    this.#failure ??= what;
  }

  #throw(what: string): never {
    throw new SimFailure(this.#seed, Math.round(this.#clock.monotonicMs() / 1_000), what);
  }

  async #often(meanMs: number, act: () => Promise<void>): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      await this.#clock.sleep(this.#random.below(2 * meanMs), signal);
      if (signal.aborted) return;
      try {
        await act();
      } catch (error) {
        if (!signal.aborted && !isExpected(error)) this.#fail(textOf(error));
      }
    }
  }

  /** The caller gives up after a while, as real callers do. */
  async #call<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = new LinkedAbort(this.#over.signal.aborted ? NEVER : this.#over.signal);
    const timedOut = Promise.withResolvers<never>();
    const cancel = this.#clock.after(40_000, () => {
      deadline.abort();
      timedOut.reject(new ServiceError("DEADLINE_EXCEEDED", "the caller has given up"));
    });
    try {
      return await Promise.race([work(deadline.signal), timedOut.promise]);
    } finally {
      cancel();
      deadline.abort();
    }
  }

  #writeOften(): Promise<void> {
    return this.#often(700, async () => {
      const random = this.#random;
      const server = random.one(this.#servers);
      const now = this.#clock.nowMicros();
      const series = random.chance(0.75) ? "hot" : random.one(SERIES);
      const oneMoment = random.chance(0.2);
      const count = 1 + random.below(12);
      const late = random.below(18) * SECOND;
      const events: SimEvent[] = Array.from({ length: count }, () => ({
        series,
        time: oneMoment
          ? Math.floor((now - late) / (10 * SECOND)) * 10 * SECOND
          : now - late + random.below(4 * SECOND),
        id: `e${(this.#written += 1).toString(36)}`,
        padding: random.chance(0.02) ? 90_000 : 200 + random.below(2_500),
      }));
      await this.#write(server, events);
      // A repeat is the same event.
      if (random.chance(0.1)) await this.#write(random.one(this.#servers), events);
    });
  }

  async #write(server: SimServer, events: readonly SimEvent[]): Promise<void> {
    const encoded = events.map((event) => this.#model.encode(event));
    const result = await this.#call((signal) =>
      server.writer.write({ namespace: NAMESPACE, events: encoded, bytes: 1_000 }, signal),
    );
    const failed = new Set(result.failures.map(({ index }) => index));
    events.forEach((event, index) => {
      if (!failed.has(index)) this.#model.acknowledge(event);
    });
  }

  #readOften(): Promise<void> {
    return this.#often(1_000, async () => {
      const random = this.#random;
      const series = random.chance(0.8) ? "hot" : random.one(SERIES);
      const seconds = Math.floor((this.#clock.nowMicros() - START) / SECOND);
      const whole = random.chance(0.5);
      const from = whole ? 0 : random.below(seconds);
      const asked = {
        series,
        start: START - 60 * SECOND + from * SECOND,
        end: START + (whole ? seconds + 60 : from + 1 + random.below(120)) * SECOND,
        newestFirst: random.chance(0.6),
      };
      await this.#judge(this.#reading(), asked);
    });
  }

  /**
   * A server that may be read from. For `view_max_age` of its running time after a pause a server may
   * still follow splits of time that was re-opened meanwhile: no rule promises more.
   */
  #reading(): SimServer {
    const ready = this.#servers.filter(({ machine }) => machine.ranForMs >= VIEW_MAX_AGE_MS);
    if (ready.length > 0) return this.#random.one(ready);
    throw new ServiceError("STORAGE_UNAVAILABLE", "no server is ready");
  }

  /** A page may come from another server than the previous one. */
  async #judge(server: SimServer, asked: ReadAsked): Promise<void> {
    const random = this.#random;
    const began = this.#model.moment();
    const streamed = random.chance(0.3);
    const pageSize = random.one([asked.end - asked.start > 100 * SECOND ? 60 : 7, 200, 1_000]);
    const query: ReadQuery = {
      namespace: NAMESPACE,
      seriesId: asked.series,
      start: asked.start,
      end: asked.end,
      filters: [],
      order: asked.newestFirst ? "NEWEST_FIRST" : "OLDEST_FIRST",
      pageSize,
      totalLimit: 0,
      pageToken: "",
      allowPartial: false,
    };
    const frames: Uint8Array[] = [];
    if (streamed) {
      await this.#call((signal) =>
        this.#shared.withdrawals.begin(server, async () => {
          for await (const page of server.reader.stream(query, signal))
            addFrames(frames, page.chunks);
        }),
      );
    } else {
      let pageToken = "";
      do {
        const from = random.chance(0.3) ? this.#reading() : server;
        const read = { ...query, pageToken };
        const page = await this.#call((signal) =>
          this.#shared.withdrawals.begin(from, () => from.reader.readPage(read, signal)),
        );
        addFrames(frames, page.chunks);
        ({ nextPageToken: pageToken } = page);
      } while (pageToken !== "");
    }
    this.#reads++;
    const problem = this.#model.problemOf(asked, began, frames);
    if (problem !== undefined)
      this.#fail(`a read of ${JSON.stringify(asked)} is wrong: ${problem}`);
  }

  #operate(): Promise<void> {
    return this.#often(12_000, async () => {
      const random = this.#random;
      const server = random.one(this.#servers);
      const operatorRequest = { by: "operator", reason: "why not" };
      const { withdrawals } = this.#shared;
      switch (random.below(8)) {
        case 0:
          await this.#call(() => server.splits.pause(NAMESPACE, operatorRequest));
          await this.#clock.sleep(random.below(10_000));
          await this.#call(() => server.splits.resume(NAMESPACE));
          break;
        case 1: {
          const options = { force: true, autoAdvance: true };
          await this.#call(() =>
            server.modes.set(NAMESPACE, random.one(READ_MODES), options, operatorRequest),
          );
          break;
        }
        case 2:
        case 3: {
          const acceptLimitMicros = random.one(ACCEPT_SECONDS) * SECOND;
          await this.#call(() => server.namespaces.update(NAMESPACE, { acceptLimitMicros }, []));
          await withdrawals.isReopened(this.#servers, NAMESPACE, await this.#records());
          this.#shared.count("acceptLimit set");
          break;
        }
        case 4:
          this.#shared.queue.replay();
          break;
        case 5: {
          const on = random.chance(0.3);
          withdrawals.forgetKillSwitch();
          await this.#call(() => server.modes.setKillSwitch(on, operatorRequest));
          if (on) withdrawals.killSwitchIsOn(this.#servers);
          break;
        }
        default:
          await this.#meddle(server);
      }
    });
  }

  async #meddle(server: SimServer): Promise<void> {
    const random = this.#random;
    const operatorRequest = { by: "operator", reason: "why not" };
    const records = await this.#records();
    if (records.length === 0) return;
    const place = locationOf(random.one(records));
    if (random.chance(0.4)) {
      const { record } = await this.#call(() => server.splits.rollback(place, operatorRequest));
      this.#shared.withdrawals.isRolledBack(this.#servers, record);
      return;
    }
    const again = random.chance(0.5) ? "retry" : "request";
    await this.#call(() => server.splits[again](place, operatorRequest));
  }

  #crashOften(): Promise<void> {
    return this.#often(25_000, async () => {
      if (this.#chaos === CALM) return;
      const random = this.#random;
      const worker = random.chance(0.8);
      const among: { kill(): void }[] = worker ? this.#workers : this.#servers;
      const [victim] = among.splice(random.below(among.length), 1);
      victim?.kill();
      this.#shared.count(worker ? "worker killed" : "server killed");
      if (among.length > 0) await this.#clock.sleep(random.below(10_000));
      if (worker) this.#startWorker(this.#chaos);
      else this.#startServer(this.#chaos);
    });
  }

  /** While a machine is paused its monotonic clock stands still (rule C24). */
  #pauseOften(): Promise<void> {
    return this.#often(10_000, async () => {
      if (this.#chaos === CALM) return;
      const random = this.#random;
      const server = random.one(this.#servers);
      const { machine } = random.chance(0.8) ? server : random.one(this.#workers);
      const namespace = await readNamespace(this.#shared.catalog, NAMESPACE);
      // It is stored after the pause, when the floor has passed it.
      const late = (namespace?.config.acceptLimitMicros ?? 0) - random.below(SECOND);
      const writing = this.#write(server, this.#eventsAt(this.#clock.nowMicros() - late));
      // It is awaited at the end.
      writing.catch(() => undefined);
      machine.pause();
      this.#shared.count("machine paused");
      await this.#clock.sleep(PAUSE_MAX_MS / 2 + random.below(PAUSE_MAX_MS / 2));
      machine.resume();
      await this.#clock.sleep(PAUSES_APART_MS);
      await writing;
    });
  }

  #eventsAt(time: number): SimEvent[] {
    return Array.from({ length: 3 }, (_, nth) => ({
      series: "hot",
      time: time + nth,
      id: `e${(this.#written += 1).toString(36)}`,
      padding: 1_000,
    }));
  }

  async #quieten(): Promise<void> {
    for (const { way } of [...this.#servers, ...this.#workers]) way.chaos = CALM;
    const [server] = this.#servers;
    const operatorRequest = { by: "operator", reason: "the end" };
    const options = { force: true, autoAdvance: true };
    this.#shared.withdrawals.forgetKillSwitch();
    const calm = async (): Promise<void> => {
      await server?.splits.resume(NAMESPACE);
      await server?.modes.setKillSwitch(false, operatorRequest);
      await server?.modes.set(NAMESPACE, "SERVE", options, operatorRequest);
    };
    await Promise.all([calm(), this.#pass(60)]);
  }

  /** Without any message, every split ends (rule C16). */
  async #restOfAll(): Promise<void> {
    for (let seconds = 0; seconds < QUIET_SECONDS_MAX; seconds += 30) {
      await this.#pass(30);
      const records = await this.#records();
      if (records.every(isAtRest)) {
        this.#splits = {};
        for (const { state } of records) this.#splits[state] = (this.#splits[state] ?? 0) + 1;
        return;
      }
    }
    const stuck = (await this.#records()).filter((record) => !isAtRest(record));
    const told = stuck.map(({ state, partition, history }) => {
      return `${state} ${partition.seriesId}/${partition.timeBucket}: ${history.at(-1)?.reason}`;
    });
    this.#throw(`splits do not end: ${told.join("; ")}`);
  }

  async #judgeAll(): Promise<void> {
    const end = this.#clock.nowMicros() + 60 * SECOND;
    // Twice: the first read of each split is compared, the second is served from it.
    for (let round = 0; round < 2; round++) {
      for (const server of this.#servers) {
        for (const series of SERIES) {
          const asked = { series, start: START - 60 * SECOND, end, newestFirst: round === 0 };
          const judging = this.#judge(server, asked).catch((error: unknown) =>
            this.#fail(textOf(error)),
          );
          await Promise.all([judging, this.#pass(15)]);
        }
      }
    }
    if (this.#failure !== undefined) this.#throw(this.#failure);
  }

  /** Event by event, by code that has no part in splitting and serving. */
  async #verifyAll(): Promise<void> {
    const { catalog, store, clock, random } = this.#shared;
    const verifier = new Verifier({ catalog, store, clock, random, by: "verifier" });
    const stop = new AbortController();
    const running = verifier.run(stop.signal);
    const id = await verifier.start(NAMESPACE, {});
    let progress = await verifier.get(NAMESPACE, id);
    for (let passed = 0; progress.state === "RUNNING" && passed < VERIFY_SECONDS_MAX; passed++) {
      await this.#pass(1);
      progress = await verifier.get(NAMESPACE, id);
    }
    stop.abort();
    await running;
    const { state, reason, differences, eventsCompared } = progress;
    if (state !== "DONE") this.#throw(`splits cannot be compared: ${state} ${reason}`);
    const [first] = differences;
    if (first !== undefined) this.#throw(`a split is not its original: ${JSON.stringify(first)}`);
    this.#verified = eventsCompared;
  }

  async #records(): Promise<SplitRecord[]> {
    const { catalog } = this.#shared;
    const namespace = await readNamespace(catalog, NAMESPACE);
    const records: SplitRecord[] = [];
    if (namespace === undefined) return records;
    for (const { name } of await readSlices(catalog, namespace.id)) {
      const slice = { namespaceId: namespace.id, slice: name };
      for await (const record of listSplits(catalog, slice)) records.push(record);
    }
    return records;
  }
}

const NEVER = new AbortController().signal;

function addFrames(frames: Uint8Array[], chunks: readonly Uint8Array[]): void {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const event = eventOfFrame(chunk, at);
      if (event === undefined) throw new Error("a page holds whole frames");
      frames.push(chunk.subarray(at, event.end));
      at = event.end;
    }
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function locationOf({ partition }: SplitRecord): SplitLocation {
  const { slice, seriesId, timeBucket, eventBucket } = partition;
  return { namespace: NAMESPACE, timeSlice: slice, seriesId, timeBucket, eventBucket };
}

/** Nothing is left to do, or only what time or an operator has to trigger. */
function isAtRest({ state, dueAt, segments }: SplitRecord): boolean {
  // An unconfirmed split is never served.
  if (state === "COMPLETED") return segments.every(({ confirmedAt }) => confirmedAt !== null);
  if (state === "REFUSED") return true;
  return dueAt === null && (state === "FAILED" || state === "INVALIDATED");
}
