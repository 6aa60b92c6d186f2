import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { insertsFor } from "./append-events.ts";

test("twenty statements are enough for every number of events, and little is repeated", () => {
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
