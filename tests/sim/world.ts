/**
 * A world from a seed: servers, workers, callers and an operator, on one virtual clock, with the
 * faults of its kind.
 *
 * The checker judges every read against the history of what was acknowledged, `Promises` what was
 * withdrawn, `Invariants` every change of the catalog. At the end the faults stop: then every split
 * comes to rest, everything is read once more, and no split differs from its original.
 */
import { IntegrityError } from "../../src/parts/part-reader.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { LinkedAbort } from "../../src/lib/linked-abort.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import { listSplits } from "../../src/records/split-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { Callers } from "./callers.ts";
import { Checker } from "./checker.ts";
import { endCalmly } from "./calm-end.ts";
import { CALM } from "./faulty-parts.ts";
import type { Chaos, Network } from "./faulty-parts.ts";
import { troubles } from "./troubles.ts";
import { History } from "./history.ts";
import type { HistoryEntry } from "./history.ts";
import { Invariants } from "./invariants.ts";
import { SECOND, settingsOf } from "./kinds.ts";
import type { Fault, NamespaceSettings, WorldOptions, WorldSettings } from "./kinds.ts";
import { operate } from "./operator.ts";
import { isExpected, startServer, startWorker, VIEW_MAX_AGE_MS } from "./processes.ts";
import type { Shared, SimServer, SimWorker } from "./processes.ts";
import { Promises } from "./promises.ts";
import { Replicas } from "./replicas.ts";
import { SeededRandom } from "./seeded-random.ts";
import { SimCatalog } from "./sim-catalog.ts";
import { SimQueue } from "./sim-queue.ts";
import { SimStore } from "./sim-store.ts";
import type { WorldFailure } from "./story.ts";
import { describeChange } from "./story-changes.ts";

export const START = Date.UTC(2026, 2, 28, 12) * 1_000;

export interface SimReport {
  readonly seed: number;
  readonly kind: WorldOptions["kind"];
  readonly seconds: number;
  readonly events: number;
  readonly reads: number;
  /** Events of splits compared with their originals at the end. */
  readonly verified: number;
  readonly changesChecked: number;
  readonly splits: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
}

/** A world in which something went wrong, with all that its story needs. */
export class SimFailure extends Error {
  readonly failure: WorldFailure;

  constructor(failure: WorldFailure) {
    const { options, afterSeconds, what } = failure;
    super(`${what} (seed ${options.seed}, ${options.kind}, after ${afterSeconds} s)`);
    this.name = "SimFailure";
    this.failure = failure;
  }
}

export async function simulate(options: WorldOptions): Promise<SimReport> {
  const world = new SimWorld(options);
  await world.live();
  return world.report();
}

/** A namespace as the callers know it. */
export interface SimNamespace {
  readonly settings: NamespaceSettings;
  readonly name: string;
  /** Of the one that has the name now. */
  id: string;
  /** It is being deleted or made, or servers may still follow the one before: callers keep away. */
  changing: boolean;
  /** Raised by each deletion. */
  generation: number;
}

export class SimWorld {
  readonly settings: WorldSettings;
  readonly clock = new VirtualClock(START);
  readonly history: History;
  readonly shared: Shared;
  readonly replicas: Replicas;
  readonly servers: SimServer[] = [];
  readonly workers: SimWorker[] = [];
  readonly namespaces: SimNamespace[] = [];
  readonly over = new AbortController();
  readonly checker = new Checker();
  readonly random: SeededRandom;
  readonly #counts = new Map<string, number>();
  readonly #invariants: Invariants;
  #failure: Omit<WorldFailure, "options" | "settings" | "afterSeconds" | "history"> | undefined;
  #started = 0;
  callers: Callers | undefined;
  verified = 0;
  splits: Record<string, number> = {};

  constructor(options: WorldOptions) {
    this.random = new SeededRandom(options.seed);
    this.settings = settingsOf(options, this.random.fork());
    this.history = new History(() => this.clock.monotonicMs());
    this.history.onEntry = (entry) => this.#judge(entry);
    const catalog = new SimCatalog();
    this.#invariants = new Invariants((what) => this.fail(what));
    catalog.changed = (space, before, after) => {
      this.#invariants.changed(space, before, after);
      const change = describeChange(space, before, after);
      if (change !== undefined) this.history.happened(change);
    };
    this.replicas = new Replicas(this.settings.replicas, this.clock, this.random.fork());
    this.replicas.noted = (what) => this.count(what);
    const world = { clock: this.clock, catalog };
    this.shared = {
      ...world,
      promises: new Promises(world, VIEW_MAX_AGE_MS, (what) => this.fail(what)),
      store: new SimStore(this.replicas),
      queue: new SimQueue(this.clock, this.random.fork(), this.has("queue")),
      random: this.random.fork(),
      network: this.#network(),
      tuning: this.settings.tuning,
      skewed: this.has("skew"),
      count: (what) => this.count(what),
      trouble: (error) => {
        const fault = error instanceof ServiceError || error instanceof IntegrityError;
        if (!fault) this.fail(textOf(error));
      },
    };
  }

  has(fault: Fault): boolean {
    return this.settings.faults.has(fault);
  }

  get chaos(): Chaos {
    return this.settings.chaos;
  }

  #network(): Network {
    return {
      deadSpace: undefined,
      catalogIsDown: () => !this.replicas.hasMajority,
      later: (ms, run) => void this.clock.after(ms, () => void run().catch(() => undefined)),
      count: (what) => this.count(what),
    };
  }

  async live(): Promise<void> {
    await this.#create();
    const { everyMs } = this.settings;
    const callers = new Callers(this, this.random.fork());
    this.callers = callers;
    const actors = [
      this.often(everyMs.write, (random) => callers.write(random)),
      this.often(everyMs.write, (random) => callers.write(random)),
      this.often(everyMs.read, (random) => callers.read(random)),
      this.often(everyMs.read, (random) => callers.read(random)),
      this.often(everyMs.operate, (random) => operate(this, random)),
      ...troubles(this, callers),
    ];
    await this.pass(this.settings.busySeconds);
    this.over.abort();
    let rested = false;
    void Promise.all(actors).then(() => (rested = true));
    for (let seconds = 0; !rested && seconds < REST_SECONDS_MAX; seconds++) await this.pass(1);
    await endCalmly(this, callers);
    for (const process of [...this.servers, ...this.workers]) process.kill();
  }

  report(): SimReport {
    return {
      seed: this.settings.seed,
      kind: this.settings.kind,
      seconds: Math.round(this.clock.monotonicMs() / 1_000),
      events: this.checker.acknowledged,
      reads: this.checker.reads,
      verified: this.verified,
      changesChecked: this.#invariants.checked,
      splits: this.splits,
      counts: Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    };
  }

  async #create(): Promise<void> {
    const { servers, workers } = this.settings;
    for (let nth = 0; nth < servers; nth++) this.startServer(CALM);
    for (const settings of this.settings.namespaces) {
      const { name } = settings;
      const namespace = { settings, name, id: "", changing: false, generation: 0 };
      this.namespaces.push(namespace);
      let made = false;
      void this.servers[0]?.namespaces.create(name, settings.config).then(({ id }) => {
        namespace.id = id;
        made = true;
      });
      for (let seconds = 0; !made && seconds < 120; seconds++) await this.pass(1);
      if (!made) this.fail(`the namespace ${name} cannot be created`);
    }
    for (const { way } of this.servers) way.chaos = this.chaos;
    for (let nth = 0; nth < workers; nth++) this.startWorker(this.chaos);
  }

  startServer(chaos: Chaos): void {
    this.servers.push(startServer(this.shared, `server-${++this.#started}`, chaos));
  }

  startWorker(chaos: Chaos): void {
    this.workers.push(startWorker(this.shared, `worker-${++this.#started}`, chaos));
  }

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** A fault that begins or ends: counted, and told in the story. */
  trouble(kind: string, what: string): void {
    this.count(`fault: ${kind}`);
    this.history.happened(what);
  }

  /** Lets virtual time pass, and stops at the first failure. */
  async pass(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      await this.clock.advance(1_000);
      this.mustBeRight();
    }
  }

  fail(what: string): void {
    this.#failure ??= { what, problem: undefined };
  }

  mustBeRight(): void {
    if (this.#failure === undefined) return;
    const { settings, history } = this;
    const { seed, kind, without, seconds } = settings;
    throw new SimFailure({
      ...this.#failure,
      options: { seed, kind, ...(without && { without }), ...(seconds && { seconds }) },
      settings,
      history: history.entries,
      afterSeconds: Math.round(this.clock.monotonicMs() / 1_000),
    });
  }

  #judge(entry: HistoryEntry): void {
    const problem = this.checker.add(entry);
    if (problem === undefined || this.#failure !== undefined) return;
    this.#failure = { what: `${problem.kind}: ${problem.what}`, problem };
  }

  /** Repeats an act, at random times, until the world's callers rest. */
  async often(
    meanMs: number,
    act: (random: SeededRandom) => Promise<void>,
    random: SeededRandom = this.random.fork(),
  ): Promise<void> {
    const { signal } = this.over;
    while (!signal.aborted) {
      await this.clock.sleep(random.below(2 * meanMs), signal);
      if (signal.aborted) return;
      try {
        await act(random);
      } catch (error) {
        if (!signal.aborted && !isExpected(error)) this.fail(textOf(error));
      }
    }
  }

  /** The caller gives up after a while, as real callers do. */
  async call<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = new LinkedAbort(this.over.signal.aborted ? NEVER : this.over.signal);
    const timedOut = Promise.withResolvers<never>();
    const cancel = this.clock.after(CALL_MS_MAX, () => {
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

  /**
   * A server that may be judged. For `view_max_age` of its running time after a pause a server may
   * still follow splits of time that was re-opened meanwhile: no rule promises more.
   */
  ready(random: SeededRandom): SimServer {
    const ready = this.servers.filter(({ machine }) => machine.ranForMs >= VIEW_MAX_AGE_MS);
    if (ready.length > 0) return random.one(ready);
    throw new ServiceError("STORAGE_UNAVAILABLE", "no server is ready");
  }

  /** By the weights of the traffic; undefined if callers keep away from the chosen one. */
  someNamespace(random: SeededRandom): SimNamespace | undefined {
    const total = this.namespaces.reduce((sum, { settings }) => sum + settings.weight, 0);
    let left = random.below(total);
    const chosen = this.namespaces.find(({ settings }) => (left -= settings.weight) < 0);
    return chosen === undefined || chosen.changing ? undefined : chosen;
  }

  async records(namespace: SimNamespace): Promise<SplitRecord[]> {
    const { catalog } = this.shared;
    const found = await readNamespace(catalog, namespace.name);
    const records: SplitRecord[] = [];
    if (found === undefined) return records;
    for (const { name, state } of await readSlices(catalog, found.id)) {
      if (state === "DROPPED") continue;
      const slice = { namespaceId: found.id, slice: name };
      for await (const record of listSplits(catalog, slice)) records.push(record);
    }
    return records;
  }

  nowMicros(): number {
    return this.clock.nowMicros();
  }

  get seconds(): number {
    return Math.floor((this.clock.nowMicros() - START) / SECOND);
  }
}

/** Actors end what they have begun. */
const REST_SECONDS_MAX = 600;

/** Longer than any call may take. */
export const CALL_MS_MAX = 40_000;
const NEVER = new AbortController().signal;

export function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
