import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { freePort } from "../../../tests/support/fake-braid.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import { readSizeHistogram } from "./jolokia.ts";

const TABLE = { keyspace: "braid_plays_1", table: "data_20260328" };
const never = new AbortController().signal;

/** An HTTP server for one test. */
async function agent(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function reasonFor(body: string, status = 200): Promise<string> {
  await using server = await agent((_request, response) => {
    response.writeHead(status).end(body);
  });
  const answer = await readSizeHistogram(systemClock, server.url, TABLE, never);
  return "reason" in answer ? answer.reason : "it answered";
}

test("the histogram of the slice's table is requested and parsed", async () => {
  const paths: (string | undefined)[] = [];
  await using server = await agent((request, response) => {
    paths.push(request.url);
    response.end(JSON.stringify({ status: 200, value: [0, 0, 3, 1], timestamp: 1 }));
  });
  const answer = await readSizeHistogram(systemClock, server.url, TABLE, never);
  deepEqual("value" in answer && answer.value.buckets(), [
    { upToBytes: 3, partitions: 3 },
    { upToBytes: 4, partitions: 1 },
  ]);
  deepEqual(paths, [
    "/jolokia/read/org.apache.cassandra.metrics:type=Table,keyspace=braid_plays_1," +
      "scope=data_20260328,name=EstimatedPartitionSizeHistogram/Value",
  ]);
});

test("a table without data files has an empty histogram", async () => {
  await using server = await agent((_request, response) => {
    response.end(JSON.stringify({ status: 200, value: [] }));
  });
  const answer = await readSizeHistogram(systemClock, server.url, TABLE, never);
  equal("value" in answer && answer.value.count, 0);
});

test("a missing agent, a missing table, a missing permission and another service are distinguished", async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const absent = await readSizeHistogram(systemClock, nobody, TABLE, never);
  match("reason" in absent ? absent.reason : "", /^no Jolokia agent at http.*\(ECONNREFUSED\)$/);
  const missing = {
    status: 404,
    error_type: "javax.management.InstanceNotFoundException",
    error: "…",
  };
  match(await reasonFor(JSON.stringify(missing)), /does not know the slice's table/);
  match(await reasonFor(JSON.stringify({ status: 403, error: "not allowed" })), /403: not allowed/);
  match(await reasonFor("who are you", 401), /answers 401/);
  match(await reasonFor("<h1>welcome</h1>"), /does not answer as Jolokia/);
  match(await reasonFor(JSON.stringify({ status: 200, value: ["a"] })), /does not answer as/);
  match(await reasonFor(JSON.stringify({ status: 200, value: [-1] })), /does not answer as/);
});

test("an endless answer is not read to its end", async () => {
  await using server = await agent((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384, " ")));
    };
    response.on("drain", more);
    more();
  });
  const answer = await readSizeHistogram(systemClock, server.url, TABLE, never);
  match("reason" in answer ? answer.reason : "", /its answer is too long/);
});

test("an agent that does not answer is abandoned after two seconds, or when the caller leaves", async () => {
  const clock = new VirtualClock(0);
  const waiting: (() => void)[] = [];
  await using server = await agent(() => waiting.shift()?.());
  const asked = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));

  const slow = asked();
  const answer = readSizeHistogram(clock, server.url, TABLE, never);
  await slow;
  await clock.advance(2_000);
  const told = await answer;
  match("reason" in told ? told.reason : "", /did not answer within 2000 ms/);

  const leaving = new AbortController();
  const again = asked();
  const left = readSizeHistogram(clock, server.url, TABLE, leaving.signal);
  await again;
  leaving.abort(new Error("the caller has left"));
  await rejects(left, /the caller has left/);
});
