/** A small agent answers as Jolokia does; tests/engines/cassandra/sizes.test.ts asks a real one. */
import { deepEqual, equal } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { NodeFiguresWatch } from "./node-figures.ts";
import type { Host } from "./session.ts";

const never = new AbortController().signal;

const WELL = [
  { status: 200, value: 7 },
  { status: 200, value: 3 },
  {
    status: 200,
    value: {
      "java.lang:name=G1 Young Generation,type=GarbageCollector": { CollectionTime: 1_200 },
      "java.lang:name=G1 Old Generation,type=GarbageCollector": { CollectionTime: 300 },
    },
  },
  { status: 200, value: 0.25 },
];

/** An agent on a free port, and the watch of one node that has it. */
async function watched(answers: { body: string; status?: number }, clock: Clock = systemClock) {
  const requests: unknown[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push(JSON.parse(body));
      response.writeHead(answers.status ?? 200).end(answers.body);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: jolokiaPort } = server.address() as AddressInfo;
  // Only what it asks of a node of the driver.
  const node = { address: "127.0.0.1:9042", isUp: () => true } as Host;
  const down = { address: "127.0.0.2:9042", isUp: () => false } as Host;
  const session = { localHosts: [node, down] };
  return {
    requests,
    watch: new NodeFiguresWatch({ session, clock, jolokiaPort }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("figures of a node come in one request, its collectors added up", async () => {
  await using agent = await watched({ body: JSON.stringify(WELL) });
  deepEqual(agent.watch.current(), []);
  await agent.watch.refresh(never);
  deepEqual(agent.watch.current(), [
    { node: "127.0.0.1:9042", pendingReads: 7, readTimeouts: 3, gcSeconds: 1.5, cpuShare: 0.25 },
  ]);
  equal(agent.requests.length, 1);
});

test("a figure that the node does not have is left out, the others stay", async () => {
  const [pending, , , cpu] = WELL;
  const missing = { status: 404, error_type: "javax.management.InstanceNotFoundException" };
  const body = JSON.stringify([
    pending,
    missing,
    { status: 200, value: "odd" },
    { ...cpu, value: -1 },
  ]);
  await using agent = await watched({ body });
  await agent.watch.refresh(never);
  deepEqual(agent.watch.current(), [
    {
      node: "127.0.0.1:9042",
      pendingReads: 7,
      readTimeouts: undefined,
      gcSeconds: undefined,
      cpuShare: undefined,
    },
  ]);
});

test("a node that does not answer as Jolokia does disappears, and is asked again after five minutes", async () => {
  const clock = new VirtualClock(0);
  const answers = { body: JSON.stringify(WELL), status: 200 };
  await using agent = await watched(answers, clock);
  await agent.watch.refresh(never);
  equal(agent.watch.current().length, 1);
  for (const body of ["<h1>welcome</h1>", "[]", JSON.stringify(WELL.slice(1))]) {
    const before = agent.requests.length;
    answers.body = body;
    await agent.watch.refresh(never);
    deepEqual(agent.watch.current(), [], body);
    await agent.watch.refresh(never);
    equal(agent.requests.length, before + 1, "not asked again at once");
    answers.body = JSON.stringify(WELL);
    await clock.advance(300_000);
    await agent.watch.refresh(never);
    equal(agent.watch.current().length, 1);
  }
});

test("without a port no node is asked, and a process that stops leaves at once", async () => {
  const watch = new NodeFiguresWatch({
    session: { localHosts: [] },
    clock: new VirtualClock(0),
    jolokiaPort: 0,
  });
  await watch.run(never);
  await using agent = await watched({ body: JSON.stringify(WELL) });
  await agent.watch.refresh(AbortSignal.abort());
  deepEqual(agent.watch.current(), []);
  await agent.watch.run(AbortSignal.abort());
});
