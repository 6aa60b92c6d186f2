/**
 * Stops the real process while callers write to it, and starts a second one on its data directory.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { until } from "../support/conditions.ts";
import { collect } from "../support/fake-braid.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const START = (Date.now() - 60_000) * 1000;
const ALL = { start: formatTime(START), end: formatTime(START + 60_000_000) };
const BATCH = 20;

let server: StartedServer;
/** Reports every failure at once and never retries. */
let client: BraidClient;

before(async () => {
  server = await startServer();
  client = connect(server.url, { retries: { attemptsMax: 1 } });
  await client.createNamespace("plays");
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

test("U1: a second server on the same data is refused with one clear line and exit code 1", async () => {
  const second = await braid(
    ["serve", "--listen", "127.0.0.1:0", "--data", server.data],
    server.url,
  );
  equal(second.code, 1);
  equal(second.out, "");
  const lines = second.err.trimEnd().split("\n");
  equal(lines.length, 1, second.err);
  const who = `in use by process ${server.pid}; stop it or choose another directory`;
  equal(lines[0], `braid: the data directory ${server.data} is ${who}`);
  equal((await fetch(`${server.url}/healthz`)).status, 200, "the first still serves");
});

test("U3: SIGTERM under load exits 0, and every acknowledged or queued event is stored", async () => {
  const writers = ["sync-0", "sync-1", "sync-2", "queued-0", "queued-1", "queued-2"];
  const acknowledged = new Map(writers.map((writer) => [writer, 0]));
  const refusals: BraidError[] = [];
  const write = async (writer: string): Promise<void> => {
    for (;;) {
      const from = acknowledged.get(writer) ?? 0;
      const events = Array.from({ length: BATCH }, (_, i) => ({
        timeSeriesId: writer,
        eventTime: formatTime(START + from + i),
        eventId: `e-${from + i}`,
      }));
      try {
        const taken = writer.startsWith("sync")
          ? (await client.writeSync("plays", events, { failures: "return" })).written
          : (await client.write("plays", events, { failures: "return" })).accepted;
        equal(taken, BATCH);
      } catch (error) {
        if (!(error instanceof BraidError)) throw error;
        refusals.push(error);
        return;
      }
      acknowledged.set(writer, from + BATCH);
    }
  };
  const writing = Promise.all(writers.map(write));
  await until(() => [...acknowledged.values()].every((count) => count >= 5 * BATCH));
  const exitCode = await server.stop("SIGTERM");
  await writing;
  equal(exitCode, 0);
  equal(refusals.length, writers.length, "every writer got an error when the server stopped");
  for (const { code, message } of refusals) {
    match(code, /^(SERVER_UNREACHABLE|STORAGE_UNAVAILABLE)$/, message);
  }

  await server.start();
  for (const [writer, count] of acknowledged) {
    const query = { timeSeriesId: writer, ...ALL, order: "OLDEST_FIRST" } as const;
    const ids = (await collect(client.stream("plays", query))).map(({ eventId }) => eventId);
    ok(ids.length >= count, `${writer}: ${count} acknowledged, ${ids.length} found`);
    deepEqual(
      ids,
      ids.map((_, i) => `e-${i}`),
      writer,
    );
  }
});
