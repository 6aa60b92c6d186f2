/**
 * Fills partitions of a Braid namespace on Cassandra with the driver itself: hundreds of megabytes
 * in minutes.
 *
 * The server only needs the rows to be there. That it knows how large an event can be is seen to by
 * a first one of the same size, which goes through the server into the same slice.
 */
import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "cassandra-driver";
import type { CassandraNode } from "../../scripts/services/cassandra-cluster.ts";
import { nodetool } from "../../scripts/services/nodetool.ts";
import { keyspaceOf } from "../../src/engines/cassandra/keyspaces.ts";
import { makeEvent, writeRequest } from "./events.ts";
import type { BenchEvent } from "./events.ts";
import { frameMessage } from "./grpc-load.ts";
import type { GrpcLoad } from "./grpc-load.ts";
import type { NodeFigures } from "./node-figures.ts";
import { BATCH_ROWS_MAX, insertInto, paramsOf } from "./raw-cassandra.ts";
import { writeAll } from "./server-load.ts";
import { inFlight } from "./stats.ts";
import type { WideSpace } from "./wide-space.ts";

const STATEMENTS_IN_FLIGHT = 24;
/** Events made at a time: all of them at once would dominate the memory of the process. */
const EVENTS_AT_ONCE = 64_000;
const KEYSPACE_PREFIX = "braid";

export interface WideSeries {
  readonly space: WideSpace;
  readonly series: string;
  readonly events: number;
  readonly eventBytes: number;
}

export function keyspaceOfSpace(space: WideSpace): string {
  return keyspaceOf(KEYSPACE_PREFIX, space.id);
}

/** Where the events of a series end: they are spread over all of the time. */
function timeOf({ space, events }: WideSeries, nth: number): number {
  return space.start + Math.floor((nth * (space.end - space.start)) / events);
}

/** One event of this size through the server, so that the slice's bound is kept (rule C20). */
export async function writeFirst(grpc: GrpcLoad, wide: WideSeries): Promise<void> {
  const event = makeEvent("first", wide.space.start, 0, wide.eventBytes);
  await writeAll(grpc, frameMessage(writeRequest(wide.space.namespace, [event])));
}

/**
 * Writes a series in `rounds`, each spread over all of its time and flushed, as a partition is that
 * was written over a long time: its files all overlap.
 */
export async function loadWide(
  client: Client,
  node: NodeFigures,
  wide: WideSeries,
  rounds: number,
  onRound: (round: number) => void = () => undefined,
): Promise<void> {
  const { space } = wide;
  const keyspace = keyspaceOfSpace(space);
  if (rounds > 1) await node.leaveUncompacted(keyspace, space.slice);
  for (let round = 0; round < rounds; round++) {
    for (let from = round; from < wide.events; from += rounds * EVENTS_AT_ONCE) {
      const events: BenchEvent[] = [];
      const to = Math.min(wide.events, from + rounds * EVENTS_AT_ONCE);
      for (let n = from; n < to; n += rounds) {
        events.push(makeEvent(wide.series, timeOf(wide, n), n, wide.eventBytes));
      }
      await insertAll(client, `${keyspace}.${space.slice}`, space, events);
    }
    await node.flush(keyspace, space.slice);
    onRound(round);
  }
}

async function insertAll(
  client: Client,
  table: string,
  space: WideSpace,
  events: readonly BenchEvent[],
): Promise<void> {
  const batches: { bucket: number; events: BenchEvent[] }[] = [];
  for (const event of events) {
    const bucket = space.bucketOf(event.time);
    const last = batches.at(-1);
    if (last?.bucket === bucket && last.events.length < BATCH_ROWS_MAX) last.events.push(event);
    else batches.push({ bucket, events: [event] });
  }
  await inFlight(batches, STATEMENTS_IN_FLIGHT, async (batch) => {
    const params = batch.events.flatMap((event) => paramsOf(event, batch.bucket));
    await client.execute(insertInto(table, batch.events.length), params);
  });
}

/** The files of one namespace's slice become those of another's, as they are. */
export async function copyFiles(
  node: CassandraNode,
  figures: NodeFigures,
  directory: string,
  from: WideSpace,
  to: WideSpace,
): Promise<void> {
  const keyspace = keyspaceOfSpace(to);
  await figures.leaveUncompacted(keyspace, to.slice);
  const data = join(directory, node.name, "data", keyspaceOfSpace(from));
  const [table] = (await readdir(data)).filter((name) => name.startsWith(`${from.slice}-`));
  if (table === undefined) throw new Error(`${data} has no folder of ${from.slice}`);
  const copy = join(directory, "copy", to.namespace);
  await mkdir(copy, { recursive: true });
  await cp(join(data, table), copy, {
    recursive: true,
    filter: (source) => !/\/(?:backups|snapshots)$/.test(source),
  });
  await nodetool(node, "import", keyspace, to.slice, copy);
  await rm(copy, { recursive: true, force: true });
}
