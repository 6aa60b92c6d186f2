/**
 * `braid plan`: chooses the partitioning and the machines for a workload by simulation. Runs here,
 * without a server.
 */
import type { Command } from "commander";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { PlanInput } from "../provision/planner.ts";
import type { NamespacePlan, PlanRequest } from "../provision/plan.ts";
import type { GlobalOptions } from "./connection.ts";
import { UsageError } from "./failures.ts";
import { emit } from "./output.ts";
import type { Terminal } from "./terminal.ts";
import { inFileNames, workloadFlags, workloadFrom } from "./workload-file.ts";
import { readYaml } from "./yaml-file.ts";

interface PlanFlags {
  readonly sample?: string;
  readonly hardware?: string;
  readonly seed?: string;
  readonly worlds?: string;
  readonly bytesMax?: string;
  readonly eventsMax?: string;
  readonly [flag: string]: unknown;
}

export function addPlan(program: Command, terminal: Terminal): void {
  const plan = program
    .command("plan [file]")
    .description(
      "choose slices, buckets and machines for a workload, by simulation; needs no server",
    );
  for (const [flags, about] of workloadFlags()) plan.option(flags, about);
  plan
    .option(
      "--sample <file>",
      "skew from a sample: a line per id with its events a day, or events as braid write takes them",
    )
    .option("--hardware <file>", "YAML or JSON with machines to choose from; see the documentation")
    .option("--bytes-max <size>", "the namespace's widePartition.bytesMax (default: 10MiB)")
    .option("--events-max <number>", "the namespace's widePartition.eventsMax (default: 100000)")
    .option("--seed <number>", "draws other worlds (default: 1)")
    .option("--worlds <number>", "how many worlds to simulate, at most 1024 (default: 256)")
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & PlanFlags>();
      const request = await requestFrom(file, options);
      const { describePlan } = await import("./plan-report.ts");
      const answer = await simulate(request);
      const notes = answer.notes.map(inFileNames);
      await emit(terminal, options, {
        value: answer,
        records: [{ name: "chosen", ...answer.chosen }, ...answer.alternatives.map(flat)],
        blocks: describePlan(answer, request.config),
        notes,
      });
    });
}

const HELP = `
A value is one number (1M), or low,mid,high (500k,1M,3M), or with a confidence (500k,1M,3M@0.8).
The file has the same fields: ids, eventsPerDayPerId, skew, eventBytes, burstiness, readInterval, eventsPerRead,
readsPerSecond, writesPerSecond, retention, acceptLimit, slos, consistency, growthPercentPerMonth, …
More: docs/operate/provisioning.md

Example:
  $ braid plan --ids 1M --events-per-day 10 --retention 30d
  $ braid plan workload.yaml --sample events.ndjson -o yaml
  $ braid plan --ids 10k,50k,200k@0.8 --events-per-day 100,2k,20k --skew ZIPF:1 --growth 5
  $ braid ns create plays --workload workload.yaml`;

async function requestFrom(file: string | undefined, flags: PlanFlags): Promise<PlanRequest> {
  const content = file === undefined ? undefined : await readYaml("plan", file);
  const found: string[] = [];
  const workload = await workloadFrom(content, flags, found);
  const { hardwareOf } = await import("./hardware-file.ts");
  const { withSample } = await import("./rate-sample.ts");
  const input: PlanInput = {
    workload: flags.sample === undefined ? workload : await withSample(workload, flags.sample),
    patch: await limitsOf(flags, found),
    seed: numberIn("--seed", flags.seed, found),
    worlds: numberIn("--worlds", flags.worlds, found),
    ...(flags.hardware !== undefined && {
      hardware: hardwareOf(flags.hardware, await readYaml("--hardware", flags.hardware)),
    }),
  };
  const { checkPlan } = await import("../provision/planner.ts");
  const { Problems } = await import("../lib/problems.ts");
  const { timeMargins } = await import("../model/time-margins.ts");
  const problems = new Problems();
  const request = checkPlan(input, timeMargins(DEFAULT_MARGINS), problems);
  if (request !== undefined && found.length === 0) return request;
  throw new UsageError([...found, ...problems.list().map(inFileNames)].join("\n  "));
}

function numberIn(flag: string, text: string | undefined, found: string[]): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  found.push(`${flag} ${text}: not a whole number`);
  return undefined;
}

/** A part of a split is never larger than a partition may be. */
async function limitsOf(
  { bytesMax, eventsMax }: PlanFlags,
  found: string[],
): Promise<NamespaceConfigPatch> {
  const { parseBytes } = await import("../lib/units.ts");
  const { DEFAULT_NAMESPACE_CONFIG } = await import("../model/namespace-config.ts");
  const bytes = bytesMax === undefined ? undefined : parseBytes(bytesMax);
  if (bytesMax !== undefined && bytes === undefined) {
    found.push(`--bytes-max ${bytesMax}: not a size; give 20MiB`);
  }
  const events = numberIn("--events-max", eventsMax, found);
  const { targetBytes } = DEFAULT_NAMESPACE_CONFIG.widePartition;
  return {
    widePartition: {
      ...(bytes !== undefined && { bytesMax: bytes, targetBytes: Math.min(targetBytes, bytes) }),
      ...(events !== undefined && { eventsMax: events }),
    },
  };
}

/** Those of a server whose configuration does not set others. */
export const DEFAULT_MARGINS = { clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 };

async function simulate(request: PlanRequest): Promise<NamespacePlan> {
  const { planPartitions } = await import("../provision/plan-partitions.ts");
  const { inSteps } = await import("../lib/in-steps.ts");
  const { ServiceError } = await import("../lib/errors.ts");
  try {
    return await inSteps(planPartitions(request), true);
  } catch (error) {
    // Nothing fits the configuration: the message says what to change.
    if (error instanceof ServiceError) throw new UsageError(error.message);
    throw error;
  }
}

function flat({ name, plan, whyNot }: NamespacePlan["alternatives"][number]): object {
  return { name, ...plan, whyNot };
}
