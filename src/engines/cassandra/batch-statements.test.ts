import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { utf8 } from "../../lib/bytes.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { appendEvents } from "./append-events.ts";
import { BatchStatements } from "./batch-statements.ts";
import { writeLevel } from "./service-level.ts";
import { Speculation } from "./speculation.ts";

const NO_ROWS = { rows: [], more: false };

test("tables written to in turn do not push each other out", async () => {
  const clock = new VirtualClock(0);
  const statements = new BatchStatements(clock, 2);
  const round = (): boolean[] => ["a", "b", "c", "d"].map((table) => statements.includes(table));
  deepEqual(round(), [true, true, false, false]);
  for (let times = 0; times < 100; times++) {
    await clock.advance(10_000);
    deepEqual(round(), [true, true, false, false]);
  }
});

test("a table that nothing is written to any more makes room", async () => {
  const clock = new VirtualClock(0);
  const statements = new BatchStatements(clock, 2);
  statements.includes("a");
  statements.includes("b");
  await clock.advance(59_999);
  statements.includes("b");
  ok(!statements.includes("c"));
  await clock.advance(1);
  ok(statements.includes("c"));
  ok(!statements.includes("a"));
});

test("writes to a thousand tables use few prepared statements, and store every event once", async () => {
  const clock = new VirtualClock(0);
  const prepared = new Set<string>();
  let inserts = 0;
  const session = {
    speculation: new Speculation(),
    execute: async (_: unknown, query: string, params: unknown[]) => {
      prepared.add(query);
      inserts += params.length / 6;
      return NO_ROWS;
    },
    batch: async (_: unknown, query: string, rows: readonly unknown[][]) => {
      prepared.add(query);
      ok(rows.every((row) => row.length === 6));
      inserts += rows.length;
      return NO_ROWS;
    },
  };
  const batches = new BatchStatements(clock);
  const level = writeLevel(10_000);
  let events = 0;
  for (let n = 0; n < 1_000; n++) {
    const count = 1 + (n % 8);
    events += count;
    const placed = Array.from({ length: count }, (__, i) => ({
      event: encodeEvent(utf8("series"), i, utf8("e"), []),
      timeBucket: 0,
      eventBucket: 0,
    }));
    const means = { session, inFlight: <T>(work: () => Promise<T>) => work(), clock, batches };
    const target = { table: `k.t${n % 250}`, what: "slice t", level, sendByMs: level.waitMs };
    await appendEvents(means, target, placed);
  }
  equal(inserts, events);
  // One insert for each table, and up to twenty statements for twelve of them.
  ok(prepared.size <= 250 + 12 * 20, `${prepared.size}`);
});
