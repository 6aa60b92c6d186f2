/**
 * Shared by the tests of tuning through a real server: short intervals, steady traffic, and
 * conditions to wait for.
 */
import { deepEqual, match, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { BraidError } from "../../client/connect.ts";
import type {
  BraidClient,
  NamespaceChange,
  NewEvent,
  TimeSlice,
  Tuning,
} from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { Ledger } from "./splits-ledger.ts";
import { eventually } from "./splits-support.ts";

/** Slices are sealed, walked and judged soon after they end. */
export const TUNED_SOON = {
  BRAID_VIEW_MAX_AGE: "500ms",
  BRAID_WRITE_MAX: "1s",
  BRAID_CLOCK_SKEW: "0ms",
  BRAID_WALK_EVERY: "500ms",
  BRAID_WALK_CURRENT_EVERY: "0ms",
  BRAID_TUNING_EVERY: "500ms",
} as const;

/** Seconds. The narrowest time bucket that Braid chooses, so that it takes no wider slices. */
export const SLICE = 10;

/** A busy machine writes up to so late, and loses nothing by it. */
const LATE_SECONDS = 5;

/** What a namespace is written: each id has as many events a second. */
export interface Traffic {
  readonly ids: number;
  readonly eventsPerSecond: number;
  readonly eventBytes: number;
}

/** A namespace of short slices, which are not made longer: a tenth of deleteAfter is too short. */
export function shortSlices(
  timePartition: { readonly secondsPerTimeBucket: number },
  tuning: NonNullable<NamespaceChange["tuning"]>,
): NamespaceChange {
  return {
    timePartition: { secondsPerTimeSlice: SLICE, ...timePartition },
    tuning,
    acceptLimit: `${LATE_SECONDS + 1}s`,
    futureLimit: "1s",
    retention: { closeAfter: "1000s", deleteAfter: "2000s" },
  };
}

/** One second of an id is far below the target, and ten seconds are in it. */
export const TOO_NARROW = {
  traffic: { ids: 24, eventsPerSecond: 1, eventBytes: 1_000 },
  partition: { secondsPerTimeBucket: 1 },
  target: { densityMinBytes: "4096", densityMaxBytes: "65536" },
} as const;

/** Every id has 40 KiB in ten seconds, far above the limit; no time bucket is narrower. */
export const TOO_WIDE = {
  traffic: { ids: 60, eventsPerSecond: 2, eventBytes: 2_000 },
  partition: { secondsPerTimeBucket: SLICE },
  target: { densityMinBytes: "1024", densityMaxBytes: "8192" },
} as const;

/**
 * For the target of TOO_NARROW: ten seconds are too wide, one second is not. Ten seconds are seven
 * times too wide, so that a machine that stands still for some of them does not matter; few ids, so
 * that a busy one keeps up.
 */
const FLOOD: Traffic = { ids: 8, eventsPerSecond: 4, eventBytes: 12_000 };

/** Two slices before a change, one ahead, two after it, many times over; less than a file may take. */
const WITHIN_MS = 250_000;
/** The server that is asked has the work of the test to do. */
const LOOK_EVERY_MS = 500;

export interface Healed {
  readonly tuning: Tuning;
  readonly before: SliceState;
  readonly after: SliceState;
}

export interface SliceState extends SliceCost {
  readonly slice: TimeSlice;
}

/**
 * Makes a namespace in AUTO, writes and reads until a change has shown its effect; nothing that was
 * written is lost.
 */
export async function heal(
  client: BraidClient,
  name: string,
  { traffic, partition, target }: typeof TOO_NARROW | typeof TOO_WIDE,
  withinMs?: number,
): Promise<Healed> {
  const ledger = new Ledger();
  await client.createNamespace(name, shortSlices(partition, { mode: "AUTO", ...target }));
  await using _writing = keepWriting(client, name, ledger, traffic);
  await readOnce(client, name);
  const tuning = await untilTuning(client, name, "EFFECTIVE", withinMs);
  deepEqual(
    tuning.history.map(({ by, to }) => [by, to]),
    ["PROPOSED", "APPLIED", "EFFECTIVE"].map((to) => ["tuner", to]),
  );
  match(tuning.why, /^promised p99 \S+, got \S+$/);
  await readsEverything(client, name, ledger, traffic);
  const slices = await sealedSince(client, name, "1970-01-01T00:00:00Z");
  const [last] = await sealedSince(client, name, tuning.effectiveFrom ?? "");
  const first = slices.find((slice) => slice.name === tuning.evidence[0]);
  ok(first !== undefined && last !== undefined);
  deepEqual(last.timePartition, tuning.to);
  return {
    tuning,
    before: { slice: first, ...(await costOf(client, name, first)) },
    after: { slice: last, ...(await costOf(client, name, last)) },
  };
}

/**
 * A change that fitted until the traffic grew is taken back: the former partitioning would be
 * better. Nothing that was written is lost.
 */
export async function takenBack(
  client: BraidClient,
  name: string,
  withinMs?: number,
): Promise<Tuning> {
  const { traffic, partition, target } = TOO_NARROW;
  const ledger = new Ledger();
  await client.createNamespace(name, shortSlices(partition, { mode: "AUTO", ...target }));
  {
    await using _writing = keepWriting(client, name, ledger, traffic);
    await readOnce(client, name);
    await untilTuning(client, name, "APPLIED", withinMs);
  }
  // Before the first slice with the new partitioning begins: one slice ahead is frozen.
  await using _flood = keepWriting(client, name, ledger, FLOOD);
  const tuning = await untilTuning(client, name, "TAKEN_BACK", withinMs);
  await untilTrue(
    client,
    name,
    "a slice has the former partitioning again",
    async () => (await client.listTimeSlices(name)).at(-1)?.timePartition.secondsPerTimeBucket,
    (seconds) => seconds === partition.secondsPerTimeBucket,
    withinMs,
  );
  await readsEverything(client, name, ledger, traffic);
  return tuning;
}

function idOf(nth: number): string {
  return `id-${nth}`;
}

/** Writes events of every id as time passes, until it is disposed. */
export function keepWriting(
  client: BraidClient,
  namespace: string,
  ledger: Ledger,
  { ids, eventsPerSecond, eventBytes }: Traffic,
): AsyncDisposable {
  const stepMs = 1_000 / eventsPerSecond;
  let going = true;
  const write = async (): Promise<void> => {
    let atMs = Date.now();
    while (going) {
      // What a stalled machine has missed would be too old.
      atMs = Math.max(atMs, Date.now() - LATE_SECONDS * 1_000);
      const events: NewEvent[] = [];
      for (; atMs <= Date.now(); atMs += stepMs) {
        for (let nth = 0; nth < ids; nth++) {
          events.push(ledger.event(idOf(nth), Math.floor(atMs * 1_000) + nth, eventBytes));
        }
      }
      // All that is due at once: on a busy machine each request takes long.
      if (events.length > 0) await offer(ledger, client, namespace, events);
      await pause(20);
    }
  };
  const writing = write();
  return {
    async [Symbol.asyncDispose]() {
      going = false;
      await writing;
    },
  };
}

/** A server that stood still for a minute has answered nothing: nobody knows what it stored. */
async function offer(
  ledger: Ledger,
  client: BraidClient,
  namespace: string,
  events: readonly NewEvent[],
): Promise<void> {
  try {
    await ledger.offer(client, namespace, events);
  } catch (error) {
    if (!(error instanceof BraidError) || error.code !== "DEADLINE_EXCEEDED") throw error;
  }
}

/** Reads as a caller does: the tuner leaves a namespace alone that nobody reads. */
export async function readOnce(client: BraidClient, namespace: string): Promise<void> {
  const nowMicros = Date.now() * 1_000;
  const interval = { start: formatTime(nowMicros - SLICE * 1_000_000), end: formatTime(nowMicros) };
  for await (const _ of client.read(namespace, { timeSeriesId: idOf(0), ...interval })) break;
}

/** Resolves when the first tuning has this state. */
export async function untilTuning(
  client: BraidClient,
  namespace: string,
  state: Tuning["state"],
  withinMs?: number,
): Promise<Tuning> {
  const found = await untilTrue(
    client,
    namespace,
    `a tuning of ${namespace} is ${state}`,
    async () => (await client.listTunings(namespace)).tunings.find((each) => each.state === state),
    (tuning) => tuning !== undefined,
    withinMs,
  );
  if (found === undefined) throw new Error("it was there a moment ago");
  return found;
}

/**
 * Polls until the condition holds. A machine that was suspended has a clock that leapt: Braid
 * rightly decides nothing, and makes no slices, until it runs evenly for long or an operator
 * confirms it.
 */
export function untilTrue<T>(
  client: BraidClient,
  namespace: string,
  what: string,
  look: () => Promise<T>,
  isSo: (seen: T) => boolean,
  withinMs = WITHIN_MS,
): Promise<T> {
  const confirmed = async (): Promise<T> => {
    const { nothingWhy } = await client.listTunings(namespace);
    if (nothingWhy === "CLOCK_IN_DOUBT") await client.confirmClock();
    return look();
  };
  return eventually(what, confirmed, isSo, withinMs, LOOK_EVERY_MS);
}

/** Sealed slices that begin at this time or later. */
async function sealedSince(
  client: BraidClient,
  namespace: string,
  since: string,
): Promise<TimeSlice[]> {
  const slices = await client.listTimeSlices(namespace);
  return slices.filter(
    ({ status, start }) => status === "SEALED" && Date.parse(start) >= Date.parse(since),
  );
}

export interface SliceCost {
  /** That one read of an id over the whole slice touches. */
  readonly partitions: number;
  /** Of the largest of them. */
  readonly bytesMax: number;
  /** The median of some reads, as the server measured them; for people, never asserted. */
  readonly medianMs: number;
}

const READS = 21;

/** What it costs to read one id over a whole slice. */
async function costOf(
  client: BraidClient,
  namespace: string,
  { start, end }: TimeSlice,
): Promise<SliceCost> {
  const query = { timeSeriesId: idOf(0), start, end, pageSize: 10_000 };
  const { partitions } = await client.explain(namespace, query);
  const tookMs: number[] = [];
  for (let read = 0; read < READS; read++) {
    const { value: page } = await client.read(namespace, query).pages().next();
    ok(page !== undefined && page.nextPageToken === "");
    deepEqual(page.context?.partitionsRead, partitions.length);
    tookMs.push(Number.parseFloat(page.context?.timeTaken ?? "") * 1_000);
  }
  return {
    partitions: partitions.length,
    bytesMax: Math.max(...partitions.map(({ bytes }) => Number(bytes))),
    medianMs: tookMs.toSorted((a, b) => a - b)[READS >> 1] ?? 0,
  };
}

/** The figures of docs/operate/tuning.md. */
export function costText({ before, after }: Healed): string {
  const text = ({ partitions, bytesMax, medianMs }: SliceCost): string =>
    `${partitions} partitions, the largest of ${bytesMax} bytes, in ${medianMs.toFixed(1)} ms`;
  return `a read of ${SLICE} s, before: ${text(before)}; after: ${text(after)}`;
}

/** Every event of every id that was acknowledged is read, over all slices. */
export async function readsEverything(
  client: BraidClient,
  namespace: string,
  ledger: Ledger,
  { ids }: Traffic,
): Promise<void> {
  const slices = await client.listTimeSlices(namespace);
  const from = Math.min(...slices.map(({ start }) => Date.parse(start))) * 1_000;
  const to = Math.max(...slices.map(({ end }) => Date.parse(end))) * 1_000;
  for (let nth = 0; nth < ids; nth++) {
    const query = { series: idOf(nth), from, to, order: "OLDEST_FIRST", over: 1_000 } as const;
    ok((await ledger.read([client], namespace, query)) > 0);
  }
  deepEqual(ledger.wrong, []);
}
