/**
 * `npm run fuzz -- [--calls N] [--seed S] [--from C]`: random calls against a server of its own, over
 * HTTP/1.1, HTTP/2, gRPC and Connect. The process must live, answer, and hold nothing when all is over.
 */
import { parseArgs } from "node:util";
import { fuzzPort } from "../tests/fuzz/fuzz-port.ts";
import { assertNothingLeft } from "../tests/fuzz/nothing-left.ts";
import { startServer } from "../tests/support/started-server.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "100000" },
    seed: { type: "string" },
    from: { type: "string", default: "0" },
  },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const calls = Number(values.calls);
await using server = await startServer({ flags: ["--log-level", "error"] });
const { pid } = server;
process.stdout.write(`seed ${seed}, ${calls} calls\n`);
const startedAt = performance.now();
const report = await fuzzPort(server.url, {
  calls,
  seed,
  from: Number(values.from),
  onProgress: (done) => {
    if (done % 5_000 === 0) process.stdout.write(`${done} calls\n`);
  },
});
await assertNothingLeft(server, pid);
for (const [kind, { calls: made, answered }] of Object.entries(report)) {
  process.stdout.write(`${kind}: ${made} calls, ${answered} answered\n`);
}
const seconds = Math.round((performance.now() - startedAt) / 1000);
process.stdout.write(`the server lives and holds nothing, after ${seconds} s\n`);
