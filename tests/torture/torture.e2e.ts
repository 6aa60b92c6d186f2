/** A few kills of `npm run torture`. A failure keeps the data directory and tells what happened. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { torture } from "./torture.ts";

test("W17: what was acknowledged is read back after kills, whatever was under way", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "braid-torture-"));
  const data = join(folder, "data");
  const report = await torture({
    seed: 4,
    kills: 2,
    data,
    onProgress: (line) => t.diagnostic(line),
  });
  deepEqual(report.failure, undefined, `data in ${data}`);
  equal(report.kills, 2);
  ok(report.eventsCompared > report.eventsAcknowledged);
  await rm(folder, { recursive: true, force: true });
});
