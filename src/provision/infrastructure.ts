/**
 * How many machines a plan needs. Pure.
 *
 * Processors follow square-root staffing: an offered load of a cores needs a + Q √a, so that few
 * requests wait. The machines of the remaining zones carry the peak when a zone is lost. What each
 * request costs is rounded up from few measurements (docs/performance.md).
 */
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import type { HardwareTable, MachineShape } from "./hardware.ts";
import { BYTE_READ_MS, lingeringShare, PARTITION_READ_MS } from "./partition-cost.ts";
import type { ShapeCost } from "./partition-cost.ts";
import { quantileOf } from "./quantiles.ts";
import type { Workload } from "./workload.ts";
import type { World } from "./worlds.ts";

/** About one request in twenty waits for a processor (Halfin and Whitt). */
const STAFFING_Q = 1.761;
/** A node's processor time for a write, on each replica. */
const NODE_WRITE_MS = 0.06;
/** Compaction, repair and collections take as much again. */
const NODE_BACKGROUND = 2;
const SERVER_WRITE_MS = 0.015;
const SERVER_READ_MS = 1;
/** A server passes on 60 MB/s of events. */
const SERVER_BYTE_MS = 1_000 / 60e6;
/** From detection to confirmation, of one worker. */
const WORKER_BYTES_PER_SECOND = 6.5e6;
/** Compaction needs room: no disk is planned fuller than this. */
const DISK_FULL_MAX = 0.5;
/** The plan is enough in this share of the worlds. */
const COVERED_WORLDS = 0.9;
/** What one machine may take on the embedded engine, by the same measurements. */
const EMBEDDED_WRITES_MAX = 20_000;
const EMBEDDED_DISK_BYTES_MAX = 500 * 2 ** 30;
/** Without prices: what a machine costs besides its CPUs, so that few larger ones win. */
const MACHINE_CPUS = 2;
const GIB = 2 ** 30;
const DAY_SECONDS = 86_400;

/** What one world needs at the horizon, before it is put on machines. */
export interface Demand {
  readonly diskBytes: number;
  readonly nodeCores: number;
  readonly serverCores: number;
  readonly splitBytesPerSecond: number;
  readonly peakReadsPerSecond: number;
  readonly peakWritesPerSecond: number;
}

export interface MachineGroup {
  readonly shape: MachineShape;
  readonly count: number;
  /** What decides the count: cpu, disk, or the least number for the zones. */
  readonly decidedBy: "cpu" | "disk" | "zones";
}

export interface Infrastructure {
  readonly hardwareAsOf: string;
  readonly zones: number;
  readonly replication: number;
  readonly cassandra: MachineGroup;
  readonly servers: MachineGroup;
  readonly workers: MachineGroup;
  readonly peakReadsPerSecond: number;
  readonly peakWritesPerSecond: number;
  /** All replicas, as stored. */
  readonly diskBytes: number;
  /** Whether the embedded engine on one machine is enough. */
  readonly fitsOneMachine: boolean;
}

export function demandOf(
  world: World,
  shape: ShapeCost,
  timePartition: TimePartition,
  { workload, config }: { readonly workload: Workload; readonly config: NamespaceConfig },
): Demand {
  const { wideShare, keysShare, bytesPerRead } = shape;
  const { replication } = workload;
  const eventsPerDay = world.ids * world.growth * world.eventsPerDay;
  const bytesPerDay = eventsPerDay * world.eventBytes;
  const days = config.retention.deleteAfterMicros / 1e6 / DAY_SECONDS;
  const lingering = lingeringShare(timePartition.secondsPerTimeSlice, config.retention);
  const extra = wideShare + keysShare + lingering;
  const peakWrites = world.writesPerSecond * world.growth * world.burstiness;
  const peakReads = world.readsPerSecond * world.growth * world.burstiness;
  const copies = config.consistency === "READ_YOUR_WRITES" ? Math.floor(replication / 2) + 1 : 1;
  const nodeReadMs =
    (shape.partitionsPerRead * PARTITION_READ_MS + bytesPerRead * BYTE_READ_MS) * copies;
  const nodeMs = peakReads * nodeReadMs + peakWrites * NODE_WRITE_MS * replication;
  const serverMs =
    peakReads * (SERVER_READ_MS + bytesPerRead * SERVER_BYTE_MS) + peakWrites * SERVER_WRITE_MS;
  return {
    diskBytes: bytesPerDay * days * (1 + extra) * world.compressionRatio * replication,
    nodeCores: staffed((nodeMs / 1_000) * NODE_BACKGROUND),
    serverCores: staffed(serverMs / 1_000),
    splitBytesPerSecond: (bytesPerDay / DAY_SECONDS) * wideShare,
    peakReadsPerSecond: peakReads,
    peakWritesPerSecond: peakWrites,
  };
}

export function infrastructureFor(
  demands: readonly Demand[],
  workload: Pick<Workload, "replication" | "zones">,
  hardware: HardwareTable,
): Infrastructure {
  const { zones, replication } = workload;
  const need = (of: (demand: Demand) => number): number =>
    quantileOf(demands.map(of), COVERED_WORLDS);
  const diskBytes = need((demand) => demand.diskBytes);
  const peakWritesPerSecond = need((demand) => demand.peakWritesPerSecond);
  const lost = zones > 1 ? zones / (zones - 1) : 1;
  const cores = need((demand) => demand.nodeCores) * lost;
  const nodesMin = Math.max(replication, zones);
  const cassandra = cheapest(hardware.nodes, (shape) =>
    groupOf(shape, zones, [
      ["zones", nodesMin],
      ["cpu", cores / shape.cpus],
      ["disk", diskBytes / (shape.diskGib * GIB * DISK_FULL_MAX)],
    ]),
  );
  const serverCores = need((demand) => demand.serverCores) * lost;
  // A server is one process and uses little more than one processor.
  const servers = cheapest(hardware.servers, (shape) =>
    groupOf(shape, zones, [
      ["zones", Math.min(2, zones)],
      ["cpu", serverCores / Math.min(2, shape.cpus)],
    ]),
  );
  const splitting = need((demand) => demand.splitBytesPerSecond);
  const workers = cheapest(hardware.servers, (shape) =>
    groupOf(shape, 1, [
      ["zones", Math.min(2, zones)],
      ["cpu", (splitting / WORKER_BYTES_PER_SECOND) * lost],
    ]),
  );
  return {
    hardwareAsOf: hardware.asOf,
    zones,
    replication,
    cassandra,
    servers,
    workers,
    peakReadsPerSecond: need((demand) => demand.peakReadsPerSecond),
    peakWritesPerSecond,
    diskBytes,
    fitsOneMachine:
      peakWritesPerSecond <= EMBEDDED_WRITES_MAX &&
      diskBytes / replication <= EMBEDDED_DISK_BYTES_MAX &&
      need((demand) => demand.serverCores) <= 2,
  };
}

/** Cores for an offered load, in cores. */
export function staffed(load: number): number {
  return load + STAFFING_Q * Math.sqrt(load);
}

/** Machines by the largest need, in whole numbers for each zone. */
function groupOf(
  shape: MachineShape,
  zones: number,
  needs: readonly (readonly [MachineGroup["decidedBy"], number])[],
): MachineGroup {
  const [decidedBy, most] = needs.reduce((a, b) => (b[1] > a[1] ? b : a));
  const count = decidedBy === "zones" ? most : Math.ceil(most / zones) * zones;
  return { shape, count, decidedBy };
}

/** By cost where every shape has one, else by processors; of equals the fewest machines. */
function cheapest(
  shapes: readonly MachineShape[],
  groupFor: (shape: MachineShape) => MachineGroup,
): MachineGroup {
  const priced = shapes.every(({ monthlyCost }) => monthlyCost > 0);
  const costOf = ({ shape, count }: MachineGroup): number =>
    count * (priced ? shape.monthlyCost : shape.cpus + MACHINE_CPUS);
  const [first, ...others] = shapes.map(groupFor);
  return others.reduce((best, group) => {
    const difference = costOf(group) - costOf(best);
    return difference < 0 || (difference === 0 && group.count < best.count) ? group : best;
  }, first as MachineGroup);
}
