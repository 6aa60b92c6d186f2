/**
 * Starts the peers and their callers, gives all of them the same series, and splits it in one of
 * Braid's namespaces.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QUICK_VIEWS } from "../split/options.ts";
import { processorSeconds } from "../support/process-figures.ts";
import { note } from "../support/report.ts";
import { untilServed } from "../support/server-load.ts";
import { startServer } from "../support/server-process.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { isConfirmed, SplitControl } from "../support/split-control.ts";
import { createSpace, sealSpaces } from "../support/wide-space.ts";
import type { WideSpace } from "../support/wide-space.ts";
import { CallerProcess } from "./caller-process.ts";
import type { PeerName } from "./caller-process.ts";
import { MemoryWatch } from "./memory-watch.ts";
import { INGEST_NAMESPACE } from "./namespaces.ts";
import { findPostgres, startPostgres } from "./postgres-server.ts";
import type { PostgresServer } from "./postgres-server.ts";
import type { Series } from "./work.ts";

const SPLIT_MS_MAX = 1_200_000;

export interface Peer {
  readonly caller: CallerProcess;
  /** Processor time of its server; SQLite has none. */
  serverSeconds(): Promise<number>;
}

export interface Peers {
  readonly all: ReadonlyMap<PeerName, Peer>;
  /** Of Braid's server. */
  readonly memory: MemoryWatch;
  stop(): Promise<void>;
}

export async function startPeers(events: number): Promise<Peers> {
  const directory = await mkdtemp(join(tmpdir(), "braid-bench-peers-"));
  const server = await startServer(QUICK_VIEWS);
  const memory = new MemoryWatch(server.pid);
  const all = new Map<PeerName, Peer>();
  let postgres: PostgresServer | undefined;
  const stop = async (): Promise<void> => {
    for (const { caller } of all.values()) await caller.stop();
    memory.stop();
    await server.stop();
    await postgres?.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const spaces = await createNamespaces(server);
    const { start, end } = spaces.packed;
    const series: Series = { id: "series", start, end, events };
    const add = async (
      peer: PeerName,
      port: number,
      serverSeconds: () => Promise<number>,
    ): Promise<void> => {
      const caller = await CallerProcess.start({ peer, port, directory, series });
      all.set(peer, { caller, serverSeconds });
    };
    const ofServer = (): Promise<number> => processorSeconds(server.pid);
    await add("client", server.port, ofServer);
    await add("gRPC", server.port, ofServer);
    await add("SQLite", 0, () => Promise.resolve(0));
    const programs = findPostgres();
    if (programs === undefined) note("PostgreSQL is not installed: SQLite is the only peer");
    else {
      const started = await startPostgres(programs);
      postgres = started;
      note(`PostgreSQL ${started.version} from ${programs}`);
      await add("PostgreSQL", started.port, () => started.processorSeconds());
      await add("PostgreSQL COPY", started.port, () => started.processorSeconds());
    }
    memory.enter("load");
    await load(all);
    memory.enter("split");
    await split(server, spaces, series);
    return { all, memory, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Spaces = Readonly<Record<"rows" | "packed", WideSpace>>;

async function createNamespaces(server: ServerProcess): Promise<Spaces> {
  await server.post("ControlService/CreateNamespace", {
    namespace: INGEST_NAMESPACE,
    config: {
      timePartition: { secondsPerTimeSlice: 864_000, secondsPerTimeBucket: 864_000 },
      acceptLimit: "7200s",
      retention: { closeAfter: "8640000s", deleteAfter: "9000000s" },
    },
  });
  return {
    rows: await createSpace(server, { namespace: "rows", widePartition: { detect: false } }),
    packed: await createSpace(server, { namespace: "packed" }),
  };
}

async function load(all: ReadonlyMap<PeerName, Peer>): Promise<void> {
  const loads = [
    ["gRPC", "rows"],
    ["gRPC", "packed"],
    ["PostgreSQL COPY", "rows"],
    ["SQLite", "rows"],
  ] as const;
  for (const [name, stored] of loads) {
    const done = await all.get(name)?.caller.do({ kind: "load", stored });
    if (done !== undefined) note(`loaded by ${name}, ${stored}: ${done.seconds.toFixed(1)} s`);
  }
}

async function split(server: ServerProcess, spaces: Spaces, series: Series): Promise<void> {
  const { rows, packed } = spaces;
  await new SplitControl(server, rows.namespace).setMode("OFF", "rows are measured");
  const control = new SplitControl(server, packed.namespace);
  await control.setMode("SERVE", "the split is measured");
  await sealSpaces(server, [rows, packed]);
  const location = packed.location(series.id);
  await control.request(location, "the split is measured");
  let shown = "";
  await control.until(location, isConfirmed, SPLIT_MS_MAX, ({ state }) => {
    if (state !== shown) note(`split: ${state}`);
    shown = state;
  });
  const side = { name: "packed", namespace: packed.namespace, series: series.id, ...series };
  await untilServed(server, side);
}
