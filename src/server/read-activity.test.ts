import { equal } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { lastReadAt } from "../records/read-activity-records.ts";
import { ReadActivity } from "./read-activity.ts";

const HOUR_MS = 3_600_000;
const HOUR = HOUR_MS * 1_000;

test("the last read is recorded once an hour, and one that is ahead of time is replaced", async () => {
  const catalog = new MemoryCatalog();
  const clock = new VirtualClock(0);
  let now = 100 * HOUR;
  const onFailed = (error: unknown): never => {
    throw error;
  };
  const activity = new ReadActivity({ catalog, clock, time: { nowMicros: () => now }, onFailed });
  const read = async (): Promise<number | undefined> => {
    activity.note("plays");
    await clock.advance(HOUR_MS / 2);
    return lastReadAt(catalog, "plays");
  };
  equal(await read(), 100 * HOUR);
  now = 100.5 * HOUR;
  equal(await read(), 100 * HOUR);
  now = 900 * HOUR;
  equal(await read(), 900 * HOUR);
  await clock.advance(HOUR_MS);
  now = 102 * HOUR;
  equal(await read(), 102 * HOUR);
  await clock.advance(HOUR_MS);
  // Another server's clock may be a little behind.
  now = 101.5 * HOUR;
  equal(await read(), 102 * HOUR);
});
