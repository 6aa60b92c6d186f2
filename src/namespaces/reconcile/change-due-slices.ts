/**
 * Makes slices ahead of need, opens, closes and marks them, and raises the floor (rule C1), as far
 * as time has made it due.
 */
import type { Micros } from "../../lib/time-units.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import { writeNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import { changeSlices, finishChange } from "../change-slices.ts";
import type { SlicesMoved } from "../change-slices.ts";
import { changesSlices } from "../due-changes.ts";
import type { DueChanges } from "../due-changes.ts";
import { seeMark } from "./drop-marked-slices.ts";
import { inTurn, observeSlices } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

const FLOOR_STEP_MICROS_MAX = 60 * SECOND_MICROS;

/** Carries out a decision that is in the record first; the next run then decides. */
export async function changeDueSlices(
  run: ReconcileRun,
  record: NamespaceRecord,
  due: DueChanges,
  believedMicros: Micros,
): Promise<void> {
  if (record.changing !== null) {
    await raiseFloor(run, record, due.floor);
    await inTurn(run, record, () => finishDecision(run, record));
  } else if (changesSlices(due)) {
    await inTurn(run, record, () => decide(run, record, due, believedMicros));
  } else {
    await raiseFloor(run, record, due.floor);
  }
}

/** In steps: each raise is a durable write, and there may be thousands of namespaces. */
async function raiseFloor(
  { catalog }: ReconcileRun,
  record: NamespaceRecord,
  floor: number,
): Promise<void> {
  const step = Math.min(record.config.acceptLimitMicros / 10, FLOOR_STEP_MICROS_MAX);
  if (floor - record.floor < Math.max(step, SECOND_MICROS)) return;
  await writeNamespace(catalog, { ...record, floor });
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
  const change = {
    make: due.make,
    open: namesOf(due.open),
    close: namesOf(due.close),
    drop: namesOf(due.drop),
    dropping: namesOf(due.dropping),
    undrop: namesOf(due.undrop),
    at,
  };
  const raised = { ...record, floor: due.floor };
  const moved = await changeSlices(run, raised, change, run.wait);
  // Another process changed the namespace, or is changing its slices: the next run decides again.
  if (moved === "overtaken" || moved === "busy") return;
  await afterMove(run, record, moved);
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
