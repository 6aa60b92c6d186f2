/**
 * Every setting of the server, with its unit, its bounds and its default.
 *
 * Sizes and durations carry units. The limits of the contract can be lowered, never raised: callers rely on them.
 */
import { z } from "zod";
import { LOG_LEVELS } from "../lib/log.ts";
import { bytesSchema, durationSchema } from "../lib/units.ts";
import { namespaceNameProblem } from "../model/check-config.ts";
import { parseTime } from "../wire/time-text.ts";

/** A whole number; from the environment it comes as text. */
function count(options: { min: number; max: number }) {
  return z.union([z.number(), z.string()]).transform((input, context) => {
    const value =
      typeof input === "number" ? input : /^\d+$/.test(input) ? Number(input) : Number.NaN;
    if (Number.isInteger(value) && value >= options.min && value <= options.max) return value;
    context.addIssue({
      code: "custom",
      message: `"${input}" is not a whole number from ${options.min} to ${options.max}`,
    });
    return z.NEVER;
  });
}

const flag = z
  .union([z.boolean(), z.enum(["true", "false"])], {
    error: (issue) => `${shown(issue.input)} is neither true nor false`,
  })
  .transform((input) => input === true || input === "true");

/** `127.0.0.1:8420`, `[::1]:8420`, `localhost:0`. */
const address = z.string({ error: "must be HOST:PORT" }).transform((input, context) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(input);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host !== undefined && port <= 65_535) return { host, port };
  context.addIssue({
    code: "custom",
    message: `"${input}" is not HOST:PORT, such as 127.0.0.1:8420`,
  });
  return z.NEVER;
});

function choice<T extends string>(...names: [T, ...T[]]) {
  return z.enum(names, {
    error: (issue) => `${shown(issue.input)} is not one of ${names.join(", ")}`,
  });
}

/** A list, in the file as such or, there and elsewhere, as text with commas. */
function addresses(example: string) {
  return z
    .union([z.string(), z.array(z.string())], { error: `must be addresses such as ${example}` })
    .transform((input, context) => {
      const list = (typeof input === "string" ? input.split(",") : input).map((one) => one.trim());
      const wrong = list.find(
        (one) => !/^(?:\[[0-9a-fA-F:.]+\]|[^\s,/:]+)(?::\d{1,5})?$/.test(one),
      );
      if (wrong === undefined) return list;
      context.addIssue({
        code: "custom",
        message: `"${wrong}" is not an address such as ${example}`,
      });
      return z.NEVER;
    });
}

/** `3` for the server's own data centre, or `east: 3, west: 2`. */
const replication = z
  .union([z.number(), z.string(), z.record(z.string(), z.number())], {
    error: "must be a number of replicas, or one for each data centre",
  })
  .transform((input, context): number | Readonly<Record<string, number>> => {
    const text = typeof input === "object" ? replicationText(input) : String(input);
    if (/^[1-9]\d?$/.test(text)) return Number(text);
    const pairs = text
      .split(",")
      .map((pair) => /^\s*([\w-]{1,48})\s*:\s*([1-9]\d?)\s*$/.exec(pair));
    if (pairs.every((pair) => pair !== null)) {
      const counts = pairs.map(([, name = "", count]): [string, number] => [name, Number(count)]);
      return Object.fromEntries(counts);
    }
    context.addIssue({
      code: "custom",
      message: `"${text}" is neither a number of replicas, such as 3, nor one for each data centre, such as "east:3,west:3"`,
    });
    return z.NEVER;
  });

function replicationText(input: Readonly<Record<string, number>>): string {
  return Object.entries(input)
    .map(([datacenter, count]) => `${datacenter}:${count}`)
    .join(",");
}

/** Names separated by commas, or a list of them. */
const hostNames = z
  .union([z.string(), z.array(z.string())], { error: "must be names such as braid.example.com" })
  .transform((input, context) => {
    const list = (typeof input === "string" ? input.split(",") : input)
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== "");
    const wrong = list.find((name) => !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(name));
    if (wrong === undefined) return list;
    context.addIssue({ code: "custom", message: `"${wrong}" is not the name of a host` });
    return z.NEVER;
  });

const time = z.string({ error: "must be a time" }).transform((input, context) => {
  const micros = parseTime(input);
  if (typeof micros === "number") return micros;
  context.addIssue({
    code: "custom",
    message: `"${input}" is not a time such as 2026-12-31T00:00:00Z`,
  });
  return z.NEVER;
});

const seriesId = z
  .string({ error: "must be a time series id" })
  .refine((id) => id !== "" && Buffer.byteLength(id) <= 512 && id.isWellFormed(), {
    error: "must be 1 to 512 bytes of text",
  });

const blockedIds = z.array(
  z.union([
    seriesId.transform((id) => ({ id, reason: "", expires: undefined })),
    z
      .strictObject({
        id: seriesId,
        reason: z.string().max(1_024).default(""),
        expires: time.optional(),
      })
      .transform(({ id, reason, expires }) => ({ id, reason, expires })),
  ]),
);

export const ConfigSchema = z.strictObject({
  listen: address.prefault("127.0.0.1:8420"),
  // Nobody is asked who they are yet, so whoever can reach the port can do everything.
  insecure_listen: flag.prefault(false),
  // Names that requests may be addressed to, beside addresses, localhost and this machine's own name.
  allowed_hosts: hostNames.prefault(""),
  data: z
    .string({ error: "must be a directory" })
    .min(1, "must name a directory")
    .prefault("./braid-data"),
  engine: choice("embedded", "cassandra").prefault("embedded"),
  queue: choice("embedded", "kafka").prefault("embedded"),
  cassandra: z
    .strictObject({
      contact_points: addresses("10.0.0.1:9042").prefault("127.0.0.1"),
      datacenter: z.string({ error: "must be a name" }).min(1).prefault("datacenter1"),
      replication: replication.prefault(1),
      username: z.string({ error: "must be text" }).prefault(""),
      password: z.string({ error: "must be text" }).prefault(""),
      // Two installations on one cluster need names of their own.
      keyspace: z
        .string({ error: "must be a name" })
        .regex(
          /^[a-z][a-z0-9_]{0,15}$/,
          "must be 1 to 16 of a-z, 0-9 and _, beginning with a letter",
        )
        .prefault("braid"),
      // 0: not asked for.
      jolokia_port: count({ min: 0, max: 65_535 }).prefault(8_778),
    })
    .prefault({}),
  kafka: z
    .strictObject({
      brokers: addresses("10.0.0.1:9092").prefault("127.0.0.1:9092"),
      // Before the names of the topics and of the group: two installations on one Kafka need their own.
      prefix: z
        .string({ error: "must be text" })
        .regex(/^[A-Za-z0-9._-]{0,100}$/, "must be at most 100 of A-Z, a-z, 0-9, ., _ and -")
        .prefault(""),
      // Copies of the topics. 0: three, or as many as there are brokers when the topics are made.
      replication: count({ min: 0, max: 99 }).prefault(0),
    })
    .prefault({}),
  view_max_age: durationSchema({ min: "100ms", max: "1h" }).prefault("10s"),
  clock_skew: durationSchema({ min: "0ms", max: "1h" }).prefault("1s"),
  write_max: durationSchema({ min: "100ms", max: "1h" }).prefault("10s"),
  log_level: z
    .enum(LOG_LEVELS, {
      error: (issue) => `${shown(issue.input)} is not one of ${LOG_LEVELS.join(", ")}`,
    })
    .prefault("info"),
  limits: z
    .strictObject({
      series_id_bytes: bytesSchema({ min: "1", max: "512" }).prefault("512"),
      event_id_bytes: bytesSchema({ min: "1", max: "256" }).prefault("256"),
      item_key_bytes: bytesSchema({ min: "1", max: "256" }).prefault("256"),
      items: count({ min: 1, max: 256 }).prefault(256),
      event_bytes: bytesSchema({ min: "1KiB", max: "1MiB" }).prefault("1MiB"),
      request_bytes: bytesSchema({ min: "4KiB", max: "16MiB" }).prefault("16MiB"),
      request_events: count({ min: 1, max: 100_000 }).prefault(100_000),
      page_events: count({ min: 1, max: 10_000 }).prefault(10_000),
      page_bytes: bytesSchema({ min: "4KiB", max: "3MiB" }).prefault("3MiB"),
    })
    .prefault({}),
  server: z
    .strictObject({
      connections: count({ min: 1, max: 100_000 }).prefault(4_096),
      // Far more than two cores can work on at once; what waits longer than a caller does is waste.
      requests_in_flight: count({ min: 1, max: 100_000 }).prefault(1_024),
      // Reads that run at a time; the others wait in their namespace's line.
      reads_running: count({ min: 1, max: 10_000 }).prefault(64),
      request_memory: bytesSchema({ min: "1MiB", max: "64GiB" }).prefault("128MiB"),
      write_memory: bytesSchema({ min: "1MiB", max: "64GiB" }).prefault("64MiB"),
      read_memory: bytesSchema({ min: "1MiB", max: "64GiB" }).prefault("128MiB"),
      queue_memory: bytesSchema({ min: "64KiB", max: "16GiB" }).prefault("16MiB"),
      // Each open slice holds a write buffer and a cache of its own.
      open_slices: count({ min: 2, max: 1_024 }).prefault(16),
      drain_grace: durationSchema({ min: "0ms", max: "10m" }).prefault("10s"),
    })
    .prefault({}),
  splits: z
    .strictObject({
      // Partitions one process splits at a time.
      concurrency: count({ min: 1, max: 64 }).prefault(2),
      // How often unfinished splits are looked for, beside what the queue tells.
      sweep_every: durationSchema({ min: "100ms", max: "10m" }).prefault("2s"),
      // A read mode advances after this many compared reads, bytes and time, none of them different.
      advance_reads: count({ min: 1, max: 1_000_000_000 }).prefault(100),
      advance_bytes: bytesSchema({ min: "1", max: "1TiB" }).prefault("16MiB"),
      advance_after: durationSchema({ min: "0ms", max: "365d" }).prefault("10m"),
      // One read in so many is compared, where not every one is.
      shadow_sample: count({ min: 1, max: 1_000_000 }).prefault(10),
      serve_sample: count({ min: 1, max: 1_000_000 }).prefault(1_000),
      // Of routes and lists of parts that are kept at hand.
      route_memory: bytesSchema({ min: "1MiB", max: "64GiB" }).prefault("32MiB"),
    })
    .prefault({}),
  block_ids: z
    .record(
      z.string().refine((name) => namespaceNameProblem(name) === undefined, {
        error: "is not a namespace's name: 1 to 40 of a-z, 0-9 and _, beginning with a letter",
      }),
      blockedIds,
    )
    .prefault({}),
});

export type ServiceConfig = z.output<typeof ConfigSchema>;

/** The paths of all single settings: `listen`, `limits.items`. `block_ids` is a list and only stands in the file. */
export function settingPaths(): readonly string[] {
  return Object.entries(ConfigSchema.shape).flatMap(([key, schema]) => {
    if (key === "block_ids") return [];
    const inner = schema.unwrap();
    return inner instanceof z.ZodObject
      ? Object.keys(inner.shape).map((name) => `${key}.${name}`)
      : [key];
  });
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}
