import { match } from "node:assert/strict";
import { test } from "node:test";
import { createEventTable } from "./schema.ts";

test("tables of events and of parts have the same options: newest first, LZ4 in chunks of 16 KiB", () => {
  for (const table of ["data_20260328", "wide_data_20260328_0"]) {
    const statement = createEventTable("braid_plays_1", table);
    match(statement, new RegExp(`^CREATE TABLE IF NOT EXISTS braid_plays_1\\.${table} `));
    match(statement, /CLUSTERING ORDER BY \(event_time DESC, event_id DESC\)/);
    match(statement, /compression = \{'class': 'LZ4Compressor', 'chunk_length_in_kb': 16\}/);
  }
});
