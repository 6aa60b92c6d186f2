/**
 * The work whose steps are enumerated, one kind each: what is there before it, what asks for it,
 * and how one sees that it has ended.
 */

import type { SplitRecord } from "../../src/model/split.ts";
import { writeHistogram } from "../../src/records/histogram-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import { noteReadAt } from "../../src/records/read-activity-records.ts";
import { readTunings } from "../../src/records/tuning-records.ts";
import { simulatedHistogram } from "../support/simulated-traffic.ts";
import { MINUTE, NAME, NOON, SECOND, TUNED_LATER } from "./crash-world.ts";
import type { CrashWorld, NamespacePatch, WorkProcess } from "./crash-world.ts";

export interface CrashScenario {
  readonly kind: string;
  /** Done by a process that does not end. */
  prepare(world: CrashWorld): Promise<void>;
  /**
   * Asks for the work. The caller asks again if it gets an error, and asks the next process if this
   * one ends. None: time alone asks for it.
   */
  act(world: CrashWorld, process: WorkProcess): Promise<void>;
  isDone(world: CrashWorld): Promise<boolean>;
  /** What must hold when it is done; `fail` reports the rest. */
  judge?(world: CrashWorld): Promise<void>;
  /** Reads end with a split that is served. */
  readonly served: boolean;
  /** Slices are made and dropped as time passes: how many there are depends on when one counts. */
  readonly ticks?: boolean;
  /** Its strategy writes all parts at once: who takes a copy over begins it again. */
  readonly beginsAgain?: boolean;
  /** It ends with a deleted namespace that can be restored: its slices belong to none. */
  readonly deleted?: boolean;
}

const EVENTS = 40;
const EVENT_BYTES = 4_000;
const HOUR = 60 * MINUTE;
const WHY = { by: "ada", reason: "a test" };
/** A bucket that ended long ago. */
const CLOSED = NOON - 3 * HOUR;

const SPLITTING: NamespacePatch = {
  widePartition: { bytesMax: 65_536, targetBytes: 65_536 },
  slos: { read: { targetMs: 1 } },
};

/** A namespace with one wide partition, sealed and settled. */
async function withWide(world: CrashWorld, patch: NamespacePatch = {}): Promise<void> {
  const process = world.start();
  await world.pass(process.namespaces.create(NAME, { ...SPLITTING, ...patch }));
  await world.serve();
  await world.write({ events: EVENTS, bytes: EVENT_BYTES, from: CLOSED, to: CLOSED + HOUR });
  await world.clock.advance(30_000);
  process.steps.kill();
}

/** And its split, which is served. */
async function withServed(world: CrashWorld, patch: NamespacePatch = {}): Promise<void> {
  await withWide(world, patch);
  const process = world.start();
  await process.detect(await world.partitionAt(CLOSED));
  await world.until("it is split", () => isSplit(world, CLOSED));
  await world.until("it is served", async () => (await world.judge()).has("SPLIT"));
  process.steps.kill();
}

function isWhole(record: SplitRecord | undefined): boolean {
  if (record?.state !== "COMPLETED" || record.owner !== null || record.dueAt !== null) return false;
  return record.segments.length > 0 && record.segments.every((each) => each.confirmedAt !== null);
}

async function isSplit(world: CrashWorld, time: number): Promise<boolean> {
  return isWhole(await world.split(await world.partitionAt(time)));
}

/** A bucket that has not ended is split up to the settled floor. */
function isSplitSoFar(record: SplitRecord | undefined): boolean {
  if (record?.state !== "COMPLETED" || record.owner !== null) return false;
  return record.segments.length > 0 && record.segments.every((each) => each.confirmedAt !== null);
}

const closed: CrashScenario = {
  kind: "split of a closed bucket",
  prepare: (world) => withWide(world),
  act: async (world, process) => process.detect(await world.partitionAt(CLOSED)),
  isDone: (world) => isSplit(world, CLOSED),
  served: true,
};

const byRows: CrashScenario = {
  ...closed,
  kind: "split into rows",
  prepare: (world) =>
    withWide(world, { widePartition: { ...SPLITTING.widePartition, layout: "ROWS" } }),
};

const byHash: CrashScenario = {
  ...closed,
  kind: "split by hash",
  prepare: (world) =>
    withWide(world, { widePartition: { ...SPLITTING.widePartition, strategy: "HASH" } }),
  beginsAgain: true,
};

const FIVE_MINUTES: NamespacePatch = {
  ...SPLITTING,
  timePartition: { secondsPerTimeBucket: 300 },
  acceptLimitMicros: 20 * SECOND,
  futureLimitMicros: 5 * SECOND,
};

/** The newest bucket: its sealed time is split, and what is sealed later becomes another segment. */
const open: CrashScenario = {
  kind: "split of an open bucket",
  async prepare(world) {
    const process = world.start();
    await world.pass(process.namespaces.create(NAME, FIVE_MINUTES));
    await world.serve();
    await world.clock.advance(210_000);
    const from = NOON + 5 * SECOND;
    await world.write({ events: EVENTS, bytes: EVENT_BYTES, from, to: NOON + 170 * SECOND });
    process.steps.kill();
  },
  act: async (world, process) => process.detect(await world.partitionAt(NOON)),
  async isDone(world) {
    const record = await world.split(await world.partitionAt(NOON));
    return isSplitSoFar(record) && (record?.segments.at(-1)?.to ?? 0) >= NOON + 170 * SECOND;
  },
  served: true,
};

const segment: CrashScenario = {
  kind: "further segment of a split",
  async prepare(world) {
    await open.prepare(world);
    const process = world.start();
    await process.detect(await world.partitionAt(NOON));
    await world.until("its first segment is split", () => open.isDone(world));
    process.steps.kill();
    const rest = { from: NOON + 240 * SECOND, to: NOON + 299 * SECOND };
    await world.write({ events: EVENTS, bytes: EVENT_BYTES, id: "l", ...rest });
    const control = world.start({ splits: false });
    await world.clock.advance(150_000);
    control.steps.kill();
  },
  act: async (world, process) => process.detect(await world.partitionAt(NOON)),
  isDone: (world) => isSplit(world, NOON),
  async judge(world) {
    const record = await world.split(await world.partitionAt(NOON));
    if (record?.segments.length !== 2) world.fail(`it has ${record?.segments.length} segments`);
  },
  served: true,
};

const rolledBack: CrashScenario = {
  kind: "rollback of a split",
  prepare: (world) => withServed(world),
  act: async (world, process) =>
    void (await process.splits.rollback(await world.locationAt(CLOSED), WHY)),
  async isDone(world) {
    const record = await world.split(await world.partitionAt(CLOSED));
    return record?.state === "INVALIDATED" && record.dueAt === null && record.owner === null;
  },
  async judge(world) {
    if ((await world.judge()).has("SPLIT")) world.fail("a split is served that was rolled back");
  },
  served: false,
};

const retried: CrashScenario = {
  kind: "retry of a split",
  async prepare(world) {
    await withServed(world);
    const process = world.start();
    await world.pass(process.splits.rollback(await world.locationAt(CLOSED), WHY));
    process.steps.kill();
    await world.clock.advance(10_000);
  },
  async act(world, process) {
    // A repeat of one that was done is refused when the split is complete again.
    const { heldBy = null } = (await world.split(await world.partitionAt(CLOSED))) ?? {};
    if (heldBy !== null) await process.splits.retry(await world.locationAt(CLOSED), WHY);
  },
  isDone: (world) => isSplit(world, CLOSED),
  served: true,
};

/** An event surfaces in the original. The process that works also reads, compares and finds it. */
const recopied: CrashScenario = {
  kind: "recopy of a split",
  async prepare(world) {
    await withServed(world);
    const time = CLOSED + 30 * MINUTE;
    await world.surface({ events: 1, bytes: 100, from: time, to: time + 1, id: "late" });
  },
  async act(world, process) {
    await process.read();
    if ((await generationOf(world, CLOSED)) === 0) throw new Error("not found yet");
  },
  async isDone(world) {
    return (await generationOf(world, CLOSED)) > 0 && (await isSplit(world, CLOSED));
  },
  async judge(world) {
    world.mustReturnAll();
    await world.judge();
  },
  served: true,
};

async function generationOf(world: CrashWorld, time: number): Promise<number> {
  const record = await world.split(await world.partitionAt(time));
  return record?.segments.at(-1)?.generation ?? 0;
}

const reopened: CrashScenario = {
  kind: "time re-opened and sealed again",
  prepare: (world) => withServed(world),
  async act(world, process) {
    const { epoch = 0, reopening } = (await world.config()) ?? {};
    if (epoch === 0 || reopening !== null) {
      await process.namespaces.update(NAME, { acceptLimitMicros: 5 * HOUR }, []);
    }
    await process.namespaces.update(NAME, { acceptLimitMicros: 9 * MINUTE }, []);
  },
  async isDone(world) {
    const { epoch = 0, resealing, reopening, floor = 0 } = (await world.config()) ?? {};
    if (epoch === 0 || resealing !== null || reopening !== null) return false;
    const record = await world.split(await world.partitionAt(CLOSED));
    return floor > CLOSED + HOUR && isWhole(record) && record?.epoch === epoch;
  },
  served: true,
};

const TICKING = {
  timePartition: { secondsPerTimeSlice: 60, secondsPerTimeBucket: 60, eventBuckets: 1 },
  acceptLimitMicros: 10 * SECOND,
  futureLimitMicros: 2 * SECOND,
} satisfies NamespacePatch;
const KEPT = { closeAfterMicros: 3_000 * SECOND, deleteAfterMicros: 4_000 * SECOND };
const DROPPED_SOON = { closeAfterMicros: 120 * SECOND, deleteAfterMicros: 180 * SECOND };

/** A namespace of short slices with events, `seconds` old. */
async function ticking(
  world: CrashWorld,
  seconds: number,
  retention: NamespacePatch["retention"],
): Promise<void> {
  const process = world.start();
  await world.pass(
    process.namespaces.create(NAME, { ...TICKING, ...(retention && { retention }) }),
  );
  await world.write({ events: 10, bytes: 100, from: NOON, to: NOON + 50 * SECOND });
  await world.clock.advance(NOON / 1_000 + seconds * 1_000 - world.clock.nowMicros() / 1_000);
  process.steps.kill();
}

async function slicesOf(world: CrashWorld) {
  return readSlices(world.catalog, (await world.config())?.id ?? "");
}

const sliceOpened: CrashScenario = {
  kind: "slice opened",
  ticks: true,
  prepare: (world) => ticking(world, 30, KEPT),
  act: async () => undefined,
  async isDone(world) {
    const end = (await slicesOf(world)).at(-1)?.end ?? 0;
    return end > NOON + 240 * SECOND && (await world.config())?.changing === null;
  },
  served: false,
};

const sliceSealed: CrashScenario = {
  kind: "slice sealed",
  ticks: true,
  prepare: (world) => ticking(world, 62, KEPT),
  act: async () => undefined,
  async isDone(world) {
    const { settled } = (await world.config()) ?? { settled: { floor: 0 } };
    return settled.floor >= NOON + 60 * SECOND && (await world.config())?.changing === null;
  },
  served: false,
};

const sliceDropped: CrashScenario = {
  kind: "slice closed and dropped",
  ticks: true,
  async prepare(world) {
    await ticking(world, 170, DROPPED_SOON);
    // Reads no longer return what is closed.
    world.mayBeDropped();
  },
  act: async () => undefined,
  async isDone(world) {
    const first = (await slicesOf(world)).find(({ start }) => start === NOON);
    const dropped = first === undefined || first.storeDropped;
    return dropped && (await world.config())?.changing === null;
  },
  served: false,
};

/** With splits, whose records and table go with it. */
const splitDropped: CrashScenario = {
  ...sliceDropped,
  kind: "slice with a split dropped",
  async prepare(world) {
    const process = world.start();
    const patch = {
      ...SPLITTING,
      ...TICKING,
      retention: { closeAfterMicros: 200 * SECOND, deleteAfterMicros: 240 * SECOND },
    };
    await world.pass(process.namespaces.create(NAME, patch));
    await world.serve();
    await world.write({ events: EVENTS, bytes: EVENT_BYTES, from: NOON, to: NOON + 50 * SECOND });
    await world.clock.advance(90_000);
    await process.detect(await world.partitionAt(NOON));
    await world.until("it is split", () => isSplit(world, NOON));
    await world.clock.advance(NOON / 1_000 + 250_000 - world.clock.nowMicros() / 1_000);
    process.steps.kill();
    world.mayBeDropped();
  },
};

const created: CrashScenario = {
  kind: "namespace created",
  prepare: async (world) => {
    world.mayBeDeleted = true;
  },
  act: async (world, process) => {
    if ((await world.config())?.phase !== "READY") await process.namespaces.create(NAME, {});
  },
  isDone: async (world) => (await world.config())?.phase === "READY",
  served: false,
};

const deleted: CrashScenario = {
  kind: "namespace deleted",
  async prepare(world) {
    world.mayBeDeleted = true;
    await withServed(world);
  },
  act: async (world, process) => {
    if ((await world.config()) !== undefined) await process.namespaces.delete(NAME);
  },
  isDone: async (world) => (await world.config()) === undefined && deletedId(world) !== undefined,
  async judge(world) {
    const { length } = world.store.sliceNames();
    if (length !== 3) world.fail(`${length} tables of a namespace that can be restored`);
  },
  served: false,
  deleted: true,
};

const undeleted: CrashScenario = {
  kind: "namespace restored",
  async prepare(world) {
    await deleted.prepare(world);
    const process = world.start();
    await world.pass(process.namespaces.delete(NAME));
    process.steps.kill();
    await world.clock.advance(30_000);
  },
  act: async (world, process) => {
    const { phase } = (await world.config()) ?? {};
    if (phase !== "READY") await process.namespaces.undelete({ name: NAME }, "");
  },
  isDone: async (world) => (await world.config())?.phase === "READY",
  served: true,
};

/** With all its events, before its grace is over. */
const purged: CrashScenario = {
  kind: "deleted namespace purged",
  async prepare(world) {
    await undeleted.prepare(world);
  },
  act: async (world, process) => {
    const id = deletedId(world);
    if (id !== undefined) await process.namespaces.delete({ id });
  },
  isDone: async (world) => deletedId(world) === undefined && world.store.sliceNames().length === 0,
  served: false,
};

function deletedId(world: CrashWorld): string | undefined {
  return world.catalog.peek("deleted")[0]?.key;
}

const BLOCKED = ["bot-1", "bot-2", "bot-3"];

const blocked: CrashScenario = {
  kind: "ids blocked and unblocked",
  prepare: (world) => withWide(world),
  async act(_world, process) {
    const ids = BLOCKED.map((seriesId) => ({ seriesId, reason: "", expiresAt: undefined }));
    await process.namespaces.blockIds(NAME, ids);
    await process.namespaces.unblockIds(NAME, BLOCKED.slice(0, 2));
  },
  async isDone(world) {
    const { id = "", blockedChanging = [] } = (await world.config()) ?? {};
    const stored = world.catalog.peek(`blocked/${id}`).map(({ key }) => key);
    return blockedChanging.length === 0 && stored.join() === "bot-3";
  },
  served: false,
};

const DAY = 24 * HOUR;
const MINUTES = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 60, eventBuckets: 1 };
const SPARSE = { ids: 5_000, bytesPerDay: 100_000, spread: 0.5, eventBytes: 500 };

/** Minutes of it are far below the target: the tuner takes wider buckets, by itself. */
const tuned: CrashScenario = {
  kind: "tuning",
  async prepare(world) {
    const process = world.start();
    const patch: NamespacePatch = { timePartition: MINUTES, tuning: { mode: "AUTO" } };
    await world.pass(process.namespaces.create(NAME, patch));
    const { id = "" } = (await world.config()) ?? {};
    const firstDay = Math.floor(NOON / DAY) * DAY + DAY;
    for (const start of [firstDay, firstDay + DAY]) {
      const histogram = simulatedHistogram(SPARSE, { start, timePartition: MINUTES });
      await writeHistogram(world.catalog, id, histogram);
    }
    await noteReadAt(world.catalog, id, NOON + TUNED_LATER);
    process.steps.kill();
  },
  act: (_world, process) => process.tune(),
  async isDone(world) {
    const { id = "", config, changing } = (await world.config()) ?? {};
    const [tuning] = await readTunings(world.catalog, id);
    const width = config?.timePartition.secondsPerTimeBucket ?? 60;
    return tuning?.state === "APPLIED" && width > 60 && changing === null;
  },
  async judge(world) {
    const { id = "" } = (await world.config()) ?? {};
    const tunings = await readTunings(world.catalog, id);
    if (tunings.length !== 1) world.fail(`there are ${tunings.length} tunings`);
  },
  served: false,
};

export const CRASH_SCENARIOS: readonly CrashScenario[] = [
  closed,
  byRows,
  byHash,
  open,
  segment,
  rolledBack,
  retried,
  recopied,
  reopened,
  tuned,
  sliceOpened,
  sliceSealed,
  sliceDropped,
  splitDropped,
  created,
  deleted,
  undeleted,
  purged,
  blocked,
];
