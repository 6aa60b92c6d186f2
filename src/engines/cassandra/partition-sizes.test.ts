import { equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "../../lib/clock.ts";
import type { NoSizes, SizeReport, SizeSource } from "../../ports/partition-sizes.ts";
import { cassandraPartitionSizes } from "./partition-sizes.ts";
import type { SizesSession } from "./partition-sizes-nodes.ts";
import type { Host, QueryOptions, Result, Row } from "./session.ts";

const SLICE = { namespaceId: "plays-0123456789abcdef", slice: "data_20260328" };
const never = new AbortController().signal;

interface Node {
  readonly up?: boolean;
  readonly estimates?: readonly Row[];
  readonly mebibytes?: number;
  readonly failing?: boolean;
}

/** A cluster whose nodes answer as given. */
function cluster(nodes: readonly Node[], replicas: number): SizesSession {
  const hosts = nodes.map((node, nth) => {
    const address = `127.0.0.1:${9_000 + nth}`;
    // The fields of a host that the code reads.
    return { address, datacenter: "here", isUp: () => node.up !== false } as Host;
  });
  return {
    localHosts: hosts,
    options: { contactPoints: [], datacenter: "here", replication: { here: replicas } },
    execute: (_kind: string, query: string, _params: unknown[], { host }: QueryOptions) => {
      const node = nodes[hosts.indexOf(host as Host)];
      if (node?.failing === true) return Promise.reject(new Error("no such table"));
      const rows = query.includes("table_estimates")
        ? (node?.estimates ?? [])
        : [{ mebibytes: node?.mebibytes ?? 0 }];
      return Promise.resolve({ rows, more: false } satisfies Result);
    },
  };
}

function estimate(partitions_count: number, mean_partition_size: number): Row {
  return { partitions_count, mean_partition_size };
}

async function askedOf(
  source: SizeSource,
  session: SizesSession,
  jolokiaPort = 0,
): Promise<SizeReport | NoSizes> {
  const sources = cassandraPartitionSizes({
    session,
    prefix: "braid",
    clock: systemClock,
    jolokiaPort,
  });
  const [found] = sources.filter((each) => each.source === source);
  ok(found !== undefined);
  return found.sizesOf(SLICE, never);
}

async function sizesFrom(...asked: Parameters<typeof askedOf>): Promise<SizeReport> {
  const answer = await askedOf(...asked);
  ok(answer.kind === "sizes", answer.kind === "none" ? answer.reason : "");
  return answer;
}

/**
 * One agent for all nodes, which returns the next of the arrays to each request; a node without one
 * is refused.
 */
async function agents(arrays: readonly (readonly number[] | undefined)[]) {
  const left = [...arrays];
  const server = createServer((_request, response) => {
    const value = left.shift();
    if (value === undefined) response.writeHead(503).end();
    else response.end(JSON.stringify({ status: 200, value }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("estimates of all nodes are added, the mean is weighted, and the largest is the maximum", async () => {
  const session = cluster(
    [
      { estimates: [estimate(100, 1_000), estimate(100, 3_000)], mebibytes: 2 },
      { estimates: [estimate(200, 4_000)], mebibytes: 7 },
    ],
    2,
  );
  const report = await sizesFrom("TABLE_ESTIMATES", session);
  equal(report.count, 400);
  equal(report.meanBytes, 3_000);
  equal(report.maxBytes, 7 * 1_048_576);
  equal(report.histogram, undefined);
  equal(report.coverage, "2 of 2 nodes answered");
});

test("nodes that are down or fail are left out, and the report says so", async () => {
  const there = { estimates: [estimate(100, 1_000)], mebibytes: 1 };
  const some = await sizesFrom("TABLE_ESTIMATES", cluster([there, { up: false }, there], 3));
  equal(some.count, 300);
  equal(some.coverage, "2 of 3 nodes answered; counts are scaled up to all of them");
  const none = await askedOf("TABLE_ESTIMATES", cluster([{ failing: true }, { up: false }], 1));
  match(none.kind === "none" ? none.reason : "", /127\.0\.0\.1:9000 .*no such table/);
  const nobody = await askedOf("TABLE_ESTIMATES", cluster([], 1));
  equal(nobody.kind === "none" && nobody.reason, "no node of the data centre is known");
});

test("histograms of all nodes are added and divided by the number of replicas", async () => {
  const counts = [0, 0, 4, 2];
  await using agent = await agents([counts, counts, counts]);
  const report = await sizesFrom("JMX", cluster([{}, {}, {}], 3), agent.port);
  equal(report.count, 6);
  equal(report.maxBytes, 4);
  equal(report.histogram?.percentile(0.5), 3);
  equal(report.coverage, "3 of 3 nodes answered");
});

test("the others make up for a node without an agent", async () => {
  const counts = [0, 0, 4, 2];
  await using agent = await agents([counts, counts, undefined]);
  const report = await sizesFrom("JMX", cluster([{}, {}, {}], 3), agent.port);
  equal(report.count, 6);
  equal(report.coverage, "2 of 3 nodes answered; counts are scaled up to all of them");
});

test("there are no more replicas than nodes, whatever is configured", async () => {
  await using agent = await agents([[0, 5]]);
  equal((await sizesFrom("JMX", cluster([{}], 3), agent.port)).count, 5);
});

test("port 0 asks no agent, and the report says so", async () => {
  const answer = await askedOf("JMX", cluster([{}], 1), 0);
  match(answer.kind === "none" ? answer.reason : "", /jolokia_port is 0/);
});

test("a caller that leaves gets its own reason", async () => {
  const session = cluster([{}], 1);
  const options = { session, prefix: "braid", clock: systemClock, jolokiaPort: 1 };
  const left = AbortSignal.abort(new Error("the caller has left"));
  for (const source of cassandraPartitionSizes(options)) {
    await rejects(source.sizesOf(SLICE, left), /the caller has left/, source.source);
  }
});
