/**
 * The EventStore on Cassandra: a keyspace for each namespace, a table for each slice, a row for each
 * event.
 *
 * Making and dropping tables is never on the path of a read or a write. A table that was dropped is
 * remembered, so that a late wish to make it again is refused (rule C18).
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import type {
  EventStore,
  PlacedEvent,
  ScanRange,
  ServiceLevel,
  SliceStats,
} from "../../ports/event-store.ts";
import { frameLength } from "../../wire/frames.ts";
import type { Run } from "../../wire/frames.ts";
import { appendEvents } from "./append-events.ts";
import { isMissingTable, readFailure, unavailable } from "./driver-errors.ts";
import { InFlight } from "./in-flight.ts";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { scanPartition } from "./scan-partition.ts";
import { createEventTable, createKeyspace } from "./schema.ts";
import { readLevel, writeLevel } from "./service-level.ts";
import type { Session } from "./session.ts";
import { SliceCounts } from "./slice-counts.ts";
import type { SliceRegister } from "./slice-register.ts";

/** Far more than a cluster on a few machines works on at once; what is beyond it waits here. */
const WRITES_IN_FLIGHT = 256;
const READS_IN_FLIGHT = 256;

export interface CassandraStoreOptions {
  readonly session: Session;
  readonly register: SliceRegister;
  readonly clock: Clock;
  readonly prefix: string;
  readonly writeMaxMs: number;
}

export class CassandraStore implements EventStore {
  readonly #session: Session;
  readonly #register: SliceRegister;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #writeMaxMs: number;
  readonly #counts: SliceCounts;
  readonly #writes = new InFlight(WRITES_IN_FLIGHT);
  readonly #reads = new InFlight(READS_IN_FLIGHT);
  #closed = false;

  constructor({ session, register, clock, prefix, writeMaxMs }: CassandraStoreOptions) {
    this.#session = session;
    this.#register = register;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#writeMaxMs = writeMaxMs;
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
    // It was dropped while this process was making it: what it made must not stay behind.
    await this.#dropTable(slice);
    throw dropped(slice);
  }

  async dropSlice(slice: SliceRef): Promise<void> {
    this.#requireOpen();
    // From here on it is dropped, whatever happens: repeating goes on from there.
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
    await this.#register.forgetNamespace(namespaceId);
  }

  async append(
    slice: SliceRef,
    events: readonly PlacedEvent[],
    level?: ServiceLevel,
  ): Promise<void> {
    if (events.length === 0) return;
    this.#requireOpen();
    const statementLevel = writeLevel(this.#writeMaxMs, level);
    const sendByMs = this.#clock.monotonicMs() + statementLevel.waitMs;
    let largest = 0;
    let bytes = 0;
    for (const { event } of events) {
      const length = frameLength(event.end - event.start);
      bytes += length;
      if (length > largest) largest = length;
    }
    await this.#register.allowEvents(slice, largest);
    const target = {
      table: this.#tableName(slice),
      what: `slice ${slice.slice}`,
      level: statementLevel,
      sendByMs,
    };
    const means = { session: this.#session, inFlight: this.#writes, clock: this.#clock };
    await appendEvents(means, target, events);
    this.#counts.add(slice, events.length, bytes);
  }

  async *scan(
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): AsyncGenerator<Run, void, undefined> {
    this.#requireOpen();
    signal.throwIfAborted();
    const entry = await this.#register.recent(partition);
    // It may have been made a moment ago: what is known is only as young as readers need it.
    if (entry?.state !== "LIVE" && (await this.#register.refresh(partition))?.state !== "LIVE")
      return;
    yield* this.#scanTable(partition, range, signal);
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

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#counts.close();
  }

  async *#scanTable(
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): AsyncGenerator<Run, void, undefined> {
    const source = {
      session: this.#session,
      inFlight: this.#reads,
      clock: this.#clock,
      table: this.#tableName(partition),
      level: readLevel(range.level),
      eventBytesMax: async () => (await this.#register.recent(partition))?.eventBytesMax,
    };
    try {
      yield* scanPartition(source, partition, range, signal);
    } catch (error) {
      const cause = error instanceof ServiceError ? error.cause : error;
      if (!isMissingTable(cause)) throw error;
      // Dropped meanwhile, or not known yet to the node that was asked: only the first means "empty".
      if ((await this.#register.read(partition))?.state === "LIVE") throw error;
    }
  }

  async #dropTable(slice: SliceRef): Promise<void> {
    const keyspace = keyspaceOf(this.#prefix, slice.namespaceId);
    try {
      await this.#session.changeSchema(`DROP TABLE IF EXISTS ${this.#tableName(slice)}`);
    } catch (error) {
      // Also IF EXISTS wants the keyspace to be there.
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
