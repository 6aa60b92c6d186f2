/**
 * Judges every promise "within the staleness bound" (rule C23): what is acknowledged holds for each
 * call that begins more than `view_max_age` later, counted on each server in its own running time.
 *
 * After a rollback, a kill switch, a new epoch or another read mode nothing is served from the
 * splits concerned. A blocked id takes and gives no events. A deleted namespace is not found. A
 * raised accept limit accepts.
 *
 * It knows only the acknowledgements, and asks the catalog whether something newer has come since.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { isSealed } from "../../src/model/epochs.ts";
import { namespaceNameOf } from "../../src/model/namespace.ts";
import { partitionText } from "../../src/model/partition.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { routeOf } from "../../src/model/split.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { RouteName } from "../../src/partition/partition-source.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { readSplit } from "../../src/records/split-records.ts";
import { readKillSwitch } from "../../src/splits/record/kill-switch.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { SimCatalog } from "./sim-catalog.ts";
import type { SimMachine } from "./sim-machine.ts";

interface RunningServer {
  readonly name: string;
  readonly machine: SimMachine;
}

interface ReadUnderWay {
  readonly name: string;
  readonly beganMs: number;
  /** How each partition was read, for the story. */
  readonly routes: string[];
}

/** The time of an acknowledgement, by each server's own monotonic clock. */
type Moment = (server: RunningServer) => number;

interface Withdrawal {
  readonly what: string;
  readonly at: Moment;
  /** A copy of this generation or a later one is another split. */
  readonly nextGeneration: number;
}

export class Promises {
  readonly #catalog: SimCatalog;
  readonly #clock: VirtualClock;
  readonly #viewMaxAgeMs: number;
  readonly #fail: (what: string) => void;
  readonly #reading = new AsyncLocalStorage<ReadUnderWay>();
  readonly #withdrawn = new Map<string, Withdrawal>();
  #killed: Moment | undefined;
  /** By namespace id: the round of the mode that an operator has set, in which nothing is served. */
  readonly #unserved = new Map<string, { readonly at: Moment; readonly round: number }>();
  /** By namespace and series id. */
  readonly #blocked = new Map<string, Moment>();
  /** By name. */
  readonly #deleted = new Map<string, Moment>();
  readonly #raised = new Map<string, Moment>();

  constructor(
    world: { readonly catalog: SimCatalog; readonly clock: VirtualClock },
    viewMaxAgeMs: number,
    fail: (what: string) => void,
  ) {
    this.#catalog = world.catalog;
    this.#clock = world.clock;
    this.#viewMaxAgeMs = viewMaxAgeMs;
    this.#fail = fail;
  }

  /** A read, a page or a stream that begins now. */
  begin<T>({ name, machine }: RunningServer, routes: string[], read: () => Promise<T>): Promise<T> {
    return this.#reading.run({ name, beganMs: machine.monotonicMs(), routes }, read);
  }

  /** Before a request that may bring splits back, or whose outcome may stay unknown. */
  forgetKillSwitch(): void {
    this.#killed = undefined;
  }

  /** Before the world is made calm. */
  forgetAll(): void {
    this.#killed = undefined;
    this.#unserved.clear();
    this.#raised.clear();
  }

  killSwitchIsOn(servers: readonly RunningServer[]): void {
    this.#killed = this.#now(servers);
  }

  /** Another mode than SERVE is in force. */
  modeIsSet(servers: readonly RunningServer[], namespaceId: string, round: number): void {
    this.#unserved.set(namespaceId, { at: this.#now(servers), round });
  }

  isBlocked(servers: readonly RunningServer[], namespace: string, series: string): void {
    this.#blocked.set(`${namespace}/${series}`, this.#now(servers));
  }

  /** Before a request that unblocks it. */
  forgetBlock(namespace: string, series: string): void {
    this.#blocked.delete(`${namespace}/${series}`);
  }

  isDeleted(servers: readonly RunningServer[], namespace: string): void {
    this.#deleted.set(namespace, this.#now(servers));
  }

  /** Before a request that brings it back. */
  forgetDeletion(namespace: string): void {
    this.#deleted.delete(namespace);
  }

  isRaised(servers: readonly RunningServer[], namespace: string): void {
    this.#raised.set(namespace, this.#now(servers));
  }

  forgetRaise(namespace: string): void {
    this.#raised.delete(namespace);
  }

  /** Another has its name: what was acknowledged for the one before says nothing about it. */
  forgetNamespace(name: string, seriesIds: readonly string[]): void {
    for (const seriesId of seriesIds) this.forgetBlock(name, seriesId);
    this.forgetRaise(name);
  }

  /** Which promises bind a call of a series that begins now at a server. */
  bindingNow(
    server: RunningServer,
    namespace: string,
    series: string,
  ): { readonly blocked: boolean; readonly deleted: boolean; readonly raised: boolean } {
    const nowMs = server.machine.monotonicMs();
    const binds = (at: Moment | undefined): boolean =>
      at !== undefined && nowMs - at(server) > this.#viewMaxAgeMs;
    return {
      blocked: binds(this.#blocked.get(`${namespace}/${series}`)),
      deleted: binds(this.#deleted.get(namespace)),
      raised: binds(this.#raised.get(namespace)),
    };
  }

  isRolledBack(servers: readonly RunningServer[], record: SplitRecord): void {
    this.#note("rolled back", servers, record);
  }

  /** After an acknowledged raise: none of what is left of these splits may be served. */
  async isReopened(
    servers: readonly RunningServer[],
    namespace: string,
    records: readonly SplitRecord[],
  ): Promise<void> {
    const { epochStarts = [] } = (await readNamespace(this.#catalog, namespace)) ?? {};
    for (const record of records) {
      const { segments } = routeOf(record);
      if (segments.length === 0 || segments.some((each) => isSealed(epochStarts, each))) continue;
      this.#note("opened again", servers, record);
    }
  }

  /** What a read took from one partition. */
  async check(server: RunningServer, partition: PartitionKey, route: RouteName): Promise<void> {
    const under = this.#reading.getStore();
    if (under === undefined) return;
    const { beganMs, routes } = under;
    const { slice, timeBucket, eventBucket } = partition;
    routes.push(`${slice} bucket ${timeBucket}.${eventBucket} by ${server.name}: ${route}`);
    if (route !== "SPLIT" && route !== "SPLIT_AND_ORIGINAL") return;
    const isLate = (at: Moment): boolean => beganMs - at(server) > this.#viewMaxAgeMs;
    const text = partitionText(partition);
    if (this.#killed !== undefined && isLate(this.#killed)) {
      const { on } = await readKillSwitch(this.#catalog);
      if (on) this.#fail(`${server.name} serves ${text} although the kill switch is on`);
    }
    const unserved = this.#unserved.get(partition.namespaceId);
    if (unserved !== undefined && isLate(unserved.at)) {
      const namespace = await readNamespace(this.#catalog, namespaceNameOf(partition.namespaceId));
      const same = namespace?.id === partition.namespaceId;
      if (same && namespace.readMode.round === unserved.round) {
        const { mode } = namespace.readMode;
        this.#fail(`${server.name} serves ${text} although the read mode is ${mode}`);
      }
    }
    const withdrawal = this.#withdrawn.get(text);
    if (withdrawal === undefined || !isLate(withdrawal.at)) return;
    const record = await readSplit(this.#catalog, partition);
    if (record === undefined || record.nextGeneration > withdrawal.nextGeneration) return;
    this.#fail(`${server.name} serves ${text}, which was ${withdrawal.what}`);
  }

  #note(what: string, servers: readonly RunningServer[], record: SplitRecord): void {
    const { partition, nextGeneration } = record;
    this.#withdrawn.set(partitionText(partition), { what, at: this.#now(servers), nextGeneration });
  }

  #now(servers: readonly RunningServer[]): Moment {
    const known = new Map(servers.map(({ name, machine }) => [name, machine.monotonicMs()]));
    const worldMs = this.#clock.monotonicMs();
    // A server that starts later has not been paused yet.
    return ({ name }) => known.get(name) ?? worldMs;
  }
}
