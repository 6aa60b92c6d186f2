/**
 * Judges the staleness bound (rule C23): after an acknowledged rollback, kill switch or new epoch,
 * no read that begins more than `view_max_age` later is served from the split. The time counts on
 * each server in its own running time.
 *
 * It knows only the acknowledgements, and asks the catalog whether a newer copy was begun since.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { isSealed } from "../../src/model/epochs.ts";
import { partitionText } from "../../src/model/partition.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { routeOf } from "../../src/model/split.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { RouteName } from "../../src/partition/partition-source.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { readSplit } from "../../src/records/split-records.ts";
import { readKillSwitch } from "../../src/splits/record/kill-switch.ts";
import type { MemoryCatalog } from "../support/memory-catalog.ts";
import type { PausableMachine } from "../support/pausable-machine.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";

interface RunningServer {
  readonly name: string;
  readonly machine: PausableMachine;
}

/** The time of an acknowledgement, by each server's own monotonic clock. */
type Moment = (server: RunningServer) => number;

interface Withdrawal {
  readonly what: string;
  readonly at: Moment;
  /** A copy of this generation or a later one is another split. */
  readonly nextGeneration: number;
}

export class Withdrawals {
  readonly #catalog: MemoryCatalog;
  readonly #clock: VirtualClock;
  readonly #viewMaxAgeMs: number;
  readonly #fail: (what: string) => void;
  readonly #reading = new AsyncLocalStorage<number>();
  readonly #withdrawn = new Map<string, Withdrawal>();
  #killed: Moment | undefined;

  constructor(
    world: { readonly catalog: MemoryCatalog; readonly clock: VirtualClock },
    viewMaxAgeMs: number,
    fail: (what: string) => void,
  ) {
    this.#catalog = world.catalog;
    this.#clock = world.clock;
    this.#viewMaxAgeMs = viewMaxAgeMs;
    this.#fail = fail;
  }

  /** A read, a page or a stream that begins now. */
  begin<T>({ machine }: RunningServer, read: () => Promise<T>): Promise<T> {
    return this.#reading.run(machine.monotonicMs(), read);
  }

  /** Before a request that may bring splits back, or whose outcome may stay unknown. */
  forgetKillSwitch(): void {
    this.#killed = undefined;
  }

  killSwitchIsOn(servers: readonly RunningServer[]): void {
    this.#killed = this.#now(servers);
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
    if (route !== "SPLIT" && route !== "SPLIT_AND_ORIGINAL") return;
    const beganMs = this.#reading.getStore();
    if (beganMs === undefined) return;
    const isLate = (at: Moment): boolean => beganMs - at(server) > this.#viewMaxAgeMs;
    const text = partitionText(partition);
    if (this.#killed !== undefined && isLate(this.#killed)) {
      const { on } = await readKillSwitch(this.#catalog);
      if (on) this.#fail(`${server.name} serves ${text} although the kill switch is on`);
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
