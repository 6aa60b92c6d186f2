/**
 * Builds a namespace's configuration from the command line: a file, then flags, then `--set`; later
 * ones win.
 *
 * Durations and sizes have units (`10m`, `8MiB`) and are converted to the API's form. Names that
 * are not known here are sent unchanged: the server knows all of them and rejects wrong ones.
 */
import type { Command } from "commander";
import type { NamespaceChange } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";
import { durationMs } from "./time-argument.ts";

type Kind = "duration" | "seconds" | "bytes" | "number" | "name" | "boolean";

interface Field {
  readonly kind: Kind;
  /** Its own flag, if it has one. */
  readonly flag?: string;
  readonly about?: string;
}

const FIELDS: Readonly<Record<string, Field>> = {
  "timePartition.secondsPerTimeSlice": {
    kind: "seconds",
    flag: "--slice",
    about: "width of a time slice, such as 1d",
  },
  "timePartition.secondsPerTimeBucket": {
    kind: "seconds",
    flag: "--bucket",
    about: "width of a time bucket, such as 1h; divides the slice",
  },
  "timePartition.eventBuckets": {
    kind: "number",
    flag: "--event-buckets",
    about: "partitions a time bucket is spread over",
  },
  acceptLimit: { kind: "duration", flag: "--accept-limit", about: "how late an event may be" },
  futureLimit: { kind: "duration", flag: "--future-limit", about: "how early an event may be" },
  "retention.closeAfter": {
    kind: "duration",
    flag: "--close-after",
    about: "age at which a slice is closed: neither read nor written",
  },
  "retention.deleteAfter": {
    kind: "duration",
    flag: "--delete-after",
    about: "age at which a slice is deleted",
  },
  "slos.read.target": { kind: "duration" },
  "slos.read.max": { kind: "duration" },
  "slos.write.target": { kind: "duration" },
  "slos.write.max": { kind: "duration" },
  consistency: {
    kind: "name",
    flag: "--consistency",
    about: "READ_YOUR_WRITES or EVENTUAL",
  },
  "widePartition.detect": { kind: "boolean" },
  "widePartition.bytesMax": { kind: "bytes" },
  "widePartition.eventsMax": { kind: "number" },
  "widePartition.targetBytes": { kind: "bytes" },
  "widePartition.maxParts": { kind: "number" },
  "widePartition.layout": { kind: "name" },
  "widePartition.strategy": { kind: "name" },
  "widePartition.whenHarmless": { kind: "name" },
  "tuning.mode": { kind: "name" },
  "tuning.densityMinBytes": { kind: "bytes" },
  "tuning.densityMaxBytes": { kind: "bytes" },
};

export interface NamespaceFlags {
  readonly configFile?: string;
  readonly set?: readonly string[];
  readonly [flag: string]: unknown;
}

export function addNamespaceFlags(command: Command): Command {
  for (const { flag, about = "" } of Object.values(FIELDS)) {
    if (flag !== undefined) command.option(`${flag} <value>`, about);
  }
  return command
    .option("--config-file <file>", "YAML or JSON with the fields of a namespace's config")
    .option("--set <path=value>", "any field, such as slos.read.max=2s; may be repeated", append);
}

/** Collects an option that may be given several times. */
export function append(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

export async function namespaceChange(flags: NamespaceFlags): Promise<NamespaceChange> {
  const config: Tree = {};
  if (flags.configFile !== undefined) await merge(config, await readConfigFile(flags.configFile));
  for (const [path, { flag }] of Object.entries(FIELDS)) {
    const value = flag === undefined ? undefined : flags[camelCase(flag.slice(2))];
    if (typeof value === "string") await assign(config, path, value, flag ?? path);
  }
  for (const setting of flags.set ?? []) {
    const at = setting.indexOf("=");
    if (at < 1) throw new UsageError(`--set ${setting}: give path=value, such as slos.read.max=2s`);
    const path = setting.slice(0, at);
    await assign(config, path, setting.slice(at + 1), `--set ${path}`);
  }
  return config;
}

interface Tree {
  [name: string]: Tree | string | number | boolean | readonly unknown[] | null;
}

async function merge(config: Tree, file: Tree, prefix = ""): Promise<void> {
  for (const [name, value] of Object.entries(file)) {
    const path = `${prefix}${camelCase(name)}`;
    if (isTree(value)) {
      if (Object.keys(value).length > 0) await merge(config, value, `${path}.`);
    } else {
      await assign(config, path, value, path);
    }
  }
}

async function assign(
  config: Tree,
  path: string,
  value: Tree[string],
  flag: string,
): Promise<void> {
  const names = path.split(".").map(camelCase);
  const last = names.pop() ?? "";
  let tree = config;
  for (const name of names) {
    const next = Object.hasOwn(tree, name) ? tree[name] : undefined;
    if (isTree(next)) {
      tree = next;
    } else {
      const made: Tree = {};
      tree[name] = made;
      tree = made;
    }
  }
  const field = FIELDS[[...names, last].join(".")];
  tree[last] = field === undefined ? value : await convert(field.kind, value, flag);
}

async function convert(kind: Kind, value: Tree[string], flag: string): Promise<Tree[string]> {
  if (typeof value === "object") throw new UsageError(`${flag}: takes a single value`);
  const text = String(value);
  switch (kind) {
    case "duration":
      return `${(await durationMs(flag, text)) / 1000}s`;
    case "seconds": {
      // A bare number means seconds, as in the API.
      const seconds = /^\d+$/.test(text) ? Number(text) : (await durationMs(flag, text)) / 1000;
      if (!Number.isInteger(seconds)) throw new UsageError(`${flag} ${text}: not whole seconds`);
      return seconds;
    }
    case "bytes": {
      const { parseBytes } = await import("../lib/units.ts");
      const bytes = parseBytes(text);
      if (bytes === undefined) throw new UsageError(`${flag} ${text}: not a size; give 8MiB`);
      return String(bytes);
    }
    case "number":
      if (!/^\d+$/.test(text)) throw new UsageError(`${flag} ${text}: not a whole number`);
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") {
        throw new UsageError(`${flag} ${text}: neither true nor false`);
      }
      return text === "true";
    case "name":
      return text.toUpperCase();
  }
}

async function readConfigFile(path: string): Promise<Tree> {
  const { readYaml } = await import("./yaml-file.ts");
  const content = await readYaml("--config-file", path);
  if (!isTree(content)) throw new UsageError(`--config-file ${path}: not a map of fields`);
  return content;
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function camelCase(name: string): string {
  return name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
