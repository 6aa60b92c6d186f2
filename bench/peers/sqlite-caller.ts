/** SQLite in the caller's own process: no server, and one writer at a time. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { BenchEvent } from "../support/events.ts";
import type { PeerCaller, Series, Tally } from "./work.ts";

export function sqliteCaller(directory: string): PeerCaller<readonly BenchEvent[]> {
  const database = new DatabaseSync(join(directory, "events.sqlite"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  for (const table of ["events", "ingested"]) {
    database.exec(
      `CREATE TABLE ${table} (series TEXT, time INTEGER, event_id TEXT, payload BLOB,
        PRIMARY KEY (series, time, event_id)) WITHOUT ROWID`,
    );
  }
  const inserts = new Map(
    ["events", "ingested"].map((table) => [
      table,
      database.prepare(`INSERT OR IGNORE INTO ${table} VALUES (?, ?, ?, ?)`),
    ]),
  );
  const RANGE = `SELECT time, event_id, payload FROM events
    WHERE series = ? AND time >= ? AND time < ? ORDER BY time, event_id`;
  const whole = database.prepare(RANGE);
  const limited = database.prepare(`${RANGE} LIMIT ?`);
  const after = database.prepare(
    `SELECT time, event_id, payload FROM events
      WHERE series = ? AND (time, event_id) > (?, ?) AND time < ?
      ORDER BY time, event_id LIMIT ?`,
  );
  for (const statement of [whole, limited, after]) statement.setReturnArrays(true);

  const insert = (table: string, events: readonly BenchEvent[]): Promise<void> => {
    const statement = inserts.get(table);
    database.exec("BEGIN IMMEDIATE");
    for (const { series, time, id, payload } of events) statement?.run(series, time, id, payload);
    database.exec("COMMIT");
    return Promise.resolve();
  };
  const page = ({ id, start, end }: Series, events: number, tally: Tally): Promise<void> => {
    for (const row of limited.all(id, start, end, events)) take(row, tally);
    return Promise.resolve();
  };
  return {
    batchOf: (events) => events,
    write: (batch) => insert("ingested", batch),
    load: (_, events) => insert("events", events),
    loaded: () => {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE); ANALYZE");
      return Promise.resolve();
    },
    stream: (_, { id, start, end }, tally) => {
      for (const row of whole.iterate(id, start, end)) take(row, tally);
      return Promise.resolve();
    },
    walk: (_, { id, start, end }, { pageEvents, pages }, tally) => {
      let [time, eventId] = [start - 1, ""];
      for (let nth = 0; nth < pages; nth++) {
        for (const row of after.all(id, time, eventId, end, pageEvents)) {
          [time, eventId] = take(row, tally);
        }
      }
      return Promise.resolve();
    },
    page: (_, series, { pageEvents }, tally) => page(series, pageEvents, tally),
  };
}

function take(row: unknown, tally: Tally): [number, string] {
  // `setReturnArrays`: the columns in their order, which the types of Node do not express.
  const [time, id, payload] = row as [number, string, Uint8Array];
  tally.add(time, id, payload);
  return [time, id];
}
