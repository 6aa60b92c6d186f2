/** Finds, lists and describes deleted namespaces that can be restored, for operators. */
import { ServiceError } from "../lib/errors.ts";
import type { Micros } from "../lib/time-units.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { Catalog } from "../ports/catalog.ts";
import { deletedPages, listDeleted, readDeleted } from "../records/deleted-records.ts";
import type { DeletedRecord } from "../records/deleted-records.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "./control-pages.ts";
import type { ControlPage } from "./control-pages.ts";
import { dropGraceOf } from "./due-changes.ts";

/** By internal id, or by name if exactly one deleted namespace has it. */
export type DeletedRef = { readonly id: string } | { readonly name: string };

/** A deleted namespace as the API shows it. */
export interface DeletedNamespace {
  readonly name: string;
  readonly id: string;
  readonly config: NamespaceConfig;
  readonly deletedAt: Micros;
  readonly by: string;
  readonly reason: string;
  /** "purged": its events are removed, or are being removed. */
  readonly state: "deleted" | "purged";
  /** Until when it can be restored. Undefined: purged, or the clock is in doubt. */
  readonly restorableUntil: Micros | undefined;
  /** When it was deleted, approximately; undefined if the store could not tell. */
  readonly size: { readonly bytes: number; readonly events: number } | undefined;
}

export interface DeletedPage {
  readonly namespaces: readonly DeletedNamespace[];
  readonly nextPageToken: string;
}

interface Grace {
  readonly margins: Pick<TimeMargins, "dropGrace">;
}

const SHOWN_IDS_MAX = 10;
const ID_CHARACTERS_MAX = 64;

/** Those that can be restored and those being purged, in the order of their ids. */
export async function listDeletedNamespaces(
  { catalog, margins }: Grace & { readonly catalog: Catalog },
  page: ControlPage,
): Promise<DeletedPage> {
  const size = pageSizeOf(page);
  const namespaces: DeletedNamespace[] = [];
  for (let after = pageAfter(page); ;) {
    const found = await listDeleted(catalog, after, size + 1);
    for (const { id, record } of found) {
      if (record instanceof ServiceError) throw record;
      if (record.phase !== "RESTORED") {
        if (namespaces.length === size) return { namespaces, nextPageToken: pageTokenAfter(after) };
        namespaces.push(describeDeleted({ margins }, record));
      }
      after = id;
    }
    if (found.length <= size) return { namespaces, nextPageToken: "" };
  }
}

export function describeDeleted(
  { margins }: Grace,
  { id, phase, namespace, deletion, graceFrom, size }: DeletedRecord,
  state: DeletedNamespace["state"] = phase === "PURGING" ? "purged" : "deleted",
): DeletedNamespace {
  const { at, by, reason } = deletion;
  const until = graceFrom === null ? undefined : graceFrom + dropGraceOf(namespace, margins);
  return {
    name: namespace.name,
    id,
    config: namespace.config,
    deletedAt: at,
    by,
    reason,
    state,
    restorableUntil: state === "purged" ? undefined : until,
    size: size ?? undefined,
  };
}

/** NAMESPACE_NOT_FOUND if there is none; REQUEST_INVALID if several have the name. */
export async function findDeleted(catalog: Catalog, ref: DeletedRef): Promise<DeletedRecord> {
  if ("id" in ref) {
    const found = await readDeleted(catalog, ref.id.slice(0, ID_CHARACTERS_MAX));
    if (found === undefined) throw notDeleted(ref.id);
    return found;
  }
  const found = await deletedOf(catalog, ref.name);
  const [only, ...others] = found;
  if (only === undefined) throw notDeleted(ref.name);
  if (others.length > 0) throw severalDeleted(ref.name, found);
  return only;
}

/** The answer to a purge by name if only deleted namespaces had the name; undefined if none had. */
export async function onlyDeleted(
  catalog: Catalog,
  name: string,
): Promise<ServiceError | undefined> {
  const ids = shownIds(await deletedOf(catalog, name));
  if (ids.length === 0) return undefined;
  return new ServiceError(
    "NAMESPACE_NOT_FOUND",
    `there is no namespace "${name}"; deleted namespaces had this name: ${ids.join(", ")}; ` +
      `purge one by its id: DeleteNamespace ${ids[0]} with purge`,
    { details: { namespace: name, ids: ids.join(",") } },
  );
}

async function deletedOf(catalog: Catalog, name: string): Promise<readonly DeletedRecord[]> {
  const found: DeletedRecord[] = [];
  for await (const page of deletedPages(catalog)) {
    for (const { record } of page) {
      // A record that cannot be read may have the name: its id still finds it.
      if (record instanceof ServiceError || record.namespace.name !== name) continue;
      if (record.phase === "DELETED") found.push(record);
    }
  }
  return found;
}

function shownIds(found: readonly DeletedRecord[]): readonly string[] {
  return found.slice(0, SHOWN_IDS_MAX).map(({ id }) => id);
}

function notDeleted(nameOrId: string): ServiceError {
  const shown = nameOrId.slice(0, ID_CHARACTERS_MAX);
  return new ServiceError(
    "NAMESPACE_NOT_FOUND",
    `there is no deleted namespace "${shown}" that can be restored; ListDeletedNamespaces shows those that can`,
    { details: { deleted: shown } },
  );
}

function severalDeleted(name: string, found: readonly DeletedRecord[]): ServiceError {
  const ids = shownIds(found);
  return new ServiceError(
    "REQUEST_INVALID",
    `${found.length} deleted namespaces had the name "${name}"; give the id of one of them: ${ids.join(", ")}`,
    { details: { namespace: name, ids: ids.join(",") } },
  );
}
