/**
 * Reads the configuration once, at the start, from the file, the environment and the flags (later
 * ones win). Reports all problems at once, and keeps the origin of each value for people to see.
 */
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import type { Document } from "yaml";
import type { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
import { nearest } from "../lib/nearest.ts";
import { Problems } from "../lib/problems.ts";
import { ConfigSchema, settingPaths } from "./config-schema.ts";
import type { ServiceConfig } from "./config-schema.ts";

export type { ServiceConfig } from "./config-schema.ts";

export interface ConfigSources {
  /** By setting: `{ listen: "127.0.0.1:9100", data: "DIR" }`. Undefined counts as not given. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  /** A file to read instead of `braid.yaml`; it must exist. */
  readonly file: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The base of relative paths. */
  readonly cwd: string;
  /** Replaces the standard defaults. */
  readonly defaults?: Readonly<Record<string, string>> | undefined;
}

/** One setting as it is used. */
export interface Setting {
  readonly path: string;
  /** As it was given. */
  readonly value: string;
  /** `default`, `braid.yaml`, `BRAID_LISTEN` or `--listen`. */
  readonly origin: string;
}

export interface LoadedConfig {
  readonly config: ServiceConfig;
  readonly settings: readonly Setting[];
  /** Harmless oddities, one sentence each. */
  readonly warnings: readonly string[];
}

const DEFAULT_FILE = "braid.yaml";

/** Environment variables that the client and this function use. */
const OTHER_VARIABLES = new Set(["BRAID_URL", "BRAID_CONFIG"]);

/** Rejects with CONFIG_INVALID and all problems. */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const problems = new Problems();
  const file = await readConfigFile(sources, problems);
  const given = new Given(file);
  for (const [path, value] of Object.entries(sources.defaults ?? {})) {
    if (given.values[path] === undefined) given.set(path, value, "default");
  }
  const warnings = addEnvironment(given, sources.env);
  addFlags(given, sources.flags);
  const parsed = ConfigSchema.safeParse(given.values);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) addIssue(issue, given, problems);
  } else {
    checkTogether(parsed.data, given, problems);
  }
  if (problems.count > 0 || !parsed.success) {
    const list = problems.list();
    throw new ServiceError(
      "CONFIG_INVALID",
      `the configuration cannot be used:\n${list.map((problem) => `  ${problem}`).join("\n")}`,
      { details: { problems: list } },
    );
  }
  const config = { ...parsed.data, data: resolve(sources.cwd, parsed.data.data) };
  return { config: Object.freeze(config), settings: given.settings(parsed.data), warnings };
}

/** Threads that libuv uses for files. The launcher sets the variable; libuv takes 4 without it. */
export function threadPoolSize(env: ConfigSources["env"] = process.env): number {
  const size = Number(env["UV_THREADPOOL_SIZE"] ?? "");
  return Number.isInteger(size) && size > 0 ? Math.min(size, 1_024) : 4;
}

/** OpenTelemetry's own variables, which `tracing/` reads; most environments have none. */
export function openTelemetryVariables(
  env: ConfigSources["env"] = process.env,
): ConfigSources["env"] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("OTEL_")));
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith("127.");
  return host === "::1" || host.toLowerCase() === "localhost";
}

interface ConfigFile {
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

async function readConfigFile(
  sources: ConfigSources,
  problems: Problems,
): Promise<ConfigFile | undefined> {
  const asked = sources.file ?? (sources.env["BRAID_CONFIG"] || undefined);
  const name = asked ?? DEFAULT_FILE;
  let text: string;
  try {
    text = await readFile(resolve(sources.cwd, name), "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (missing && asked === undefined) return undefined;
    problems.add(
      missing ? `${name}: the file does not exist` : `${name}: cannot be read: ${messageOf(error)}`,
    );
    return undefined;
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  for (const error of document.errors) {
    problems.add(`${name}:${lines.linePos(error.pos[0]).line}: ${error.message}`);
  }
  if (document.errors.length > 0) return undefined;
  let values: unknown;
  try {
    values = document.toJS() ?? {};
  } catch (error) {
    problems.add(`${name}: ${messageOf(error)}`);
    return undefined;
  }
  if (!isGroup(values)) {
    problems.add(`${name}: must hold settings, one "name: value" per line`);
    return undefined;
  }
  return { name, values, lineOf: (path) => lineOf(document, lines, path) };
}

function lineOf(
  document: Document,
  lines: LineCounter,
  path: readonly PropertyKey[],
): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (typeof node !== "object" || node === null || !("range" in node)) continue;
    // Parsed nodes have their position in the text.
    const [start] = node.range as [number];
    return lines.linePos(start).line;
  }
  return undefined;
}

/** The merged values of all sources, and the origin of each. */
class Given {
  readonly values: Record<string, unknown> = {};
  readonly #file: ConfigFile | undefined;
  readonly #origins = new Map<string, string>();

  constructor(file: ConfigFile | undefined) {
    this.#file = file;
    for (const [key, value] of Object.entries(file?.values ?? {})) {
      this.values[key] = isGroup(value) ? { ...value } : value;
    }
  }

  set(path: string, value: string | boolean, origin: string): void {
    const [group = "", name] = path.split(".");
    if (name === undefined) this.values[group] = value;
    else {
      const inner = this.values[group];
      this.values[group] = { ...(isGroup(inner) ? inner : {}), [name]: value };
    }
    this.#origins.set(path, origin);
  }

  /** `braid.yaml:3: limits.items`, `BRAID_LISTEN`, `--listen`: where a person finds the value. */
  originOf(path: readonly PropertyKey[]): string {
    const text = path.map(String).join(".");
    const origin = this.#origins.get(text);
    if (origin !== undefined) return origin;
    if (this.#file === undefined) return text;
    const line = this.#file.lineOf(path);
    return `${this.#file.name}${line === undefined ? "" : `:${line}`}: ${text}`;
  }

  settings(used: ServiceConfig): Setting[] {
    const settings = settingPaths().map((path) => {
      const fallback = this.#at(path) === undefined ? "default" : (this.#file?.name ?? "default");
      const value = this.#at(path) ?? at(DEFAULTS, path);
      return { path, value: shown(path, value), origin: this.#origins.get(path) ?? fallback };
    });
    const blocked = Object.values(used.block_ids).reduce((sum, ids) => sum + ids.length, 0);
    const origin =
      this.values["block_ids"] === undefined ? "default" : (this.#file?.name ?? "default");
    return [...settings, { path: "block_ids", value: `${blocked} ids`, origin }];
  }

  #at(path: string): unknown {
    return at(this.values, path);
  }
}

/** The defaults, as a person would write them. */
const DEFAULTS: Readonly<Record<string, unknown>> = defaultsOf();

function defaultsOf(): Record<string, unknown> {
  const defaults: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(ConfigSchema.shape)) {
    const inner = schema.unwrap();
    defaults[key] =
      "shape" in inner
        ? Object.fromEntries(
            // A union of several groups is too complex for the compiler; each part has a default.
            Object.entries<z.ZodPrefault>(inner.shape).map(([name, part]) => [
              name,
              part.def.defaultValue,
            ]),
          )
        : schema.def.defaultValue;
  }
  return defaults;
}

/** As a person would write it. Of a secret, only whether it is set. */
function shown(path: string, value: unknown): string {
  if (path.endsWith("password")) return value === "" ? "" : "(hidden)";
  return isGroup(value)
    ? Object.entries(value)
        .map(([name, inner]) => `${name}:${String(inner)}`)
        .join(",")
    : String(value);
}

function at(values: Readonly<Record<string, unknown>>, path: string): unknown {
  const [group = "", name] = path.split(".");
  const inner = values[group];
  if (name === undefined) return inner;
  return isGroup(inner) ? inner[name] : undefined;
}

function addEnvironment(given: Given, env: ConfigSources["env"]): string[] {
  const byVariable = new Map(settingPaths().map((path) => [variableOf(path), path]));
  const warnings: string[] = [];
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith("BRAID_") || value === undefined || value === "") continue;
    const path = byVariable.get(variable);
    if (path !== undefined) given.set(path, value, variable);
    else if (!OTHER_VARIABLES.has(variable)) {
      const meant = nearest(variable, [...byVariable.keys()]);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      warnings.push(`the environment variable ${variable} is not a setting of this build${hint}`);
    }
  }
  return warnings;
}

function variableOf(path: string): string {
  return `BRAID_${path.replaceAll(".", "_").toUpperCase()}`;
}

function addFlags(given: Given, flags: ConfigSources["flags"]): void {
  for (const [path, value] of Object.entries(flags)) {
    if (value !== undefined) given.set(path, value, `--${path.replaceAll(/[._]/g, "-")}`);
  }
}

function addIssue(issue: z.core.$ZodIssue, given: Given, problems: Problems): void {
  if (issue.code === "unrecognized_keys") {
    for (const key of issue.keys) {
      problems.add(`${given.originOf([...issue.path, key])}: ${unknownKey(issue.path, key)}`);
    }
    return;
  }
  if (issue.code === "invalid_union") {
    // For an id that is neither text nor a group, the problem with the group says more.
    const inner = issue.errors.at(-1) ?? [];
    for (const part of inner) {
      addIssue({ ...part, path: [...issue.path, ...part.path] }, given, problems);
    }
    if (inner.length > 0) return;
  }
  problems.add(`${given.originOf(issue.path)}: ${issue.message}`);
}

function unknownKey(path: readonly PropertyKey[], key: string): string {
  const paths = settingPaths();
  const group = path.map(String).join(".");
  const names =
    group === ""
      ? Object.keys(ConfigSchema.shape)
      : paths
          .filter((known) => known.startsWith(`${group}.`))
          .map((known) => known.slice(group.length + 1));
  const meant = nearest(key, names);
  if (meant !== undefined) return `this setting is not known; did you mean ${meant}?`;
  return names.length === 0
    ? "this setting is not known"
    : `this setting is not known; the known settings are ${names.join(", ")}`;
}

/** Rules between settings. */
function checkTogether(config: ServiceConfig, given: Given, problems: Problems): void {
  if (!isLoopback(config.listen.host) && !config.insecure_listen) {
    problems.add(
      `${given.originOf(["listen"])}: ${config.listen.host} can be reached from other machines, and this build has neither TLS nor ` +
        "authentication: anyone could read and delete everything. Listen on 127.0.0.1, or, if the network is trusted, " +
        "allow it with --insecure-listen (insecure_listen: true)",
    );
  }
  if (config.engine === "embedded" && config.queue === "kafka") {
    problems.add(
      `${given.originOf(["queue"])}: kafka needs engine cassandra: kafka passes detections to workers, and a worker cannot ` +
        "share the embedded engine, so no process would handle them. Use engine cassandra, or queue embedded",
    );
  }
  const { replication, datacenter } = config.cassandra;
  if (typeof replication === "object" && replication[datacenter] === undefined) {
    problems.add(
      `${given.originOf(["cassandra", "replication"])}: has no replicas in ${datacenter}, the data centre of this server (cassandra.datacenter)`,
    );
  }
  if (config.limits.event_bytes > config.limits.request_bytes) {
    problems.add(
      `${given.originOf(["limits", "event_bytes"])}: an event may not be larger than a request (limits.request_bytes)`,
    );
  }
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
