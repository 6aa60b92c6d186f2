/**
 * Views by video in a real Cassandra, as it is and split in each of the five ways: what the advisor
 * predicts is held against it. The rows are the same for the same shape.
 */
import cassandra from "cassandra-driver";
import type { Client } from "cassandra-driver";
import { inFlight } from "../../bench/support/stats.ts";
import { moveTo } from "../../src/advise/cql.ts";
import type { AdviseLimits } from "../../src/advise/limits.ts";
import type { ColumnRoles } from "../../src/advise/roles.ts";
import type { Strategy } from "../../src/advise/strategies/strategy.ts";
import { readSizeHistogram } from "../../src/engines/cassandra/jolokia.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { hash32 } from "../../src/lib/hash.ts";
import { SeededRandom } from "../../src/lib/seeded-random.ts";
import type { SizeHistogram } from "../../src/model/size-histogram.ts";

export interface ViewsShape {
  /** Rows of each of the popular videos. */
  readonly popular: readonly number[];
  readonly others: number;
  /** The other videos have from a fifth of these rows to five times as many. */
  readonly otherRows: number;
  readonly bodyBytes: number;
}

export interface View {
  readonly video: number;
  readonly ms: number;
  readonly view: cassandra.types.TimeUuid;
  readonly device: string;
  readonly user: number;
  readonly body: string;
  /** Zero for never. */
  readonly ttlSeconds: number;
}

const VIEWS_DAYS = 30;
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);
const BURST_MS = 6 * 3_600_000;
const DEVICES = ["tv", "tv", "phone", "web"] as const;
const TTL_SECONDS = 30 * 86_400;

/** All views, in the order in which they were written. */
export function viewsOf({ popular, others, otherRows, bodyBytes }: ViewsShape): View[] {
  const random = new SeededRandom(14);
  const counts = [
    ...popular,
    ...Array.from({ length: others }, () =>
      Math.max(1, Math.round((otherRows / 5) * 25 ** random.fraction())),
    ),
  ];
  const views = counts.flatMap((count, video) => {
    const airing = START_MS + (1 + random.below(VIEWS_DAYS - 2)) * DAY_MS;
    return Array.from({ length: count }, (): View => {
      const ms = Math.floor(
        random.chance(0.3)
          ? airing + random.fraction() * BURST_MS
          : START_MS + random.fraction() * VIEWS_DAYS * DAY_MS,
      );
      return {
        video,
        ms,
        view: cassandra.types.TimeUuid.fromDate(new Date(ms), random.below(10_000), "advise", "ab"),
        device: random.one(DEVICES),
        user: random.below(1_000_000),
        body: "x".repeat(Math.round(bodyBytes * (0.5 + random.fraction()))),
        ttlSeconds: random.chance(0.2) ? TTL_SECONDS : 0,
      };
    });
  });
  return views.sort((a, b) => a.ms - b.ms);
}

/** Makes a keyspace, and a client that uses it. */
export async function openKeyspace(contactPoint: string, keyspace: string): Promise<Client> {
  const client = new cassandra.Client({
    contactPoints: [contactPoint],
    localDataCenter: "datacenter1",
    queryOptions: { prepare: true, isIdempotent: true },
    socketOptions: { readTimeout: 60_000 },
  });
  await client.connect();
  await run(
    client,
    `CREATE KEYSPACE "${keyspace}" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
  );
  await run(client, `USE "${keyspace}"`);
  return client;
}

/** A statement that is not prepared. */
export async function run(client: Client, statement: string): Promise<void> {
  await client.execute(statement, [], { prepare: false });
}

export const VIEWS_TABLE = "views_by_video";

export async function createViews(client: Client, views: readonly View[]): Promise<void> {
  await run(
    client,
    `CREATE TABLE ${VIEWS_TABLE} (video_id bigint, view_id timeuuid, device text, user_id bigint,
       body text, PRIMARY KEY (video_id, view_id)) WITH CLUSTERING ORDER BY (view_id DESC)`,
  );
  await insert(
    client,
    VIEWS_TABLE,
    undefined,
    Map.groupBy(views, ({ video }) => `${video}`),
  );
}

/** Creates the table of a strategy by its own CQL, and fills it as its text says. */
export async function createSplit(
  client: Client,
  views: readonly View[],
  strategy: Strategy,
  { roles, limits, table }: SplitOptions,
): Promise<string> {
  const { statements } = moveTo(strategy, { ...roles, table }, limits);
  for (const statement of statements) await run(client, statement);
  const labels = labelsOf(strategy, views, limits);
  const added = strategy.text.added[0]?.column ?? "";
  const inKey = added === "device" ? undefined : added;
  const placed = views.map((view, at) => ({ ...view, label: labels[at] ?? 0 }));
  const partitions = Map.groupBy(placed, ({ video, label }) => `${video} ${String(label)}`);
  await insert(client, `${table}_split`, inKey, partitions);
  return `${table}_split`;
}

export interface SplitOptions {
  readonly roles: ColumnRoles;
  readonly limits: AdviseLimits;
  /** The name of the table that is split. */
  readonly table: string;
}

type Label = string | number | Date;

interface Placed extends View {
  readonly label?: Label;
}

/** The value of the added column of each view. Written from the strategies' text, not their code. */
function labelsOf(
  { option, name }: Strategy,
  views: readonly View[],
  limits: AdviseLimits,
): Label[] {
  const number = Number(/([\d,]+)(?: rows)?$/.exec(name)?.[1]?.replaceAll(",", ""));
  const hash = ({ view }: View): number => hash32(Buffer.from(view.toString()), 99);
  switch (option) {
    case "EXISTING_COLUMN":
      return views.map(({ device }) => device);
    case "TIME_COLUMN":
      return views.map(({ ms }) => new Date(Math.floor(ms / DAY_MS) * DAY_MS));
    case "FIXED_HASH":
      return views.map((view) => hash(view) % number);
    case "FILL_UP_BUCKET": {
      const counter = new Map<number, number>();
      return views.map(({ video }) => {
        const before = counter.get(video) ?? 0;
        counter.set(video, before + 1);
        return Math.floor(before / number);
      });
    }
    case "PER_KEY_VARIABLE": {
      const tiers = new Map<number, number>();
      for (const [video, rows] of Map.groupBy(views, ({ video }) => video)) {
        tiers.set(video, tierOf(rows, limits));
      }
      return views.map((view) => {
        const tier = tiers.get(view.video) ?? 1;
        return tier === 1 ? -1 : tier + (hash(view) % tier);
      });
    }
    case "LEAVE":
      return views.map(() => 0);
  }
}

/** A key beyond the limit gets partitions that are at most half full. */
function tierOf(rows: readonly View[], { rowsMax, bytesMax }: AdviseLimits): number {
  const bytes = rows.reduce((sum, { body }) => sum + body.length + 50, 0);
  const fill = Math.max(rows.length / rowsMax, bytes / bytesMax);
  return fill <= 1 ? 1 : ([10, 100, 1_000].find((tier) => fill / tier <= 0.5) ?? 10_000);
}

const BATCH_ROWS = 40;

/** Each view with the time of its own as its time of writing. */
async function insert(
  client: Client,
  table: string,
  added: string | undefined,
  partitions: ReadonlyMap<string, readonly Placed[]>,
): Promise<void> {
  const names = ["video_id", "view_id", "device", "user_id", "body", ...(added ? [added] : [])];
  const query =
    `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) ` +
    "USING TIMESTAMP ? AND TTL ?";
  const batches = [...partitions.values()].flatMap((rows) =>
    Array.from({ length: Math.ceil(rows.length / BATCH_ROWS) }, (_, at) =>
      rows.slice(at * BATCH_ROWS, (at + 1) * BATCH_ROWS),
    ),
  );
  const long = (value: number) => cassandra.types.Long.fromNumber(value);
  await inFlight(batches, 8, async (rows) => {
    const queries = rows.map(({ video, view, device, user, body, ms, ttlSeconds, label }) => ({
      query,
      params: [
        long(video),
        view,
        device,
        long(user),
        body,
        ...(added ? [label] : []),
        long(ms * 1_000),
        ttlSeconds,
      ],
    }));
    await client.batch(queries, { prepare: true, logged: false });
  });
}

/** Cassandra's own histogram of a table, with each partition in one data file. */
export async function measuredSizes(
  jolokia: string,
  keyspace: string,
  table: string,
): Promise<SizeHistogram> {
  const names = "(java.lang.String,[Ljava.lang.String;)";
  await operate(jolokia, `forceKeyspaceFlush${names}`, [keyspace, [table]]);
  const compact = "forceKeyspaceCompaction(boolean,java.lang.String,[Ljava.lang.String;)";
  await operate(jolokia, compact, [false, keyspace, [table]]);
  const answer = await readSizeHistogram(
    systemClock,
    new URL(jolokia).origin,
    { keyspace, table },
    new AbortController().signal,
  );
  if ("value" in answer) return answer.value;
  throw new Error(answer.reason);
}

/** What `nodetool` does, over HTTP. */
export async function operate(
  jolokia: string,
  operation: string,
  args: readonly unknown[],
): Promise<void> {
  const mbean = "org.apache.cassandra.db:type=StorageService";
  const body = JSON.stringify({ type: "exec", mbean, operation, arguments: args });
  const response = await fetch(`${jolokia}/`, { method: "POST", body });
  const answer = (await response.json()) as { status: number; error?: string };
  if (answer.status !== 200) throw new Error(`${operation}: ${answer.error}`);
}
