/**
 * PostgreSQL through `pg`, as a competent user would call it: prepared statements, several
 * connections, a cursor for pages that follow each other, COPY in binary form for bulk.
 *
 * A write may be repeated, as in Braid: the primary key is an event's identity, and a second insert
 * does nothing. COPY cannot do that and fails instead; it is measured beside the inserts.
 */
import { Client, types } from "pg";
import type { QueryArrayResult } from "pg";
import type { BenchEvent } from "../support/events.ts";
import { BATCH } from "../support/workload.ts";
import { copyIn, copyOut, copyRows } from "./postgres-copy.ts";
import type { PeerCaller, Series, Tally } from "./work.ts";

/** The `max` of pg's pool, unless a user changes it. */
const CONNECTIONS = 10;
/** A stream fetches so many rows at a time: more were not faster. */
const STREAM_FETCH = 5_000;
const INT8 = 20;

const COLUMNS = "time, event_id, payload";
const RANGE = `SELECT ${COLUMNS} FROM events
  WHERE series = $1 AND time >= $2 AND time < $3 ORDER BY time, event_id`;
const INSERT = `INSERT INTO ingested VALUES ${Array.from(
  { length: BATCH },
  (_, i) => `($${4 * i + 1}, $${4 * i + 2}, $${4 * i + 3}, $${4 * i + 4})`,
).join(", ")} ON CONFLICT DO NOTHING`;

/** INSERT: inserts and cursors. COPY: in binary form, where that is possible. */
export type PostgresWay = "INSERT" | "COPY";

export async function postgresCaller(
  port: number,
  way: PostgresWay,
): Promise<PeerCaller<readonly BenchEvent[]>> {
  // Times in microseconds are exact numbers.
  types.setTypeParser(INT8, Number);
  const clients: Client[] = [];
  for (let nth = 0; nth < CONNECTIONS; nth++) {
    const client = new Client({ host: "127.0.0.1", port, user: "bench", database: "postgres" });
    await client.connect();
    clients.push(client);
  }
  const [first] = clients;
  if (first === undefined) throw new Error("no connection");
  const clientOf = (worker: number): Client => clients[worker % clients.length] ?? first;

  const byCursor = async (
    { id, start, end }: Series,
    fetchRows: number,
    fetches: number,
    tally: Tally,
  ): Promise<void> => {
    await first.query("BEGIN");
    // A cursor takes no parameters in a simple statement; an id of the bench needs no escaping.
    const range = RANGE.replace("$1", `'${id}'`).replace("$2", `${start}`).replace("$3", `${end}`);
    await first.query(`DECLARE pages NO SCROLL CURSOR FOR ${range}`);
    for (let nth = 0; nth < fetches; nth++) {
      const text = `FETCH ${fetchRows} FROM pages`;
      const result = await first.query<Row>({ text, rowMode: "array" });
      take(result, tally);
      if (result.rows.length < fetchRows) break;
    }
    await first.query("COMMIT");
  };
  return {
    batchOf: (events) => events,
    write: async (events, worker) => {
      if (way === "COPY") {
        await copyIn(clientOf(worker), "ingested", copyRows(events));
        return;
      }
      const values = events.flatMap(({ series, time, id, payload }) => [series, time, id, payload]);
      await clientOf(worker).query({ name: "insert", text: INSERT, values });
    },
    load: (_, events, worker) => copyIn(clientOf(worker), "events", copyRows(events)),
    loaded: async () => {
      await first.query("VACUUM ANALYZE events");
      await first.query("CHECKPOINT");
    },
    stream: async (_, series, tally) => {
      if (way === "INSERT") await byCursor(series, STREAM_FETCH, Infinity, tally);
      else {
        const { id, start, end } = series;
        const range = RANGE.replace("$1", `'${id}'`)
          .replace("$2", `${start}`)
          .replace("$3", `${end}`);
        await copyOut(first, range, tally);
      }
    },
    walk: (_, series, { pageEvents, pages }, tally) => byCursor(series, pageEvents, pages, tally),
    page: async (_, { id, start, end }, { pageEvents, worker }, tally) => {
      const result = await clientOf(worker).query<Row>({
        name: "page",
        text: `${RANGE} LIMIT $4`,
        values: [id, start, end, pageEvents],
        rowMode: "array",
      });
      take(result, tally);
    },
  };
}

type Row = [number, string, Buffer];

function take(result: QueryArrayResult<Row>, tally: Tally): void {
  for (const [time, id, payload] of result.rows) tally.add(time, id, payload);
}
