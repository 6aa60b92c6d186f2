import { equal } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { freePort } from "../../../tests/support/fake-braid.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import { dataFilesOf } from "./data-files.ts";
import type { SizesSession } from "./partition-sizes-nodes.ts";
import type { Host } from "./session.ts";

const SLICE = { namespaceId: "plays-0123456789abcdef", slice: "data_20260328" };

/** Nodes on addresses of their own, each with the same agent port. */
function cluster(addresses: readonly string[]): SizesSession {
  // The fields of a host that the code reads.
  const host = (address: string) => ({ address: `${address}:9042`, isUp: () => true }) as Host;
  return {
    localHosts: addresses.map(host),
    options: { contactPoints: [], datacenter: "here", replication: { here: 1 } },
    execute: () => Promise.reject(new Error("no CQL statement is sent")),
  };
}

/** Answers by the address that was asked; undefined: no answer. */
async function agents(valueFor: (address: string) => unknown) {
  let asked: () => void = () => undefined;
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    asked();
    const value = valueFor(request.headers.host?.split(":")[0] ?? "");
    if (value !== undefined) response.end(JSON.stringify({ status: 200, value }));
  }).listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    paths,
    whenAsked: () => new Promise<void>((resolve) => (asked = resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function ask(addresses: readonly string[], jolokiaPort: number, clock = systemClock) {
  return dataFilesOf({ session: cluster(addresses), prefix: "braid", clock, jolokiaPort }, SLICE);
}

test("the node with the most data files counts, of those that answer", async () => {
  const files = new Map<string, unknown>([
    ["127.0.0.1", 7],
    ["localhost", 12],
  ]);
  await using server = await agents((address) => files.get(address));
  equal(await ask(["127.0.0.1", "localhost"], server.port), 12);
  equal(
    server.paths[0],
    "/jolokia/read/org.apache.cassandra.metrics:type=Table,keyspace=braid_plays_0123456789abcdef," +
      "scope=data_20260328,name=LiveSSTableCount/Value",
  );
  files.set("localhost", "many");
  equal(await ask(["127.0.0.1", "localhost"], server.port), 7);
});

test("without an agent, a port or a matching table the answer is undefined", async () => {
  equal(await ask(["127.0.0.1"], await freePort()), undefined);
  equal(await ask(["127.0.0.1"], 0), undefined);
  equal(await ask([], 8778), undefined);
  const session = cluster(["127.0.0.1"]);
  const options = { session, prefix: "braid", clock: systemClock, jolokiaPort: 8778 };
  equal(await dataFilesOf(options, { ...SLICE, slice: "no table" }), undefined);
});

test("an agent that does not answer is not waited for", async () => {
  const clock = new VirtualClock(0);
  await using server = await agents(() => undefined);
  const asked = server.whenAsked();
  const answer = ask(["127.0.0.1"], server.port, clock);
  await asked;
  await clock.advance(5_000);
  equal(await answer, undefined);
});
