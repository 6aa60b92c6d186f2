/**
 * Every setting of the server, with its unit, its bounds, its default and its description.
 *
 * Sizes and durations carry units. The limits of the contract can be lowered, never raised: callers
 * rely on them. `braid config --help` and docs/operate/configuration.md show the descriptions.
 */
import { z } from "zod";
import { LOG_LEVELS } from "../lib/log.ts";
import { formatCount } from "../lib/quantity.ts";
import { bytesSchema, durationSchema } from "../lib/units.ts";
import { namespaceNameProblem } from "../model/check-config.ts";
import { SPLIT_MARKS_MAX } from "../model/split-marks.ts";
import { parseTime } from "../wire/time-text.ts";

/** A whole number; from the environment it comes as text. */
function count(options: { min: number; max: number }) {
  return z
    .union([z.number(), z.string()])
    .transform((input, context) => {
      const value =
        typeof input === "number" ? input : /^\d+$/.test(input) ? Number(input) : Number.NaN;
      if (Number.isInteger(value) && value >= options.min && value <= options.max) return value;
      context.addIssue({
        code: "custom",
        message: `"${input}" is not a whole number from ${options.min} to ${options.max}`,
      });
      return z.NEVER;
    })
    .meta({ values: `${grouped(options.min)} to ${grouped(options.max)}` });
}

/** A number as documents write it: 1,000. */
function grouped(value: number): string {
  return formatCount(value);
}

const flag = z
  .union([z.boolean(), z.enum(["true", "false"])], {
    error: (issue) => `${shown(issue.input)} is neither true nor false`,
  })
  .transform((input) => input === true || input === "true")
  .meta({ values: "true, false" });

/** `127.0.0.1:8420`, `[::1]:8420`, `localhost:0`. */
const address = z
  .string({ error: "must be HOST:PORT" })
  .transform((input, context) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(input);
    const port = Number(match?.[3]);
    const host = match?.[1] ?? match?.[2];
    if (host !== undefined && port <= 65_535) return { host, port };
    context.addIssue({
      code: "custom",
      message: `"${input}" is not HOST:PORT, such as 127.0.0.1:8420`,
    });
    return z.NEVER;
  })
  .meta({ values: "`HOST:PORT`" });

function choice<T extends string>(...names: [T, ...T[]]) {
  return z
    .enum(names, { error: (issue) => `${shown(issue.input)} is not one of ${names.join(", ")}` })
    .meta({ values: names.join(", ") });
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
    })
    .meta({ values: `addresses such as \`${example}\`` });
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
  })
  .meta({ values: "1 to 99, or a number for each data centre" });

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
  })
  .meta({ values: "host names" });

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
  listen: address
    .prefault("127.0.0.1:8420")
    .describe(
      "Address and port. Port 0 takes a free one. An address that other machines can reach needs `insecure_listen`.",
    ),
  insecure_listen: flag
    .prefault(false)
    .describe(
      "Allows `listen` to be an address that other machines can reach. Braid has no authentication yet, so every process that reaches the port can read and delete everything.",
    ),
  allowed_hosts: hostNames
    .prefault("")
    .describe(
      "Host names that requests may be addressed to, beside addresses, `localhost` and the machine's own name. Protects against web pages that rebind DNS.",
    ),
  data: z
    .string({ error: "must be a directory" })
    .min(1, "must name a directory")
    .meta({ values: "a path" })
    .prefault("./braid-data")
    .describe("Directory of the embedded engine. One process owns it."),
  engine: choice("embedded", "cassandra").prefault("embedded").describe("Where events are stored."),
  queue: choice("embedded", "kafka")
    .prefault("embedded")
    .describe("How detections reach workers. `kafka` requires engine `cassandra`."),
  cassandra: z
    .strictObject({
      contact_points: addresses("10.0.0.1:9042")
        .prefault("127.0.0.1")
        .describe(
          "Nodes to connect to first, as a list or as text with commas. The driver finds the others.",
        ),
      datacenter: z
        .string({ error: "must be a name" })
        .min(1)
        .meta({ values: "a name" })
        .prefault("datacenter1")
        .describe("The data centre of this process. It asks no other nodes."),
      replication: replication
        .prefault(1)
        .describe(
          'Replicas of each keyspace, for the own data centre (`3`) or for each (`"dc1:3,dc2:3"`). Braid uses it when it creates a keyspace, and does not start if the catalog has another one.',
        ),
      username: z
        .string({ error: "must be text" })
        .meta({ values: "text" })
        .prefault("")
        .describe("User that may create, alter and drop keyspaces and tables. Empty: no login."),
      password: z
        .string({ error: "must be text" })
        .meta({ values: "text" })
        .prefault("")
        .describe("Password of that user. `braid config` does not print it."),
      keyspace: z
        .string({ error: "must be a name" })
        .regex(
          /^[a-z][a-z0-9_]{0,15}$/,
          "must be 1 to 16 of a-z, 0-9 and _, beginning with a letter",
        )
        .meta({ values: "1 to 16 of a-z, 0-9 and _, beginning with a letter" })
        .prefault("braid")
        .describe("Prefix of all keyspaces. Two installations on one cluster need two prefixes."),
      jolokia_port: count({ min: 0, max: 65_535 })
        .prefault(8_778)
        .describe(
          "Port of the Jolokia agents, for `braid histogram` and the metrics of nodes. 0: Braid does not ask them.",
        ),
    })
    .prefault({}),
  kafka: z
    .strictObject({
      brokers: addresses("10.0.0.1:9092")
        .prefault("127.0.0.1:9092")
        .describe("Brokers to connect to first, as a list or as text with commas."),
      prefix: z
        .string({ error: "must be text" })
        .regex(/^[A-Za-z0-9._-]{0,100}$/, "must be at most 100 of A-Z, a-z, 0-9, ., _ and -")
        .meta({ values: "at most 100 of A-Z, a-z, 0-9, ., _ and -" })
        .prefault("")
        .describe(
          "Prefix of the names of the topics and the consumer group. Two installations on one Kafka need two prefixes.",
        ),
      replication: count({ min: 0, max: 99 })
        .prefault(0)
        .describe(
          "Copies of the topics that Braid creates. 0: three, or as many as there are brokers at that moment.",
        ),
    })
    .prefault({}),
  view_max_age: durationSchema({ min: "100ms", max: "1h" })
    .prefault("10s")
    .describe(
      "The oldest copy of shared state that a process acts on. Smaller: changes take effect sooner, and the catalog is read more often. Equal in all processes.",
    ),
  clock_skew: durationSchema({ min: "0ms", max: "1h" })
    .prefault("1s")
    .describe("How far the clocks of the machines may differ. Equal in all processes."),
  write_max: durationSchema({ min: "100ms", max: "1h" })
    .prefault("10s")
    .describe("The longest time that an accepted write may be in flight. Equal in all processes."),
  pause_max: durationSchema({ min: "0ms", max: "1d" })
    .prefault("5m")
    .describe(
      "The longest a machine may be paused without its monotonic clock showing it. On Cassandra, time is copied into splits this much later. Equal in all processes.",
    ),
  believe_max: durationSchema({ min: "0ms", max: "365d" })
    .prefault("1d")
    .describe(
      "A larger leap of the clock needs a second opinion or `braid clock confirm`. A night without power is less, a wrong date is more.",
    ),
  drop_grace: durationSchema({ min: "0ms", max: "365d" })
    .prefault("24h")
    .describe(
      "How long a deleted namespace, or a slice past its retention, can be restored (at most a quarter of deleteAfter). Also how long a clock must run evenly before any leap is believed.",
    ),
  log_level: z
    .enum(LOG_LEVELS, {
      error: (issue) => `${shown(issue.input)} is not one of ${LOG_LEVELS.join(", ")}`,
    })
    .meta({ values: LOG_LEVELS.join(", ") })
    .prefault("info")
    .describe(
      "The least severe log lines to print. Of a line that repeats, 20 pass in 10 s; the next one has the number that did not (`leftOut`).",
    ),
  limits: z
    .strictObject({
      series_id_bytes: bytesSchema({ min: "1", max: "512" })
        .prefault("512")
        .describe("Largest time series id, in UTF-8."),
      event_id_bytes: bytesSchema({ min: "1", max: "256" })
        .prefault("256")
        .describe("Largest event id, in UTF-8."),
      item_key_bytes: bytesSchema({ min: "1", max: "256" })
        .prefault("256")
        .describe("Largest key of an item, in UTF-8."),
      items: count({ min: 1, max: 256 }).prefault(256).describe("Most items of an event."),
      event_bytes: bytesSchema({ min: "1KiB", max: "1MiB" })
        .prefault("1MiB")
        .describe("Largest event, in its canonical encoding. At most `limits.request_bytes`."),
      request_bytes: bytesSchema({ min: "4KiB", max: "16MiB" })
        .prefault("16MiB")
        .describe("Largest request."),
      request_events: count({ min: 1, max: 100_000 })
        .prefault(100_000)
        .describe("Most events of a write request."),
      page_events: count({ min: 1, max: 10_000 })
        .prefault(10_000)
        .describe("Most events of a page."),
      page_bytes: bytesSchema({ min: "4KiB", max: "3MiB" })
        .prefault("3MiB")
        .describe("Most bytes of a page. A page has at least one event."),
    })
    .prefault({}),
  server: z
    .strictObject({
      connections: count({ min: 1, max: 100_000 })
        .prefault(4_096)
        .describe("Open connections. Braid closes further ones at once."),
      requests_in_flight: count({ min: 1, max: 100_000 })
        .prefault(1_024)
        .describe(
          "Requests that run or wait. Braid refuses further ones with OVERLOADED. The default is far more than two cores can work on at once.",
        ),
      watchers: count({ min: 1, max: 10_000 })
        .prefault(100)
        .describe(
          "Calls of Watch at a time: open consoles and commands with --watch. Braid refuses further ones with OVERLOADED. Each costs a few KB and its share of the messages.",
        ),
      reads_running: count({ min: 1, max: 10_000 })
        .prefault(64)
        .describe("Reads that run at a time. The others wait, and namespaces take turns."),
      request_memory: bytesSchema({ min: "1MiB", max: "64GiB" })
        .prefault("128MiB")
        .describe(
          "Bytes of requests and answers in memory. At the limit Braid answers OVERLOADED.",
        ),
      write_memory: bytesSchema({ min: "1MiB", max: "64GiB" })
        .prefault("64MiB")
        .describe("Bytes of events that are being written. At the limit Braid answers OVERLOADED."),
      read_memory: bytesSchema({ min: "1MiB", max: "64GiB" })
        .prefault("128MiB")
        .describe("Bytes that reads hold. At the limit further reads wait."),
      read_fan_out: count({ min: 1, max: 64 })
        .prefault(16)
        .describe(
          "Time buckets that one read may read at once. A namespace starts with at most 8, and its reads teach the server how many pay. 1 reads one bucket after another. More than 16 rarely helps: the memory of one read ends first.",
        ),
      queue_memory: bytesSchema({ min: "64KiB", max: "16GiB" })
        .prefault("16MiB")
        .describe(
          "Bytes of events that `WriteEventRecords` has acknowledged and not written yet. At the limit Braid answers OVERLOADED.",
        ),
      open_slices: count({ min: 2, max: 4_096 })
        .prefault(256)
        .describe(
          "Slices of the embedded engine that stay open while idle. Each has a cache of 1 MiB and five files. Opening a slice costs several fsyncs.",
        ),
      free_space_min: bytesSchema({ min: "0", max: "1TiB" })
        .prefault("256MiB")
        .describe(
          "Free space of the embedded engine's disk below which Braid refuses events. Reads and deletions continue. 0: no limit.",
        ),
      drain_grace: durationSchema({ min: "0ms", max: "10m" })
        .prefault("10s")
        .describe("How long a process that stops waits for the requests in flight."),
    })
    .prefault({}),
  splits: z
    .strictObject({
      concurrency: count({ min: 1, max: 64 })
        .prefault(2)
        .describe("Partitions that one process splits at a time."),
      sweep_every: durationSchema({ min: "100ms", max: "10m" })
        .prefault("2s")
        .describe(
          "How often a worker looks for splits that are due, beside what the queue reports.",
        ),
      advance_reads: count({ min: 1, max: 1_000_000_000 })
        .prefault(100)
        .describe(
          "Compared reads without a difference, of each kind of split, before a read mode advances.",
        ),
      advance_bytes: bytesSchema({ min: "1", max: "1TiB" })
        .prefault("16MiB")
        .describe("Bytes compared as equal, of each kind of split, before a read mode advances."),
      advance_splits: count({ min: 1, max: SPLIT_MARKS_MAX })
        .prefault(10)
        .describe(
          "Distinct splits of each kind that must be compared before a read mode advances; all of them if there are fewer.",
        ),
      advance_after: durationSchema({ min: "0ms", max: "365d" })
        .prefault("10m")
        .describe("The least time in a read mode before it advances."),
      shadow_sample: count({ min: 1, max: 1_000_000 })
        .prefault(10)
        .describe(
          "In SHADOW, a server compares one read in this many, once it has proven the split.",
        ),
      serve_sample: count({ min: 1, max: 1_000_000 })
        .prefault(1_000)
        .describe(
          "In SERVE, a server compares one read in this many, after the first read of each split.",
        ),
      route_memory: bytesSchema({ min: "1MiB", max: "64GiB" })
        .prefault("32MiB")
        .describe("Memory for routes and lists of parts."),
    })
    .prefault({}),
  tuning: z
    .strictObject({
      every: durationSchema({ min: "100ms", max: "1d" })
        .prefault("1m")
        .describe("How often the tuner compares the histograms of sealed slices with the target."),
    })
    .prefault({}),
  walk: z
    .strictObject({
      every: durationSchema({ min: "100ms", max: "1d" })
        .prefault("1m")
        .describe("How often one process looks for slices whose partitions are to be measured."),
      current_every: durationSchema({ min: "0ms", max: "365d" })
        .prefault("1h")
        .describe(
          "How often the slices that take events are measured. 0: only when they are sealed.",
        ),
      bytes_per_second: bytesSchema({ min: "1KiB", max: "10GiB" })
        .prefault("8MiB")
        .describe(
          "Rate at which events are counted. A quarter of it for slices that take events. One reader of a small cluster reads several times as much.",
        ),
      partitions_per_second: count({ min: 1, max: 10_000_000 })
        .prefault(5_000)
        .describe("Rate at which partitions are listed; likewise."),
      bytes_max: bytesSchema({ min: "1MiB", max: "1PiB" })
        .prefault("1GiB")
        .describe(
          "Bytes counted in one slice. Of a larger slice Braid counts a sample of the ids. The default takes two minutes at the default rate.",
        ),
      time_max: durationSchema({ min: "1s", max: "7d" })
        .prefault("2h")
        .describe(
          "A walk over a slice ends after this, its histogram says so, and it is repeated a day later. The default is enough for 36 million partitions.",
        ),
    })
    .prefault({}),
  block_ids: z
    .record(
      z.string().refine((name) => namespaceNameProblem(name) === undefined, {
        error: "is not a namespace's name: 1 to 40 of a-z, 0-9 and _, beginning with a letter",
      }),
      blockedIds,
    )
    .meta({ values: "lists of ids, by namespace" })
    .prefault({})
    .describe(
      "Ids that this process refuses to read and write, by namespace: each an id, or `{ id, reason, expires }`. Only in the file. For all processes use `braid block add`.",
    ),
});

export type ServiceConfig = z.output<typeof ConfigSchema>;

/**
 * The paths of all single settings: `listen`, `limits.items`. `block_ids` is a list, and only the
 * file can have it.
 */
export function settingPaths(): readonly string[] {
  return Object.entries(ConfigSchema.shape).flatMap(([key, schema]) => {
    if (key === "block_ids") return [];
    const inner = schema.unwrap();
    return inner instanceof z.ZodObject
      ? Object.keys(inner.shape).map((name) => `${key}.${name}`)
      : [key];
  });
}

export interface DescribedSetting {
  readonly path: string;
  readonly description: string;
  /** The values it may have, in words. */
  readonly values: string;
  /** As a person would write it. */
  readonly fallback: string;
}

/** Every setting as people read it, `block_ids` too. */
export function describedSettings(): readonly DescribedSetting[] {
  return Object.entries(ConfigSchema.shape).flatMap(([key, schema]) => {
    const inner = schema.unwrap();
    if (!(inner instanceof z.ZodObject)) return [described(key, schema)];
    // Several groups in one union are too much for the compiler; each setting has a default.
    return Object.entries<z.ZodPrefault>(inner.shape).map(([name, setting]) =>
      described(`${key}.${name}`, setting),
    );
  });
}

function described(path: string, schema: z.ZodPrefault): DescribedSetting {
  const defaultValue: unknown = schema.def.defaultValue;
  const meta = z.globalRegistry.get(schema.unwrap());
  return {
    path,
    description: schema.description ?? "",
    values: typeof meta?.["values"] === "string" ? meta["values"] : "",
    fallback: typeof defaultValue === "string" ? defaultValue : shownDefault(defaultValue),
  };
}

/** Numbers and flags; an empty group has no default to show. */
function shownDefault(value: unknown): string {
  return typeof value === "object" ? "" : shown(value);
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}
