/**
 * The EventStore on Cassandra: a keyspace for each namespace, a table for each slice, a row for
 * each event.
 *
 * Reads and writes never create or drop tables. The store remembers a dropped table, so that it
 * refuses a late attempt to create it again (rule C18).
 */
import { FairQueue } from "../../lib/fair-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { isSplitTable } from "../../model/table-names.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type {
  BlockRange,
  EventStore,
  PlacedEvent,
  ScanRange,
  ServiceLevel,
  SliceStats,
  StoredBlock,
} from "../../ports/event-store.ts";
import type { WalkPage, WalkRequest } from "../../ports/partition-walk.ts";
import { frameLength } from "../../wire/frames.ts";
import type { Run } from "../../wire/frames.ts";
import { appendBlocks } from "./append-blocks.ts";
import { appendEvents } from "./append-events.ts";
import { BatchStatements } from "./batch-statements.ts";
import { isMissingTable, readFailure, unavailable } from "./driver-errors.ts";
import type { CassandraHistogramTable } from "./histogram-table.ts";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { scanBlocks } from "./scan-blocks.ts";
import { scanPartition } from "./scan-partition.ts";
import type { ScanSource } from "./scan-partition.ts";
import { createEventTable, createKeyspace } from "./schema.ts";
import type { SelectSource, StatementLine } from "./select-rows.ts";
import type { InsertTarget } from "./send-inserts.ts";
import { partWriteLevel, readLevel, WALK_LEVEL, writeLevel } from "./service-level.ts";
import type { StatementLevel } from "./service-level.ts";
import type { Session } from "./session.ts";
import { SliceCounts } from "./slice-counts.ts";
import type { SliceRegister } from "./slice-register.ts";
import type { Millis } from "../../lib/time-units.ts";
import { walkPartitions } from "./walk-partitions.ts";

/** Far more than a cluster on a few machines processes at once; further writes wait here. */
const WRITES_IN_FLIGHT = 256;
const READS_IN_FLIGHT = 256;
/**
 * Batches of blocks are large and no caller waits for them: they leave the cluster to other writes.
 */
const BLOCKS_IN_FLIGHT = 8;

/** What it needs of a session. */
export type StoreSession = Pick<
  Session,
  "execute" | "batch" | "speculation" | "changeSchema" | "options"
>;

export interface CassandraStoreOptions {
  readonly session: StoreSession;
  readonly register: SliceRegister;
  readonly clock: Clock;
  readonly prefix: string;
  readonly writeMaxMs: Millis;
  /** Shows histograms of the namespace, which go with it. */
  readonly histogramTable: Pick<CassandraHistogramTable, "removeNamespace">;
}

export class CassandraStore implements EventStore {
  readonly #session: StoreSession;
  readonly #register: SliceRegister;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #writeMaxMs: Millis;
  readonly #histogramTable: CassandraStoreOptions["histogramTable"];
  readonly #counts: SliceCounts;
  readonly #writes: FairQueue;
  readonly #blockWrites: FairQueue;
  readonly #reads: FairQueue;
  readonly #batches: BatchStatements;
  #closed = false;

  constructor(options: CassandraStoreOptions) {
    const { session, register, clock, prefix, writeMaxMs } = options;
    this.#session = session;
    this.#batches = new BatchStatements(clock);
    this.#writes = new FairQueue(clock, WRITES_IN_FLIGHT);
    this.#blockWrites = new FairQueue(clock, BLOCKS_IN_FLIGHT);
    this.#reads = new FairQueue(clock, READS_IN_FLIGHT);
    this.#register = register;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#writeMaxMs = writeMaxMs;
    this.#histogramTable = options.histogramTable;
    this.#counts = new SliceCounts(session, clock, prefix);
  }

  async createSlice(slice: SliceRef): Promise<void> {
    this.#requireOpen();
    const before = await this.#register.read(slice);
    if (before?.state === "LIVE") return;
    if (before?.state === "DROPPED") throw dropped(slice);
    const keyspace = keyspaceOf(this.#prefix, slice.namespaceId);
    await this.#changeSchema(createKeyspace(keyspace, this.#session.options.replication));
    await this.#changeSchema(createEventTable(keyspace, tableOf(slice.slice)));
    const now = await this.#register.move(slice, "LIVE");
    if (now.state === "LIVE") return;
    // Another process dropped it while this one was making it: no table may stay behind.
    await this.#dropTable(slice);
    throw dropped(slice);
  }

  async dropSlice(slice: SliceRef): Promise<void> {
    this.#requireOpen();
    // From here on it is dropped, whatever happens: a repeat continues from here.
    await this.#register.move(slice, "DROPPED");
    await this.#dropTable(slice);
    try {
      await this.#counts.forget(slice);
    } catch (error) {
      throw unavailable(`the counts of slice ${slice.slice} cannot be removed now`, error);
    }
  }

  async dropNamespace(namespaceId: string): Promise<void> {
    this.#requireOpen();
    const keyspace = keyspaceOf(this.#prefix, namespaceId);
    await this.#changeSchema(`DROP KEYSPACE IF EXISTS ${keyspace}`);
    await this.#histogramTable.removeNamespace(namespaceId);
    await this.#register.forgetNamespace(namespaceId);
  }

  async append(
    slice: SliceRef,
    events: readonly PlacedEvent[],
    level?: ServiceLevel,
  ): Promise<void> {
    if (events.length === 0) return;
    this.#requireOpen();
    const target = this.#targetFor(slice, level);
    let largest = 0;
    let bytes = 0;
    for (const { event } of events) {
      const length = frameLength(event.end - event.start);
      bytes += length;
      if (length > largest) largest = length;
    }
    await this.#register.allowEvents(slice, largest);
    const means = {
      session: this.#session,
      inFlight: lineOf(this.#writes, slice),
      clock: this.#clock,
      batches: this.#batches,
    };
    await appendEvents(means, target, events);
    this.#counts.add(slice, events.length, bytes);
  }

  /** They count as bytes of their slice but not as events, because they are copies. */
  async appendBlocks(
    partition: PartitionKey,
    blocks: readonly StoredBlock[],
    level?: ServiceLevel,
  ): Promise<void> {
    if (blocks.length === 0) return;
    this.#requireOpen();
    const target = this.#targetFor(partition, level);
    const means = {
      session: this.#session,
      inFlight: lineOf(this.#blockWrites, partition),
      clock: this.#clock,
      batches: this.#batches,
    };
    await appendBlocks(means, target, partition, blocks);
    const bytes = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    this.#counts.add(partition, 0, bytes);
  }

  scan(
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): AsyncGenerator<Run, void, undefined> {
    return this.#ifThere(partition, signal, () =>
      scanPartition(
        this.#scanSourceFor(partition, readLevel(range.level)),
        partition,
        range,
        signal,
      ),
    );
  }

  async walkPartitions(slice: SliceRef, walk: WalkRequest, signal: AbortSignal): Promise<WalkPage> {
    const source = this.#scanSourceFor(slice, WALK_LEVEL);
    const onePage = async function* (): AsyncGenerator<WalkPage, void, undefined> {
      yield await walkPartitions(source, slice, walk, signal);
    };
    for await (const page of this.#ifThere(slice, signal, onePage)) return page;
    return { partitions: [], next: undefined, idsTogether: false, bytesRead: 0 };
  }

  scanBlocks(
    partition: PartitionKey,
    range: BlockRange,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredBlock[], void, undefined> {
    return this.#ifThere(partition, signal, () =>
      scanBlocks(this.#sourceFor(partition, readLevel(range.level)), partition, range, signal),
    );
  }

  async sliceStats(slice: SliceRef): Promise<SliceStats> {
    this.#requireOpen();
    const entry = await this.#register.read(slice);
    if (entry?.state !== "LIVE") return { bytes: 0, events: 0 };
    try {
      return await this.#counts.read(slice);
    } catch (error) {
      throw readFailure(error, `slice ${slice.slice}`);
    }
  }

  /** Counts may lack events, and a table can be searched only node by node. */
  async isEmpty(): Promise<boolean> {
    this.#requireOpen();
    return false;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#counts.close();
  }

  /** The results of a scan of the slice's table; nothing if there is no such slice. */
  async *#ifThere<T>(
    slice: SliceRef,
    signal: AbortSignal,
    scan: () => AsyncGenerator<T, void, undefined>,
  ): AsyncGenerator<T, void, undefined> {
    this.#requireOpen();
    signal.throwIfAborted();
    const entry = await this.#register.recent(slice);
    // It may have been made a moment ago: the cached entry is only as young as readers need.
    if (entry?.state !== "LIVE" && (await this.#register.refresh(slice))?.state !== "LIVE") return;
    try {
      yield* scan();
    } catch (error) {
      const cause = error instanceof ServiceError ? error.cause : error;
      if (!isMissingTable(cause)) throw error;
      // Dropped meanwhile, or not yet known to the node that was asked: only the first means
      // "empty".
      if ((await this.#register.read(slice))?.state === "LIVE") throw error;
    }
  }

  #scanSourceFor(slice: SliceRef, level: StatementLevel): ScanSource {
    const eventBytesMax = async (): Promise<number | undefined> =>
      (await this.#register.recent(slice))?.eventBytesMax;
    return { ...this.#sourceFor(slice, level), eventBytesMax };
  }

  #sourceFor(slice: SliceRef, level: StatementLevel): SelectSource {
    return {
      session: this.#session,
      inFlight: lineOf(this.#reads, slice),
      clock: this.#clock,
      table: this.#tableName(slice),
      level,
    };
  }

  #targetFor(slice: SliceRef, level: ServiceLevel | undefined): InsertTarget {
    const statementLevel = isSplitTable(slice.slice)
      ? partWriteLevel(level)
      : writeLevel(this.#writeMaxMs, level);
    return {
      table: this.#tableName(slice),
      what: `slice ${slice.slice}`,
      level: statementLevel,
      sendByMs: this.#clock.monotonicMs() + statementLevel.waitMs,
    };
  }

  async #dropTable(slice: SliceRef): Promise<void> {
    const keyspace = keyspaceOf(this.#prefix, slice.namespaceId);
    try {
      await this.#session.changeSchema(`DROP TABLE IF EXISTS ${this.#tableName(slice)}`);
    } catch (error) {
      // IF EXISTS still requires the keyspace to exist.
      if (!isMissingTable(error))
        throw unavailable(`keyspace ${keyspace} cannot be changed`, error);
    }
  }

  async #changeSchema(statement: string): Promise<void> {
    try {
      await this.#session.changeSchema(statement);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw unavailable(`Cassandra did not change its schema: ${reason}`, error);
    }
  }

  #tableName(slice: SliceRef): string {
    return `${keyspaceOf(this.#prefix, slice.namespaceId)}.${tableOf(slice.slice)}`;
  }

  #requireOpen(): void {
    if (this.#closed) throw new ServiceError("STORAGE_UNAVAILABLE", "the store is closed");
  }
}

function dropped(slice: SliceRef): ServiceError {
  return new ServiceError("CONFLICT", `slice ${slice.slice} was dropped and is never made again`, {
    details: { slice: slice.slice },
  });
}

/** Statements of one namespace wait behind each other, and take turns with those of others. */
function lineOf(queue: FairQueue, { namespaceId }: SliceRef): StatementLine {
  return (work) => queue.runWhenFree(namespaceId, work);
}
