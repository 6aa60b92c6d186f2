/** Reads a table of machines from the content of a file. */
import type { HardwareTable, MachineShape } from "../provision/hardware.ts";
import { UsageError } from "./failures.ts";

/** Numbers that are missing or wrong become NaN, which the plan's own check reports by field. */
export function hardwareOf(path: string, content: unknown): HardwareTable {
  if (!isTree(content)) {
    throw new UsageError(`--hardware ${path}: give asOf, nodes and servers`);
  }
  const { asOf, nodes, servers } = content;
  return {
    asOf: typeof asOf === "string" ? asOf : "",
    nodes: shapesOf(nodes),
    servers: shapesOf(servers),
  };
}

function shapesOf(content: unknown): MachineShape[] {
  if (!Array.isArray(content)) return [];
  return content.map((each: unknown) => {
    const shape = isTree(each) ? each : {};
    return {
      name: typeof shape["name"] === "string" ? shape["name"] : "",
      cpus: Number(shape["cpus"]),
      memoryGib: Number(shape["memoryGib"]),
      diskGib: Number(shape["diskGib"] ?? 0),
      monthlyCost: Number(shape["monthlyCost"] ?? 0),
    };
  });
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
