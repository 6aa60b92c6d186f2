/** Shows a plan to people. */
import { formatDurationMs } from "../lib/units.ts";
import { densityOf } from "../model/density.ts";
import { DEFAULT_NAMESPACE_CONFIG as DEFAULTS } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import type { Band, PartitionPlan } from "../model/partition-plan.ts";
import { percent } from "../provision/explain-plan.ts";
import type { MachineGroup } from "../provision/infrastructure.ts";
import type { NamespacePlan } from "../provision/plan.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { count, millis, size } from "./print.ts";

export function describePlan(plan: NamespacePlan, config: NamespaceConfig): Block[] {
  const { chosen, alternatives, seed, worlds, candidates } = plan;
  return [
    pairs([
      ["partitions", partitionText(chosen.timePartition)],
      ["sizes", sizesText(chosen)],
      ["density", densityText(chosen, config)],
      ["splits", splitsText(chosen, config)],
      ["reads", readsText(chosen)],
      ["hot spots", `${busyText(chosen.peakWritesPerPartition)} events/s to one partition at most`],
      ["tables", `${count(chosen.tables)} at a time, two for each slice`],
      ...machineRows(plan),
      ["create it", createCommand(chosen.timePartition, config)],
      ["simulated", `${count(candidates)} candidates in ${count(worlds)} worlds, seed ${seed}`],
    ]),
    line(""),
    table(
      [
        "=ALTERNATIVE",
        ">SLICE",
        ">BUCKET",
        ">EVENT BUCKETS",
        ">REGRET",
        "?>P50",
        ">P99",
        ">READS WIDE",
        ">PARTITIONS/READ",
        "?>TABLES",
        "?>DISK",
      ],
      [
        ["(chosen)", ...cells(chosen)],
        ...alternatives.map((each) => [each.name, ...cells(each.plan)]),
      ],
    ),
    line(""),
    ...alternatives.map(({ name, whyNot }) => line(`${name}: ${whyNot}`)),
  ];
}

export function partitionText({
  secondsPerTimeSlice,
  secondsPerTimeBucket,
  eventBuckets,
}: TimePartition) {
  const buckets = eventBuckets === 1 ? "1 event bucket" : `${count(eventBuckets)} event buckets`;
  return `slices of ${width(secondsPerTimeSlice)}, buckets of ${width(secondsPerTimeBucket)}, ${buckets}`;
}

function sizesText({ p50Bytes, p99Bytes, maxBytes }: PartitionPlan): string {
  return `p50 ${sizeBand(p50Bytes)}, p99 ${sizeBand(p99Bytes)}, largest ${sizeBand(maxBytes)}`;
}

function densityText({ p99Bytes }: PartitionPlan, { tuning }: NamespaceConfig): string {
  const { densityMinBytes, densityMaxBytes } = tuning;
  const target = `the target of ${size(densityMinBytes)} to ${size(densityMaxBytes)}`;
  return `p99 is ${densityOf(p99Bytes.mid, tuning)} ${target}`;
}

export function splitsText(plan: PartitionPlan, { widePartition }: NamespaceConfig): string {
  const { idsBeyondLimit, readsBeyondLimit, bytesBeyondLimit } = plan;
  const limit = `${size(widePartition.bytesMax)} or ${count(widePartition.eventsMax)} events`;
  const most = Math.max(idsBeyondLimit.high, readsBeyondLimit.high, bytesBeyondLimit.high);
  if (most === 0) return `no partition is expected to have more than ${limit}`;
  return (
    `${percent(idsBeyondLimit.mid)} of ids, ${percent(readsBeyondLimit.mid)} of reads and ` +
    `${percent(bytesBeyondLimit.mid)} of bytes are beyond ${limit}`
  );
}

function readsText({ partitionsPerRead, readOverheadMs }: PartitionPlan): string {
  const { low, mid, high } = partitionsPerRead;
  const range = short(low) === short(high) ? "" : ` (${short(low)} to ${short(high)})`;
  const noun = short(mid) === "1" ? "partition" : "partitions";
  return `${short(mid)} ${noun} a read${range}, about ${short(readOverheadMs.mid)} ms to reach them`;
}

function machineRows({ chosen, infrastructure }: NamespacePlan): [string, string][] {
  const { zones, replication, cassandra, servers, workers, fitsOneMachine } = infrastructure;
  const { hardwareAsOf, peakReadsPerSecond, peakWritesPerSecond } = infrastructure;
  const spare = zones > 1 ? ", also without one zone" : "";
  const rows: [string, string][] = [
    ["disk", `${sizeBand(chosen.diskBytes)} with ${replication} copies and those of splits`],
    [
      "load",
      `${count(Math.ceil(peakReadsPerSecond))} reads/s and ` +
        `${count(Math.ceil(peakWritesPerSecond))} writes/s at the peak`,
    ],
    ["cassandra", `${machines(cassandra)} in ${zonesText(zones)}; ${DECIDES[cassandra.decidedBy]}`],
    ["servers", machines(servers)],
    ["workers", machines(workers)],
    ...costRows([cassandra, servers, workers]),
    ["hardware", `figures of ${hardwareAsOf}; enough in 9 of 10 worlds${spare}`],
  ];
  if (fitsOneMachine) rows.push(["or", "one machine with the embedded engine is enough"]);
  return rows;
}

const DECIDES: Readonly<Record<MachineGroup["decidedBy"], string>> = {
  cpu: "CPUs decide how many",
  disk: "disks decide how many",
  zones: "copies and zones decide how many",
};

function zonesText(zones: number): string {
  return zones === 1 ? "one zone" : `${zones} zones`;
}

/** Only where every machine has a price. */
function costRows(groups: readonly MachineGroup[]): [string, string][] {
  if (groups.some(({ shape }) => shape.monthlyCost === 0)) return [];
  const costs = groups.map(({ shape, count: number }) => number * shape.monthlyCost);
  const [cassandra = 0, servers = 0, workers = 0] = costs.map(Math.round);
  const all = count(cassandra + servers + workers);
  const parts = `${count(cassandra)} for Cassandra, ${count(servers)} for servers, ${count(workers)} for workers`;
  return [["cost", `${all} a month, in the currency of the hardware table: ${parts}`]];
}

function machines({ shape, count: number }: MachineGroup): string {
  const disk = shape.diskGib === 0 ? "" : `, ${size(shape.diskGib * 2 ** 30)} disk`;
  return `${count(number)} x ${shape.name} (${shape.cpus} CPUs, ${shape.memoryGib} GiB${disk})`;
}

export function createCommand(timePartition: TimePartition, config: NamespaceConfig): string {
  const { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets } = timePartition;
  const { closeAfterMicros, deleteAfterMicros } = config.retention;
  const { read, write } = config.slos;
  const slos = [
    ["read.target", read.targetMs, DEFAULTS.slos.read.targetMs],
    ["read.max", read.maxMs, DEFAULTS.slos.read.maxMs],
    ["write.target", write.targetMs, DEFAULTS.slos.write.targetMs],
    ["write.max", write.maxMs, DEFAULTS.slos.write.maxMs],
  ] as const;
  const settings = slos
    .filter(([, value, usual]) => value !== usual)
    .map(([field, value]) => ` --set slos.${field}=${formatDurationMs(value)}`);
  if (config.consistency !== DEFAULTS.consistency) {
    settings.push(` --consistency ${config.consistency}`);
  }
  const limits = (["bytesMax", "targetBytes", "eventsMax"] as const)
    .filter((field) => config.widePartition[field] !== DEFAULTS.widePartition[field])
    .map((field) => ` --set widePartition.${field}=${config.widePartition[field]}`);
  return (
    `braid ns create NAMESPACE --slice ${width(secondsPerTimeSlice)} ` +
    `--bucket ${width(secondsPerTimeBucket)} --event-buckets ${eventBuckets} ` +
    `--accept-limit ${formatDurationMs(config.acceptLimitMicros / 1_000)} ` +
    `--close-after ${formatDurationMs(closeAfterMicros / 1_000)} ` +
    `--delete-after ${formatDurationMs(deleteAfterMicros / 1_000)}` +
    [...settings, ...limits].join("")
  );
}

function cells(plan: PartitionPlan): string[] {
  const { timePartition } = plan;
  return [
    width(timePartition.secondsPerTimeSlice),
    width(timePartition.secondsPerTimeBucket),
    count(timePartition.eventBuckets),
    plan.regret.toFixed(2),
    rounded(plan.p50Bytes.mid),
    rounded(plan.p99Bytes.mid),
    percent(plan.readsBeyondLimit.mid),
    short(plan.partitionsPerRead.mid),
    count(plan.tables),
    rounded(plan.diskBytes.mid),
  ];
}

function sizeBand({ low, mid, high }: Band): string {
  return `${rounded(mid)} (${rounded(low)} to ${rounded(high)})`;
}

function busyText({ mid }: Band): string {
  return mid < 0.01 ? "less than 0.01" : short(mid);
}

function rounded(bytes: number): string {
  return size(Math.round(bytes));
}

function width(seconds: number): string {
  return millis(seconds * 1_000);
}

/** Two digits are all that an estimate has. */
function short(value: number): string {
  return value >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(2)));
}
