/**
 * Starts a comparison that an operator asks for: it writes the record, and the next process that
 * has time takes it up.
 *
 * A comparison of the same target that has not ended is not started twice, and one that failed a
 * short while ago is continued. The number that run, and of ended ones that are kept, is bounded.
 */
import type { Clock } from "../../lib/clock.ts";
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { Random } from "../../lib/random.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { readSplit } from "../../records/split-records.ts";
import type { SplitLocation } from "../use-cases.ts";
import { listVerifies, noteRunning, removeVerify, writeVerify } from "./verify-records.ts";
import type { VerifyRecord, VerifyTarget } from "./verify-records.ts";

export interface StartVerifyDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
}

/** Comparisons of one namespace that run at a time, and that are kept when they have ended. */
const RUNNING_MAX = 10;
export const ENDED_KEPT = 50;
const RESUMED_MICROS_MAX = 3_600_000_000;

/** Without location and time slice: everything that is split. Returns the comparison's id. */
export async function startVerify(
  deps: StartVerifyDeps,
  namespace: string,
  what: { readonly location?: SplitLocation; readonly timeSlice?: string },
): Promise<string> {
  const { catalog } = deps;
  const { id } = await readReadyNamespace(catalog, namespace);
  const target = targetOf(what);
  await checkTarget(catalog, id, target);
  const message = "the comparison is being changed by others; try again";
  const record = await compareAndSet(
    { message },
    async () => (await startedOrNew(deps, namespace, id, target)) ?? LOST,
  );
  await noteRunning(catalog, record);
  return record.verifyId;
}

function targetOf({
  location,
  timeSlice,
}: {
  readonly location?: SplitLocation;
  readonly timeSlice?: string;
}): VerifyTarget {
  if (location === undefined) return { slice: timeSlice ?? null, partition: null };
  const { seriesId, timeBucket, eventBucket } = location;
  return { slice: location.timeSlice, partition: { seriesId, timeBucket, eventBucket } };
}

async function checkTarget(
  catalog: Catalog,
  namespaceId: string,
  { slice, partition }: VerifyTarget,
): Promise<void> {
  if (slice === null) return;
  const found = await readSlice(catalog, namespaceId, slice);
  if (found === undefined || found.state === "DROPPED") {
    throw new ServiceError(
      "TIME_SLICE_NOT_FOUND",
      `there is no time slice ${JSON.stringify(slice.slice(0, 60))}; list those there are`,
      { details: { timeSlice: slice.slice(0, 60) } },
    );
  }
  if (partition === null) return;
  const record = await readSplit(catalog, { namespaceId, slice, ...partition });
  if (record !== undefined) return;
  throw new ServiceError(
    "SPLIT_NOT_FOUND",
    "there is no split of this partition to compare; list those there are",
    { details: { timeSlice: slice, timeSeriesId: partition.seriesId } },
  );
}

/** The one of this target that has not come to its end, or a new one. Undefined if overtaken. */
async function startedOrNew(
  deps: StartVerifyDeps,
  namespace: string,
  namespaceId: string,
  target: VerifyTarget,
): Promise<VerifyRecord | undefined> {
  const { catalog, clock } = deps;
  const all = await listVerifies(catalog, namespaceId);
  const name = JSON.stringify(target);
  const same = all.findLast(
    (record) => JSON.stringify(record.target) === name && isContinued(record, clock.nowMicros()),
  );
  if (same?.state === "RUNNING") return same;
  const running = all.filter(({ state }) => state === "RUNNING").length;
  if (running >= RUNNING_MAX) {
    throw new ServiceError(
      "OVERLOADED",
      `${running} comparisons of namespace "${namespace}" are running; wait for one of them`,
      { details: { namespace, limit: RUNNING_MAX }, retryAfterMs: 10_000 },
    );
  }
  if (same !== undefined) {
    return writeVerify(catalog, { ...same, state: "RUNNING", reason: "", endedAt: 0 });
  }
  await forgetOld(catalog, all);
  return writeVerify(catalog, newRecord(deps, namespace, namespaceId, target));
}

/**
 * A comparison that failed is continued while what it has compared is still what is stored: not for
 * long, and not when it has found something, which an operator may have repaired since.
 */
function isContinued(
  { state, endedAt, differencesFound }: VerifyRecord,
  nowMicros: number,
): boolean {
  if (state !== "FAILED") return state === "RUNNING";
  const recent = nowMicros - endedAt < RESUMED_MICROS_MAX;
  return recent && differencesFound === 0;
}

async function forgetOld(catalog: Catalog, all: readonly VerifyRecord[]): Promise<void> {
  const ended = all.filter(({ state }) => state !== "RUNNING");
  for (const record of ended.slice(0, Math.max(0, ended.length - ENDED_KEPT + 1))) {
    await removeVerify(catalog, record);
  }
}

function newRecord(
  { clock, random }: StartVerifyDeps,
  namespace: string,
  namespaceId: string,
  target: VerifyTarget,
): VerifyRecord {
  const startedAt = clock.nowMicros();
  // By time, so that the oldest come first.
  const time = String(startedAt).padStart(16, "0");
  return {
    verifyId: `${time}-${Buffer.from(random.bytes(4)).toString("hex")}`,
    namespaceId,
    namespace,
    target,
    state: "RUNNING",
    splitsDone: 0,
    splitsTotal: 0,
    splitsSkipped: 0,
    eventsCompared: 0,
    bytesCompared: 0,
    differences: [],
    differencesFound: 0,
    startedAt,
    endedAt: 0,
    reason: "",
    checkpoint: { counted: false, slice: "", cursor: "", begun: {} },
    fence: 0,
    owner: null,
    version: 0,
  };
}
