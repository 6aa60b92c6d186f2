/**
 * Creates a namespace. Its slices are made first: a process that sees the namespace can write to
 * it.
 *
 * A creation that fails removes what it has made. If the process dies, the slice reconciler removes
 * it.
 */
import { ServiceError } from "../lib/errors.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import { Problems } from "../lib/problems.ts";
import { checkConfig, namespaceNameProblem } from "../model/check-config.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { mergeConfig } from "../model/merge-config.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { Namespace } from "../model/namespace.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { ProvisionedPlan } from "../model/partition-plan.ts";
import { planSlices } from "../model/plan-slices.ts";
import { FIRST_READ_MODE } from "../model/read-mode.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import {
  namespaceConflict,
  readNamespace,
  updateNamespace,
  writeNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { makeFirstSlices } from "./change-slices.ts";
import { finishDeletion } from "./finish-deletion.ts";
import { freeName } from "./leave-name.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { OWNER_WAIT_MS } from "./slice-ownership.ts";
import { dropTables } from "./make-tables.ts";
import { floorFor, sliceWindow } from "./slice-window.ts";
import { finishRestoring } from "./undelete-namespace.ts";

export interface CreationContext extends NamespaceContext {
  /** Names this process is creating. */
  readonly creating: Set<string>;
}

export async function createNamespace(
  context: CreationContext,
  name: string,
  patch: NamespaceConfigPatch,
  provisioned?: ProvisionedPlan,
): Promise<Namespace> {
  const { creating, ownership, margins } = context;
  const problems = new Problems();
  const config = checkCreation(name, patch, margins, problems);
  problems.throwIfAny(problems.sound("namespace") ? "CONFIG_INVALID" : "REQUEST_INVALID");
  if (creating.has(name)) throw namespaceExists(name);
  creating.add(name);
  try {
    return await ownership.take(name, async () => {
      await clearName(context, name);
      return createNew(context, name, config, provisioned);
    });
  } finally {
    creating.delete(name);
  }
}

/** The configuration that the namespace would have. Adds the problems of it and of the name. */
export function checkCreation(
  name: string,
  patch: NamespaceConfigPatch,
  margins: TimeMargins,
  problems: Problems,
): NamespaceConfig {
  const { config } = mergeConfig(DEFAULT_NAMESPACE_CONFIG, patch, []);
  const nameProblem = namespaceNameProblem(name);
  if (nameProblem !== undefined) problems.add(nameProblem, "namespace");
  checkConfig(config, margins, problems.within("config"));
  return config;
}

const DOING = {
  CREATING: "created",
  DELETING: "deleted",
  LEAVING: "deleted",
  RESTORING: "restored",
} as const;

/** Makes sure that the name is free, and removes what a crash has left under it. */
async function clearName(context: NamespaceContext, name: string): Promise<void> {
  const { catalog } = context;
  const there = await readNamespace(catalog, name);
  if (there === undefined) return;
  if (there.phase === "READY") throw namespaceExists(name);
  // With a shared catalog another process may be working on it; the reconciler finishes what a dead
  // process left.
  if (catalog.shared) {
    const doing = DOING[there.phase];
    throw new ServiceError("CONFLICT", `namespace "${name}" is being ${doing}; try again soon`, {
      details: { namespace: name },
      retryAfterMs: 1_000,
    });
  }
  if (there.phase === "RESTORING") {
    if ((await finishRestoring(catalog, there)) !== undefined) throw namespaceExists(name);
    return;
  }
  if (there.phase === "LEAVING") {
    await freeName(context, there);
    return;
  }
  const marked = await updateNamespace(catalog, name, (current) =>
    current.id === there.id ? { ...current, phase: "DELETING" } : undefined,
  );
  if (marked.id === there.id) await finishDeletion(context, marked, () => true);
}

async function createNew(
  context: NamespaceContext,
  name: string,
  config: NamespaceConfig,
  provisioned: ProvisionedPlan | undefined,
): Promise<Namespace> {
  const { catalog, ownership, margins, changed } = context;
  const creating = await writeNamespace(catalog, {
    ...newRecord(context, name, config),
    ...(provisioned !== undefined && { provisioned }),
  });
  if (creating === undefined) throw namespaceExists(name);
  const { floor, createdAt } = creating;
  const window = sliceWindow(config, floor, createdAt, margins.clockSkew.micros);
  let planned: readonly TimeSlice[] = [];
  let ready: NamespaceRecord | "busy" | undefined;
  try {
    planned = planSlices([], window, config.timePartition);
    // Only the reconciler competes for ownership, and so tells a slow creation from a dead one.
    ready = await ownership.own(creating.id, { waitMs: OWNER_WAIT_MS }, async (isOwner) => {
      await makeFirstSlices(context, creating, planned, isOwner);
      return writeNamespace(catalog, { ...creating, phase: "READY" });
    });
  } catch (error) {
    await takeBack(context, creating, planned);
    throw error;
  }
  if (ready === undefined || ready === "busy") {
    await takeBack(context, creating, planned);
    throw namespaceConflict(name);
  }
  await changed(name);
  return ready;
}

function newRecord(
  { clock, random, margins, time }: NamespaceContext,
  name: string,
  config: NamespaceConfig,
): NamespaceRecord {
  const now = clock.nowMicros();
  const floor = floorFor(config.acceptLimitMicros, time.nowMicros(), margins.clockSkew.micros);
  return {
    name,
    id: `${name}-${Buffer.from(random.bytes(8)).toString("hex")}`,
    config,
    epoch: 0,
    epochStarts: [],
    floor,
    // No process has a view of this namespace with a lower floor.
    settled: { epoch: 0, floor },
    createdAt: now,
    version: 0,
    phase: "CREATING",
    deletion: null,
    restores: null,
    reopening: null,
    resealing: null,
    slicesChange: 1,
    changing: null,
    blockedChange: 0,
    blockedChanging: [],
    blockedCount: 0,
    readMode: { ...FIRST_READ_MODE, since: now },
    splitsPaused: null,
    everEventual: config.consistency === "EVENTUAL",
    idStrategyChange: 0,
    idStrategyChanging: [],
    idStrategyCount: 0,
  };
}

/** Removes what a failed creation made. If that fails too, the reconciler removes it. */
async function takeBack(
  context: NamespaceContext,
  creating: NamespaceRecord,
  planned: readonly TimeSlice[],
): Promise<void> {
  const { catalog, store } = context;
  const namespaceId = creating.id;
  try {
    await writeNamespace(catalog, { ...creating, phase: "DELETING" });
    const there = await readNamespace(catalog, creating.name);
    // The last write may have been stored although it failed: then the namespace exists, and stays.
    // Otherwise the reconciler may have removed all that was listed, and this process has made some
    // slices since.
    if (there?.id === namespaceId && there.phase === "READY") return;
    await forEachBounded(planned, ({ name }) => dropTables(store, { namespaceId, slice: name }));
    await finishDeletion(context, creating, () => true);
  } catch {
    // The caller gets the first failure, which is the relevant one.
  }
}

function namespaceExists(name: string): ServiceError {
  return new ServiceError(
    "NAMESPACE_EXISTS",
    `there is a namespace "${name}" already; choose another name, or update or delete that one`,
    { details: { namespace: name } },
  );
}
