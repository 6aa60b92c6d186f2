/**
 * The machines that a plan may use. A user can give a table of their own; the built-in one is
 * small and says when its figures were taken.
 */
import type { Problems } from "../lib/problems.ts";

export interface MachineShape {
  readonly name: string;
  readonly cpus: number;
  readonly memoryGib: number;
  /** Local disk; 0 for machines that store no events. */
  readonly diskGib: number;
  /** In any currency; 0 if not known, and then the fewest CPUs win. */
  readonly monthlyCost: number;
}

export interface HardwareTable {
  /** When the figures were taken, as a day. */
  readonly asOf: string;
  /** For Cassandra. */
  readonly nodes: readonly MachineShape[];
  /** For `braid serve` and `braid worker`. */
  readonly servers: readonly MachineShape[];
}

/** Shapes of EC2's i4i (local NVMe) and c7a, without prices: those age fastest. */
export const BUILT_IN_HARDWARE: HardwareTable = {
  asOf: "2026-11-18",
  nodes: [
    { name: "i4i.xlarge", cpus: 4, memoryGib: 30, diskGib: 873, monthlyCost: 0 },
    { name: "i4i.2xlarge", cpus: 8, memoryGib: 61, diskGib: 1_746, monthlyCost: 0 },
    { name: "i4i.4xlarge", cpus: 16, memoryGib: 122, diskGib: 3_492, monthlyCost: 0 },
    { name: "i4i.8xlarge", cpus: 32, memoryGib: 244, diskGib: 6_985, monthlyCost: 0 },
  ],
  servers: [
    { name: "c7a.large", cpus: 2, memoryGib: 4, diskGib: 0, monthlyCost: 0 },
    { name: "c7a.xlarge", cpus: 4, memoryGib: 8, diskGib: 0, monthlyCost: 0 },
    { name: "c7a.2xlarge", cpus: 8, memoryGib: 15, diskGib: 0, monthlyCost: 0 },
  ],
};

const SHAPES_MAX = 100;
const NAME_MAX = 64;

/** A table as a caller gives it; undefined if `problems` has a problem of it. */
export function checkHardware(given: HardwareTable, problems: Problems): HardwareTable | undefined {
  const before = problems.count;
  if (given.asOf === "" || given.asOf.length > NAME_MAX) {
    problems.add("hardware.asOf: give the day of the figures, such as 2026-11-18");
  }
  for (const kind of ["nodes", "servers"] as const) {
    const shapes = given[kind];
    if (shapes.length === 0 || shapes.length > SHAPES_MAX) {
      problems.add(`hardware.${kind} must have 1 to ${SHAPES_MAX} shapes, not ${shapes.length}`);
      continue;
    }
    for (const [nth, shape] of shapes.entries()) {
      for (const problem of shapeProblems(shape, kind)) {
        problems.add(`hardware.${kind}[${nth}].${problem}`);
      }
    }
  }
  return problems.count > before ? undefined : given;
}

function* shapeProblems(
  { name, cpus, memoryGib, diskGib, monthlyCost }: MachineShape,
  kind: "nodes" | "servers",
): Generator<string> {
  if (name === "" || name.length > NAME_MAX) yield `name must have 1 to ${NAME_MAX} characters`;
  if (!(cpus >= 1 && cpus <= 4_096)) yield `cpus (${cpus}) must be from 1 to 4096`;
  if (!(memoryGib > 0 && memoryGib <= 1e6)) yield `memoryGib (${memoryGib}) must be above 0`;
  if (kind === "nodes" && !(diskGib > 0 && diskGib <= 1e7)) {
    yield `diskGib (${diskGib}) must be above 0`;
  }
  if (!(monthlyCost >= 0 && monthlyCost <= 1e9)) yield `monthlyCost (${monthlyCost}) is negative`;
}
