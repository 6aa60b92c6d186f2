/**
 * Makes slices ahead of need, opens, closes and marks them, and raises the floor and the settled
 * floor (rules C1 and C24), as far as time has made it due.
 */
import { forEachBounded } from "../../lib/for-each-bounded.ts";
import type { Micros } from "../../lib/time-units.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import { settledFloorOf, writeNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { CHANGE_SLICES_MAX } from "../../records/slice-change.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import { changeSlices, finishChange } from "../change-slices.ts";
import type { SlicesMoved } from "../change-slices.ts";
import { changesSlices } from "../due-changes.ts";
import type { DueChanges } from "../due-changes.ts";
import { beginEpoch } from "../reopen.ts";
import { seeMark } from "./drop-marked-slices.ts";
import { inTurn, observeSlices } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

const FLOOR_STEP_MICROS_MAX = 60 * SECOND_MICROS;
/** A settled floor that rises by fewer steps is stored with the next rise of the floor. */
const SETTLED_STEPS = 2;

/** Carries out a decision that is in the record first; the next run then decides. */
export async function changeDueSlices(
  run: ReconcileRun,
  record: NamespaceRecord,
  due: DueChanges,
  believedMicros: Micros,
): Promise<void> {
  const raised = raisedFloors(run, record, due.floor);
  if (record.changing !== null) {
    await writeIfWorth(run, record, raised);
    await inTurn(run, record, () => finishDecision(run, record));
  } else if (changesSlices(due)) {
    await inTurn(run, record, () => decide(run, raised, due, believedMicros));
  } else if (due.takenBackFloor !== undefined) {
    await takeBackFloor(run, record, due.takenBackFloor);
  } else {
    await writeIfWorth(run, record, raised);
  }
}

function raisedFloors(
  { settlingFloors }: ReconcileRun,
  record: NamespaceRecord,
  floor: number,
): NamespaceRecord {
  const settled = { epoch: record.epoch, floor: settlingFloors.observe(record) };
  return { ...record, floor, settled };
}

/** In steps: each raise is a durable write, and there may be thousands of namespaces. */
async function writeIfWorth(
  { catalog, settlingFloors }: ReconcileRun,
  record: NamespaceRecord,
  raised: NamespaceRecord,
): Promise<void> {
  const least = Math.min(record.config.acceptLimitMicros / 10, FLOOR_STEP_MICROS_MAX);
  const step = Math.max(least, SECOND_MICROS);
  const settledBy = settledFloorOf(raised) - settledFloorOf(record);
  if (raised.floor - record.floor < step && settledBy < SETTLED_STEPS * step) return;
  const written = await writeNamespace(catalog, raised);
  if (written !== undefined) settlingFloors.observe(written);
}

/**
 * A wrong clock was believed and has raised the floor: servers refuse the events of now. The next
 * runs take the other steps of rule C3, as after a raise of acceptLimit.
 */
async function takeBackFloor(
  { catalog, observe, changed }: ReconcileRun,
  record: NamespaceRecord,
  floor: number,
): Promise<void> {
  const begun = await writeNamespace(catalog, beginEpoch(record, floor));
  if (begun === undefined) return;
  observe({ kind: "floor taken back", namespace: record.name, from: record.floor, to: floor });
  await changed(record.name);
}

async function finishDecision(run: ReconcileRun, record: NamespaceRecord): Promise<void> {
  const moved = await finishChange(run, record, run.wait);
  if (moved !== "busy") await afterMove(run, record, moved);
}

async function decide(
  run: ReconcileRun,
  record: NamespaceRecord,
  due: DueChanges,
  at: Micros,
): Promise<void> {
  // Bounded like the change itself: the next run decides on the rest.
  const over = due.dropping.slice(0, CHANGE_SLICES_MAX);
  const empty = await emptyOf(run, record, over);
  const change = {
    make: due.make,
    open: namesOf(due.open),
    close: namesOf(due.close),
    drop: namesOf([...due.drop, ...empty]),
    dropping: namesOf(over.filter((slice) => !empty.has(slice))),
    undrop: namesOf(due.undrop),
    at,
  };
  const moved = await changeSlices(run, record, change, run.wait);
  // Another process changed the namespace, or is changing its slices: the next run decides again.
  if (moved === "overtaken" || moved === "busy") return;
  await afterMove(run, record, moved);
}

/** Slices that certainly hold no event need no grace (rule C26). */
async function emptyOf(
  { store }: ReconcileRun,
  { id }: NamespaceRecord,
  slices: readonly SliceRecord[],
): Promise<ReadonlySet<SliceRecord>> {
  const empty = new Set<SliceRecord>();
  await forEachBounded(slices, async (slice) => {
    if (await store.isEmpty({ namespaceId: id, slice: slice.name })) empty.add(slice);
  });
  return empty;
}

async function afterMove(
  run: ReconcileRun,
  record: NamespaceRecord,
  moved: SlicesMoved,
): Promise<void> {
  run.knownSlices.forget(record);
  run.report.made += moved.made.length;
  for (const slice of moved.marked) seeMark(run, record, slice);
  observeSlices(run, record, "made", moved.made);
  observeSlices(run, record, "opened", moved.opened);
  observeSlices(run, record, "closed", moved.closed);
  observeSlices(run, record, "marked as dropping", moved.dropping);
  observeSlices(run, record, "taken back", moved.undropped);
  observeSlices(run, record, "marked as dropped", moved.marked);
  await run.changed(record.name);
}

function namesOf(slices: readonly SliceRecord[]): string[] {
  return slices.map(({ name }) => name);
}
