/**
 * Which node answers the reads of one id, before and after its partition is split: three nodes,
 * each event on one of them, so that the node that answers is known.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import { GrpcLoad } from "../support/grpc-load.ts";
import { NodeFigures } from "../support/node-figures.ts";
import { pagesTogether } from "../support/read-load.ts";
import type { PageFigures } from "../support/read-load.ts";
import { note } from "../support/report.ts";
import type { Report } from "../support/report.ts";
import { loadSide, untilServed } from "../support/server-load.ts";
import { startServer } from "../support/server-process.ts";
import { isConfirmed, partsOf, SplitControl } from "../support/split-control.ts";
import { keyspaceOfSpace } from "../support/wide-load.ts";
import { createSpace, sealSpaces } from "../support/wide-space.ts";
import { pageFigure } from "./findings.ts";
import { QUICK_VIEWS_CASSANDRA } from "./options.ts";
import type { SplitBenchOptions } from "./options.ts";

const NODES = 3;
const MEGABYTES = 48;
const EVENT_BYTES = 500;
const SPLIT_MS_MAX = 600_000;

export async function benchThreeNodes(report: Report, options: SplitBenchOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "braid-bench-nodes-"));
  const cluster = await startCassandra({ nodes: NODES, directory, onProgress: note });
  const server = await startServer({
    ...QUICK_VIEWS_CASSANDRA,
    BRAID_ENGINE: "cassandra",
    BRAID_CASSANDRA_CONTACT_POINTS: cluster.contactPoints
      .map((host) => `${host}:${cluster.port}`)
      .join(","),
  });
  const grpc = await GrpcLoad.open(server.port);
  try {
    const widePartition = { bytesMax: String(4 << 20), targetBytes: String(2 << 20) };
    const space = await createSpace(server, { namespace: "spread", widePartition });
    const { namespace, start, end } = space;
    const side = { name: "wide", namespace, series: "wide", start, end };
    await loadSide(grpc, side, (MEGABYTES * 1e6) / EVENT_BYTES, EVENT_BYTES);
    const nodes = cluster.nodes.map((node) => new NodeFigures(node));
    const keyspace = keyspaceOfSpace(space);
    const tables = [space.slice, `wide_${space.slice}_0`];
    const readsOf = async (node: NodeFigures): Promise<number> =>
      (await Promise.all(tables.map((table) => node.reads(keyspace, table)))).reduce(
        (sum, each) => sum + each,
        0,
      );
    const measure = async (when: string): Promise<void> => {
      const before = await Promise.all(nodes.map(readsOf));
      const reading = { ...options, warmUp: 1, readers: 32 };
      const found = await pagesTogether([grpc], [side], "NEWEST_FIRST", reading);
      const after = await Promise.all(nodes.map(readsOf));
      const reads = after.map((count, i) => count - (before[i] as number));
      const all = reads.reduce((sum, each) => sum + each, 0);
      const shares = reads.map((count) => (100 * count) / all);
      report.add({
        name: `three nodes, ${when}, share of the busiest, %`,
        figure: `${shares.map((share) => share.toFixed(0)).join(", ")} %; ${pageFigure(found.get(side) as PageFigures)}`,
        value: Math.max(...shares),
        goal: "none",
        met: true,
      });
    };
    await measure(`one partition of ${MEGABYTES} MB`);
    const control = new SplitControl(server, namespace);
    await control.setMode("SERVE", "measured by a bench");
    await sealSpaces(server, [space]);
    await control.request(space.location("wide"), "to be measured");
    const split = await control.until(space.location("wide"), isConfirmed, SPLIT_MS_MAX);
    await untilServed(server, side);
    await measure(`split into ${partsOf(split)}`);
  } finally {
    grpc.close();
    await server.stop();
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
