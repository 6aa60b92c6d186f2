/** The flags of `braid advise`: roles of columns, queries, limits and variants. */
import type { GivenRoles } from "../advise/guess-roles.ts";
import { DEFAULT_LIMITS } from "../advise/limits.ts";
import type { AdviseLimits } from "../advise/limits.ts";
import { namesOf, parseQueryFile, parseQueryText } from "../advise/parse-query.ts";
import type { Query } from "../advise/query.ts";
import { WEIGHT_MAX } from "../advise/read-row.ts";
import { NO_DELETES } from "../advise/roles.ts";
import type { ClusteringColumn, DeletePolicy } from "../advise/roles.ts";
import { DEFAULT_CHOICES } from "../advise/strategies/table.ts";
import type { StrategyChoices } from "../advise/strategies/table.ts";
import type { Problems } from "../lib/problems.ts";
import { parseBytes, parseDurationMs } from "../lib/units.ts";
import { readYaml } from "./yaml-file.ts";

export interface AdviseFlags {
  readonly format?: string;
  readonly table?: string;
  readonly partitionKey?: string;
  readonly clustering?: string;
  readonly time?: string;
  readonly written?: string;
  readonly valueBytes?: string;
  readonly deleted?: string;
  readonly ttl?: string;
  readonly ttlColumn?: string;
  readonly deleteShare?: string;
  readonly deleteAfter?: string;
  readonly weight?: string;
  readonly candidates?: string;
  readonly hashColumns?: string;
  readonly query?: readonly string[];
  readonly queries?: string;
  readonly limitBytes?: string;
  readonly limitRows?: string;
  readonly tombstonesWarn?: string;
  readonly tombstonesFail?: string;
  readonly gcGrace?: string;
  readonly nodes?: string;
  readonly hotRate?: string;
  readonly widths?: string;
  readonly hashes?: string;
  readonly sampleRows?: string;
  readonly html?: string;
  readonly example?: string | true;
  readonly save?: string;
  readonly progress?: boolean;
}

export const ADVISE_FLAGS: readonly (readonly [flags: string, about: string])[] = [
  ["--format <format>", "ndjson, csv or parquet (default: by the file's name)"],
  ["--table <name>", "the table's name in the CQL (default: the file's name)"],
  [
    "--partition-key <columns>",
    "the columns of the partition key, such as video_id (default: a guess)",
  ],
  ["--clustering <columns>", 'the clustering columns with their order, such as "view_id desc"'],
  ["--time <column>", "the time of a row: a timestamp, a number or a timeuuid (default: a guess)"],
  ["--written <column>", "when a row was written, if later than its time"],
  [
    "--value-bytes <column|size>",
    "bytes of a row's values (default: from the values in the sample)",
  ],
  ["--deleted <column>", "when a row was deleted, or true if it is"],
  ["--ttl <duration>", "every row expires after this time"],
  ["--ttl-column <column>", "the TTL of a row, in seconds"],
  ["--delete-share <percent>", "share of the rows that are deleted one by one, such as 1%"],
  ["--delete-after <duration>", "how long after its time such a row is deleted (default: 1d)"],
  ["--weight <column|number>", "how many rows of its partition a row stands for (default: 1)"],
  ["--candidates <columns>", "existing columns that may split a partition (default: all that can)"],
  ["--hash-columns <columns>", "what a hash is computed from (default: the clustering columns)"],
  ["--queries <file>", "YAML or JSON with the queries; see the documentation"],
  ["--limit-bytes <size>", "size limit of a partition (default: 100MB)"],
  ["--limit-rows <number>", "size limit of a partition (default: 100000)"],
  ["--tombstones-warn <number>", "tombstones of a partition that are a question (default: 1000)"],
  ["--tombstones-fail <number>", "tombstones of a partition that are too many (default: 100000)"],
  ["--gc-grace <duration>", "how long a tombstone stays (default: 10d)"],
  ["--nodes <number>", "nodes of the cluster, for hot spots (default: 12)"],
  ["--hot-rate <number>", "rows a second to one partition that never are a hot spot (default: 10)"],
  ["--widths <durations>", "widths of time columns to judge (default: 1m,1h,1d,7d,30d)"],
  ["--hashes <numbers>", "numbers of partitions of fixed hashes (default: 10,100,1000)"],
  ["--sample-rows <number>", "rows to keep in memory, about 1 KB each (default: 250000)"],
  ["--html <file>", "also write a page with plots"],
  ["--example [name]", "judge a generated table instead of a file: views, jaeger or kairosdb"],
  ["--save <file>", "write the rows of the example to a file as NDJSON, and judge nothing"],
  ["--progress", "show progress on stderr even if this is not a terminal"],
];

/** Roles that are given; all problems are added. */
export function rolesFrom(flags: AdviseFlags, problems: Problems): GivenRoles {
  const { valueBytes, weight } = flags;
  const bytes = valueBytes === undefined ? undefined : parseBytes(valueBytes);
  const given: GivenRoles = {
    table: flags.table,
    partitionKey: listOf(flags.partitionKey),
    clustering: flags.clustering === undefined ? undefined : clusteringOf(flags.clustering),
    time: flags.time,
    written: flags.written,
    valueBytes: bytes ?? valueBytes,
    deleted: flags.deleted,
    ttl: flags.ttlColumn,
    deletes: deletesFrom(flags, problems),
    weight: weight === undefined || Number.isNaN(Number(weight)) ? weight : Number(weight),
    candidates: listOf(flags.candidates),
    hashed: listOf(flags.hashColumns),
  };
  if (typeof given.weight === "number" && !(given.weight > 0 && given.weight <= WEIGHT_MAX)) {
    problems.add(`--weight ${weight}: give a number above 0, or a column`);
  }
  if (given.table !== undefined && !/^\w{1,48}$/.test(given.table)) {
    problems.add(`--table ${given.table}: Cassandra allows letters, digits and _, at most 48`);
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export async function queriesFrom(
  { query = [], queries }: AdviseFlags,
  problems: Problems,
): Promise<readonly Query[]> {
  const flags = query.map((text) => parseQueryText(text, problems));
  if (queries === undefined) return flags;
  return [...flags, ...parseQueryFile(queries, await readYaml("--queries", queries), problems)];
}

export function limitsFrom(
  flags: AdviseFlags,
  base: Partial<AdviseLimits>,
  problems: Problems,
): AdviseLimits {
  const limits = { ...DEFAULT_LIMITS, ...base };
  const set = (
    field: keyof AdviseLimits,
    flag: string,
    text: string | undefined,
    parse: (text: string) => number | undefined,
  ): void => {
    if (text === undefined) return;
    const value = parse(text);
    if (value === undefined || !(value > 0 && value <= LIMIT_MAX)) {
      problems.add(`${flag} ${text}: not a value above 0; see braid advise --help`);
    } else limits[field] = value;
  };
  set("bytesMax", "--limit-bytes", flags.limitBytes, parseBytes);
  set("rowsMax", "--limit-rows", flags.limitRows, wholeOf);
  set("tombstonesWarn", "--tombstones-warn", flags.tombstonesWarn, wholeOf);
  set("tombstonesFail", "--tombstones-fail", flags.tombstonesFail, wholeOf);
  set("gcGraceMicros", "--gc-grace", flags.gcGrace, microsOf);
  set("nodes", "--nodes", flags.nodes, wholeOf);
  set("hotRowsPerSecondMin", "--hot-rate", flags.hotRate, Number);
  if (limits.gcGraceMicros > CQL_SECONDS_MAX * 1e6) {
    problems.add(`--gc-grace ${flags.gcGrace}: Cassandra stores at most 2,147,483,647 seconds`);
  }
  if (limits.tombstonesWarn > limits.tombstonesFail) {
    problems.add("--tombstones-warn is above --tombstones-fail; give a smaller one");
  }
  return limits;
}

/** Cassandra's `int`. */
const CQL_SECONDS_MAX = 2 ** 31 - 1;
/** Cassandra's limit of a TTL: 20 years. */
const TTL_SECONDS_MAX = 630_720_000;
/** More is no limit; products of it are exact enough. */
const LIMIT_MAX = 1e18;

/** More variants make a table that nobody reads. */
const VARIANTS_MAX = 10;
const WIDTH_MICROS_MIN = 1_000_000;
/** A query of more partitions has no answer in time. */
const HASHES_MAX = 1_000_000;

export function choicesFrom({ widths, hashes }: AdviseFlags, problems: Problems): StrategyChoices {
  return {
    widthsMicros: widthsFrom(widths, problems) ?? DEFAULT_CHOICES.widthsMicros,
    hashes: hashesFrom(hashes, problems) ?? DEFAULT_CHOICES.hashes,
  };
}

function widthsFrom(text: string | undefined, problems: Problems): readonly number[] | undefined {
  const widths = numbersOf("--widths", text, microsOf, problems);
  if (widths?.some((each) => each < WIDTH_MICROS_MIN) === true) {
    problems.add(`--widths ${text}: give durations of at least 1s`);
  }
  return widths;
}

function hashesFrom(text: string | undefined, problems: Problems): readonly number[] | undefined {
  const hashes = numbersOf("--hashes", text, wholeOf, problems);
  if (hashes?.some((each) => each > HASHES_MAX) === true) {
    problems.add(`--hashes ${text}: give at most ${HASHES_MAX}`);
  }
  return hashes;
}

export function sampleRowsFrom(
  { sampleRows }: AdviseFlags,
  problems: Problems,
): number | undefined {
  if (sampleRows === undefined) return undefined;
  const rows = wholeOf(sampleRows);
  if (rows === undefined || rows < 1_000 || rows > 5_000_000) {
    problems.add(`--sample-rows ${sampleRows}: give a whole number from 1000 to 5000000`);
  }
  return rows;
}

function numbersOf(
  flag: string,
  text: string | undefined,
  parse: (text: string) => number | undefined,
  problems: Problems,
): readonly number[] | undefined {
  if (text === undefined) return undefined;
  const values = namesOf(text).map((each) => ({ each, value: parse(each) }));
  if (values.length > VARIANTS_MAX) problems.add(`${flag}: give at most ${VARIANTS_MAX}`);
  for (const { each, value } of values) {
    if (!((value ?? 0) > 0)) problems.add(`${flag} ${text}: ${each} is not a value above 0`);
  }
  return [...new Set(values.map(({ value }) => value ?? 1))].toSorted((a, b) => a - b);
}

function deletesFrom(flags: AdviseFlags, problems: Problems): DeletePolicy | undefined {
  const { ttl, deleteShare, deleteAfter } = flags;
  if (ttl === undefined && deleteShare === undefined && deleteAfter === undefined) return undefined;
  const ttlMicros = ttl === undefined ? undefined : microsOf(ttl);
  if (
    ttl !== undefined &&
    !((ttlMicros ?? 0) >= 1e6 && (ttlMicros ?? 0) <= TTL_SECONDS_MAX * 1e6)
  ) {
    problems.add(
      `--ttl ${ttl}: not a duration from 1s to 20 years; give 30d, or a column with --ttl-column`,
    );
  }
  const afterMicros = microsOf(deleteAfter ?? "1d");
  if (afterMicros === undefined) {
    problems.add(`--delete-after ${deleteAfter}: not a duration; give 1h`);
  }
  const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(deleteShare ?? "0%")?.[1];
  const share = percent === undefined ? Number(deleteShare) : Number(percent) / 100;
  if (!(share >= 0 && share <= 1)) {
    problems.add(`--delete-share ${deleteShare}: not a share; give 1% or 0.01`);
  }
  return { ...NO_DELETES, share, afterMicros: afterMicros ?? 0, ttlMicros };
}

/** A column's name may have spaces: the order is the last word. */
function clusteringOf(text: string): readonly ClusteringColumn[] {
  return namesOf(text).map((each) => {
    const [, column = each, order = "asc"] = /^(.*\S)\s+(asc|desc)$/i.exec(each) ?? [];
    return { column, order: /^desc$/i.test(order) ? "DESC" : "ASC" };
  });
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text === undefined ? undefined : namesOf(text);
}

function microsOf(text: string): number | undefined {
  const ms = parseDurationMs(text);
  return ms === undefined ? undefined : ms * 1_000;
}

function wholeOf(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
