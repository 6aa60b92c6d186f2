/**
 * Shared by the tests of splitting through a real server: small limits, and conditions to wait for.
 */
import { deepEqual } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { BraidError } from "../../client/connect.ts";
import type {
  BraidClient,
  ExplainedPartition,
  NamespaceChange,
  NewEvent,
  Split,
} from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import type { Ledger } from "./splits-ledger.ts";

/** `view_max_age` of the servers in these tests. */
export const VIEW_MAX_AGE_MS = 500;
const WRITE_MAX_MS = 500;

/** Short intervals, and read modes that advance after a few reads. */
export const SOON = {
  BRAID_VIEW_MAX_AGE: `${VIEW_MAX_AGE_MS}ms`,
  BRAID_WRITE_MAX: `${WRITE_MAX_MS}ms`,
  BRAID_CLOCK_SKEW: "0ms",
  BRAID_SPLITS_SWEEP_EVERY: "100ms",
  BRAID_SPLITS_ADVANCE_READS: "3",
  BRAID_SPLITS_ADVANCE_BYTES: "64KiB",
  BRAID_SPLITS_ADVANCE_AFTER: "0ms",
  BRAID_SPLITS_SHADOW_SAMPLE: "1",
  BRAID_SPLITS_SERVE_SAMPLE: "2",
} as const;

/** The smallest size that counts as wide. */
export const WIDE_BYTES = 65_536;

/** A namespace with one time bucket per slice, which accepts old events until it is sealed. */
export function shortBuckets(seconds: number, change: NamespaceChange = {}): NamespaceChange {
  return {
    timePartition: { secondsPerTimeSlice: seconds, secondsPerTimeBucket: seconds },
    acceptLimit: "300s",
    futureLimit: "1s",
    retention: { closeAfter: "18000s", deleteAfter: "36000s" },
    ...change,
    widePartition: {
      bytesMax: String(WIDE_BYTES),
      targetBytes: String(WIDE_BYTES),
      ...change.widePartition,
    },
  };
}

/** The start, in microseconds, of the newest bucket that ended at least that long ago. */
export function bucketBefore(seconds: number, agoSeconds: number): number {
  return (Math.floor((Date.now() / 1_000 - agoSeconds) / seconds) - 1) * seconds * 1_000_000;
}

/** Events over the whole time range, three in each microsecond that has any. */
export function eventsOver(
  ledger: Ledger,
  series: string,
  from: number,
  to: number,
  { count, bytes }: { readonly count: number; readonly bytes: number },
): NewEvent[] {
  const step = Math.floor((to - from) / Math.ceil(count / 3));
  return Array.from({ length: count }, (_, i) =>
    ledger.event(series, from + Math.floor(i / 3) * step, bytes),
  );
}

/** Polls until the condition holds; at the time limit, throws with the last value. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T> | T,
  isSo: (seen: T) => boolean,
  withinMs = 120_000,
  everyMs = 20,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    if (performance.now() > end) {
      throw new Error(`${what} never came true; at last it was ${JSON.stringify(seen)}`);
    }
    await pause(everyMs);
  }
}

/** Lowers the accept limit, and resolves when all slices that end before `end` are sealed. */
export async function seal(client: BraidClient, namespace: string, end: number): Promise<void> {
  await client.updateNamespace(namespace, { acceptLimit: "1s" });
  await eventually(
    "sealed",
    () => client.listTimeSlices(namespace),
    (slices) =>
      slices.every(({ end: to, status }) => Date.parse(to) * 1_000 > end || status === "SEALED"),
  );
  // Only saves time: a worker that sees a split before the floor has settled retries half a minute
  // later.
  await pause(2 * (VIEW_MAX_AGE_MS + WRITE_MAX_MS));
}

/** The split of a series; undefined before its first detection. */
export async function splitOf(
  client: BraidClient,
  namespace: string,
  series: string,
): Promise<Split | undefined> {
  for await (const split of client.splits.list(namespace)) {
    const { preSplitData } = split;
    if (preSplitData.timeSeriesId === series) return client.splits.get(namespace, preSplitData);
  }
  return undefined;
}

/** Resolves when all its segments are completed and confirmed. */
export async function untilServable(
  client: BraidClient,
  namespace: string,
  series: string,
): Promise<Split> {
  const split = await eventually(
    `${series} is split`,
    () => splitOf(client, namespace, series),
    isServable,
  );
  if (split === undefined) throw new Error("it was there a moment ago");
  return split;
}

export function isServable(split: Split | undefined): boolean {
  if (split?.state !== "COMPLETED" || split.segments.length === 0) return false;
  return split.segments.every(({ confirmed }) => confirmed);
}

/** The routes of those partitions of an interval that have events. */
export async function routesOf(
  client: BraidClient,
  namespace: string,
  series: string,
  from: number,
  to: number,
): Promise<ExplainedPartition[]> {
  const { partitions } = await client.explain(namespace, {
    timeSeriesId: series,
    start: formatTime(from),
    end: formatTime(to),
    pageSize: 10_000,
  });
  return partitions.filter(({ events }) => events !== "0");
}

export async function untilRoute(
  client: BraidClient,
  namespace: string,
  series: string,
  interval: { readonly from: number; readonly to: number },
  route: string,
): Promise<ExplainedPartition[]> {
  const { from, to } = interval;
  return eventually(
    `${series} is read ${route}`,
    () => routesOf(client, namespace, series, from, to),
    (found) => found.length > 0 && found.every((each) => each.route === route),
  );
}

/** Reads in both orders, by pages and streams, and checks every answer. */
export async function readsAreRight(
  clients: readonly BraidClient[],
  namespace: string,
  ledger: Ledger,
  series: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  // Edges inside parts.
  const third = from + Math.floor((to - from) / 3);
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    const whole = { series, from, to, order } as const;
    await ledger.read(clients, namespace, { ...whole, over: "stream" });
    await ledger.read(clients, namespace, { ...whole, over: 1_000 });
    await ledger.read(clients, namespace, {
      ...whole,
      from: third,
      to: to - third + from,
      over: 97,
    });
    await ledger.read(clients, namespace, { ...whole, device: "ios", over: 100 });
  }
  deepEqual(ledger.wrong, []);
}

/** The code of the refusal. */
export async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "";
  } catch (error) {
    if (error instanceof BraidError) return error.code;
    throw error;
  }
}
