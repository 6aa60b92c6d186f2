/**
 * Random calls over every protocol, fewer than `npm run fuzz` makes. A failure names the seed:
 * `npm run fuzz -- --seed S --calls N` repeats it.
 */
import { ok } from "node:assert/strict";
import { test } from "node:test";
import { fuzzPort } from "../fuzz/fuzz-port.ts";
import { assertNothingLeft } from "../fuzz/nothing-left.ts";
import { startServer } from "../support/started-server.ts";

test("C27: after random calls the process lives, answers, and holds no slot and no byte", async (t) => {
  const seed = 20_261_118;
  t.diagnostic(`seed ${seed}`);
  await using server = await startServer({ flags: ["--log-level", "error"] });
  const { pid } = server;
  const report = await fuzzPort(server.url, { calls: 3_000, seed });
  await assertNothingLeft(server, pid);
  for (const kind of ["grpc", "connect", "json"] as const) {
    ok(report[kind].answered > 0, `${kind} calls reach the server`);
  }
});
