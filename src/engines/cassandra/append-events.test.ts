import { equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { utf8 } from "../../lib/bytes.ts";
import { FairQueue } from "../../lib/fair-queue.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { appendEvents, insertsFor } from "./append-events.ts";
import { BatchStatements } from "./batch-statements.ts";
import type { StatementLine } from "./select-rows.ts";
import { writeLevel } from "./service-level.ts";
import { Speculation } from "./speculation.ts";

test("twenty statements are enough for every number of events, and repeat little", () => {
  const sizes = new Set<number>();
  for (let events = 1; events <= 64; events++) {
    const inserts = insertsFor(events);
    ok(inserts >= events && inserts <= Math.max(8, events * 1.25), `${events}: ${inserts}`);
    sizes.add(inserts);
  }
  equal(Math.max(...sizes), 64);
  ok(sizes.size <= 20, `${sizes.size}`);
  for (let events = 1; events <= 8; events++) equal(insertsFor(events), events);
});

test("C1: a statement that is due after its time limit is not sent", async () => {
  const clock = new VirtualClock(0);
  const level = writeLevel(10_000);
  let sent = 0;
  const execute = async (): Promise<{ rows: []; more: false }> => {
    sent++;
    await clock.sleep(level.waitMs + 1);
    return { rows: [], more: false };
  };
  const session = { execute, batch: execute, speculation: new Speculation() };
  const queue = new FairQueue(clock, 1);
  const inFlight: StatementLine = (work) => queue.runWhenFree("plays", work);
  const means = { session, inFlight, clock, batches: new BatchStatements(clock) };
  const target = { table: "k.t", what: "slice t", level, sendByMs: level.waitMs };
  const placed = ["a", "b"].map((series) => ({
    event: encodeEvent(utf8(series), 1, utf8("e"), []),
    timeBucket: 0,
    eventBucket: 0,
  }));
  // One of them may be stored: the answer cannot say that nothing was.
  const appending = rejects(appendEvents(means, target, placed));
  await clock.advance(level.waitMs + 1);
  await clock.advance(level.waitMs + 1);
  await appending;
  equal(sent, 1);
});
