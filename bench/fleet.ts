/**
 * `npm run bench -- fleet [--sizes 1000,10000] [--catalog memory|leveldb] [--svg DIR]`: what a server
 * does for its whole fleet, as the number of splits grows; 100 splits in each namespace. Figures are
 * processor time, so that other work on the machine does not count.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify, parseArgs } from "node:util";
import { lineChart } from "./fleet-policy/plot.ts";
import type { FleetFigures } from "./fleet/one-fleet.ts";
import { note, Report } from "./support/report.ts";

export const FLEET_FLAGS =
  "[--sizes 1000,10000,100000,1000000] [--catalog memory|leveldb] [--svg DIR]";

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, "fleet", "one-fleet.ts");

export async function benchFleet(flags: readonly string[]): Promise<Report> {
  const { values } = parseArgs({
    args: [...flags],
    options: {
      sizes: { type: "string", default: "1000,10000,100000,1000000" },
      catalog: { type: "string", default: "memory" },
      svg: { type: "string" },
    },
  });
  const report = new Report(`fleet, catalog: ${values.catalog}`);
  const all: FleetFigures[] = [];
  for (const size of values.sizes.split(",")) {
    const figures = await measure(size, values.catalog);
    note(JSON.stringify(figures));
    all.push(figures);
    addFindings(report, figures);
  }
  if (values.svg !== undefined) await draw(values.svg, values.catalog, all);
  return report;
}

async function measure(size: string, catalog: string): Promise<FleetFigures> {
  const directory = await mkdtemp(join(tmpdir(), "braid-fleet-"));
  try {
    const where = catalog === "memory" ? "memory" : directory;
    const args = ["--expose-gc", "--max-old-space-size=12000", CHILD, size, where];
    const { stdout } = await run(process.execPath, args, { maxBuffer: 2 ** 20 });
    return JSON.parse(stdout) as FleetFigures;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function addFindings(report: Report, figures: FleetFigures): void {
  const of = `${figures.splits} splits, ${figures.namespaces} namespaces`;
  const add = (name: string, value: number, goal: string, met: boolean): void =>
    report.add({ name: `${of}: ${name}`, figure: "", value, goal, met });
  const { startSeconds, memoryMiB, servedShare, idleShare } = figures;
  add("start, s", startSeconds, "< 60", startSeconds < 60);
  add("memory beside the catalog, MiB", memoryMiB, "< 1024", memoryMiB < 1_024);
  add("share served", servedShare, "1", servedShare === 1);
  add("views refreshed, share", figures.freshViewsShare, "1", figures.freshViewsShare === 1);
  add("refresh of all views, ms", figures.viewRefreshMs, "", true);
  add("floors raised, share", figures.floorsRaisedShare, "1", figures.floorsRaisedShare === 1);
  add("raising all floors, ms", figures.floorsMs, "", true);
  add("idle, % of a core", idleShare * 100, "< 10", idleShare < 0.1);
  for (const [task, share] of Object.entries(figures.idleParts)) {
    add(`idle for ${task}, % of a core`, share * 100, "", true);
  }
  add("calls to raise acceptLimit of one namespace", figures.raiseCalls, "", true);
  add("calls of one run that drops a slice", figures.dropCalls, "", true);
}

async function draw(
  directory: string,
  catalog: string,
  all: readonly FleetFigures[],
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const lines = [
    { name: "idle, % of a core", values: all.map(({ idleShare }) => idleShare * 100) },
    { name: "start, s", values: all.map(({ startSeconds }) => startSeconds) },
    { name: "memory, 10 MiB", values: all.map(({ memoryMiB }) => memoryMiB / 10) },
  ];
  const yMax = Math.max(1, ...lines.flatMap(({ values }) => values)) * 1.1;
  const x = `fleet: ${all.map(({ splits }) => splits.toLocaleString("en")).join(", ")} splits`;
  const title = `A server's work for its fleet, catalog: ${catalog}`;
  const chart = lineChart({ title, x, y: "", yMax, xMax: all.length, lines });
  await writeFile(join(directory, `fleet-${catalog}.svg`), chart);
}
