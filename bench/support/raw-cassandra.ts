/**
 * The baseline: the driver used directly, on the same node and with a table of the same shape, in
 * the best known way: prepared batches within a partition, values as buffers, pages by number of
 * rows.
 */
import cassandra from "cassandra-driver";
import type { Client } from "cassandra-driver";
import { createEventTable, createKeyspace } from "../../src/engines/cassandra/schema.ts";
import { encodeBenchEvent } from "./events.ts";
import type { BenchEvent } from "./events.ts";

const KEYSPACE = "raw_driver";
const TABLE = `${KEYSPACE}.events`;
const PAGE_ROWS = 5_000;
export const BATCH_ROWS_MAX = 64;

/** One statement, ready to be sent. */
export interface RawStatement {
  readonly query: string;
  readonly params: Buffer[];
}

export class RawCassandra {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(contactPoint: string): Promise<RawCassandra> {
    const client = await openDriver(contactPoint);
    for (const statement of [
      createKeyspace(KEYSPACE, { datacenter1: 1 }),
      createEventTable(KEYSPACE, "events"),
    ]) {
      await client.execute(statement, [], { prepare: false });
    }
    return new RawCassandra(client);
  }

  /** What a caller would send for these events, encoded beforehand. */
  static statements(events: readonly BenchEvent[]): RawStatement[] {
    const statements: RawStatement[] = [];
    const bySeries = Map.groupBy(events, ({ series }) => series);
    for (const group of bySeries.values()) {
      for (let at = 0; at < group.length; at += BATCH_ROWS_MAX) {
        const some = group.slice(at, at + BATCH_ROWS_MAX);
        statements.push({
          query: insertInto(TABLE, some.length),
          params: some.flatMap((event) => paramsOf(event, 0)),
        });
      }
    }
    return statements;
  }

  /** All at once; the caller bounds how many. */
  async write(statements: readonly RawStatement[]): Promise<void> {
    await Promise.all(statements.map(({ query, params }) => this.#client.execute(query, params)));
  }

  /** Every event of a series; returns the bytes of their items. */
  scan(series: string): Promise<number> {
    return scanPartition(this.#client, TABLE, series, 0);
  }

  /** The first events from a time on; returns how many. */
  async page(series: string, from: number, limit: number): Promise<number> {
    const query =
      `SELECT event_time, event_id, items FROM ${TABLE} WHERE time_series_id = ? AND time_bucket = 0 ` +
      "AND event_bucket = 0 AND event_time >= ? ORDER BY event_time ASC, event_id ASC LIMIT ?";
    const { rows } = await this.#client.execute(query, [series, int64(from), limit], {
      fetchSize: limit,
    });
    return rows.length;
  }

  /**
   * Waits until the node has nothing left to flush or compact: the writes of one side must not slow
   * the other.
   */
  async settled(): Promise<void> {
    const query = "SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools";
    for (let quiet = 0; quiet < 3;) {
      const { rows } = await this.#client.execute(query, [], { prepare: false });
      const busy = rows.some(
        (row) =>
          /^(?:Compaction|Memtable|PerDiskMemtable)/.test(String(row["name"])) &&
          Number(row["active_tasks"]) + Number(row["pending_tasks"]) > 0,
      );
      quiet = busy ? 0 : quiet + 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  close(): Promise<void> {
    return this.#client.shutdown();
  }
}

export async function openDriver(contactPoint: string): Promise<Client> {
  const client = new cassandra.Client({
    contactPoints: [contactPoint],
    localDataCenter: "datacenter1",
    queryOptions: {
      prepare: true,
      isIdempotent: true,
      consistency: cassandra.types.consistencies.localQuorum,
    },
    pooling: { coreConnectionsPerHost: { [cassandra.types.distance.local]: 2 } },
    socketOptions: { readTimeout: 60_000, coalescingThreshold: 64 << 10 },
    encoding: { copyBuffer: false },
  });
  await client.connect();
  return client;
}

/** `count` events of one partition in one statement. */
export function insertInto(table: string, count: number): string {
  const one = `INSERT INTO ${table} (time_series_id, time_bucket, event_bucket, event_time, event_id, items) VALUES (?, ?, ?, ?, ?, ?)`;
  return count === 1 ? one : `BEGIN UNLOGGED BATCH ${`${one}; `.repeat(count)}APPLY BATCH`;
}

/** The parameters of `insertInto` for one event. */
export function paramsOf(event: BenchEvent, timeBucket: number): Buffer[] {
  const { bytes, idStart, idEnd, itemsStart, end } = encodeBenchEvent(event);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return [
    Buffer.from(event.series),
    int32(timeBucket),
    int32(0),
    int64(event.time),
    buffer.subarray(idStart, idEnd),
    buffer.subarray(itemsStart, end),
  ];
}

/** Every event of a partition, newest first as it is stored; returns the bytes of their items. */
export async function scanPartition(
  client: Client,
  table: string,
  series: string,
  timeBucket: number,
): Promise<number> {
  const query = `SELECT event_time, event_id, items FROM ${table} WHERE time_series_id = ? AND time_bucket = ? AND event_bucket = 0`;
  let bytes = 0;
  let pageState: string | undefined;
  do {
    const answer = await client.execute(query, [series, int32(timeBucket)], {
      fetchSize: PAGE_ROWS,
      ...(pageState === undefined ? {} : { pageState }),
    });
    for (const row of answer.rows) bytes += (row["items"] as Buffer).length;
    pageState = answer.pageState ?? undefined;
  } while (pageState !== undefined);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}
