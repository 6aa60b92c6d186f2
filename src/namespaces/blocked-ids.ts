/**
 * The ids of a namespace that are neither read nor written: mostly test and spam traffic.
 *
 * Blocks from the configuration file exist beside those of the API, override them, and end only
 * when the file no longer has them. A change is in force in this process at once, and everywhere
 * within `view_max_age`.
 *
 * The ids are many records, their namespace is one. A change is noted in the namespace before the
 * first id is stored, and counted there after the last one, also if it failed in between. So every
 * id that was stored is in force everywhere within `view_max_age`, even if the others failed. The
 * slice reconciler counts the noted changes that a crash leaves.
 */
import { compareBytes, utf8 } from "../lib/bytes.ts";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { Problems } from "../lib/problems.ts";
import {
  BLOCKED_IDS_MAX,
  listBlocked,
  putBlocked,
  readBlocked,
  removeBlocked,
} from "../records/blocked-records.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import {
  endedBlockedChanges,
  readReadyNamespace,
  requireReady,
  updateNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { BlockedId } from "../model/namespace.ts";
import type { Catalog } from "../ports/catalog.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "./control-pages.ts";
import type { ControlPage } from "./control-pages.ts";

export interface BlockRequest {
  readonly seriesId: string;
  readonly reason: string;
  /** Microseconds; undefined means never. */
  readonly expiresAt: number | undefined;
}

export interface BlockedIdsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly configuredBlocks: ReadonlyMap<string, readonly BlockedId[]>;
  /** Called after each change, so that views of this process see it. */
  readonly changed: (name: string) => Promise<void>;
  /** Of one namespace. Default BLOCKED_IDS_MAX. */
  readonly idsMax?: number;
}

const IDS_PER_REQUEST_MAX = 10_000;
/**
 * A larger request becomes several changes in sequence: the reconciler takes a long one for dead.
 */
const IDS_PER_CHANGE_MAX = 500;
/** Each change takes seconds; the reconciler removes those of dead processes after a minute. */
const CHANGES_AT_ONCE_MAX = 100;
const SERIES_ID_BYTES_MAX = 512;
const REASON_BYTES_MAX = 1_024;

export class BlockedIds {
  readonly #options: BlockedIdsOptions;
  readonly #idsMax: number;

  constructor(options: BlockedIdsOptions) {
    this.#options = options;
    this.#idsMax = options.idsMax ?? BLOCKED_IDS_MAX;
  }

  /** Blocks each id, or gives its block a new reason and expiry. */
  async block(name: string, requests: readonly BlockRequest[]): Promise<readonly BlockedId[]> {
    const { catalog, clock } = this.#options;
    const now = clock.nowMicros();
    const problems = new Problems();
    checkBlocks(requests, now, problems);
    problems.throwIfAny("REQUEST_INVALID");
    let record = await readReadyNamespace(catalog, name);
    if (record.blockedCount + requests.length > this.#idsMax) {
      record = await this.#makeRoom(record, requests.length);
    }
    // The last request for an id counts.
    const byId = new Map(requests.map((request) => [request.seriesId, request]));
    const blocks = [...byId.values()].map((request): BlockedId => ({
      ...request,
      blockedAt: now,
      source: "API",
    }));
    await this.#change(record, blocks, async (block, count) => {
      // Counted before the outcome is known: a write that fails may have been stored.
      count(1);
      if (!(await putBlocked(catalog, record.id, block))) count(-1);
    });
    return blocks;
  }

  /** Returns how many of the ids the API had blocked and no longer blocks. */
  async unblock(name: string, seriesIds: readonly string[]): Promise<number> {
    const { catalog } = this.#options;
    const problems = new Problems();
    checkUnblocks(seriesIds, problems);
    problems.throwIfAny("REQUEST_INVALID");
    const record = await readReadyNamespace(catalog, name);
    let removed = 0;
    await this.#change(record, [...new Set(seriesIds)], async (id, count) => {
      if (!(await removeBlocked(catalog, record.id, id))) return;
      count(-1);
      removed++;
    });
    return removed;
  }

  /** In the order of the ids' bytes; without expired ones. */
  async list(
    name: string,
    page: ControlPage,
  ): Promise<{ ids: readonly BlockedId[]; nextPageToken: string }> {
    const { catalog, clock, configuredBlocks } = this.#options;
    const size = pageSizeOf(page);
    const after = pageAfter(page);
    const record = await readReadyNamespace(catalog, name);
    const stored = await listBlocked(catalog, record.id, after, size + 1);
    const configured = (configuredBlocks.get(name) ?? []).filter(
      ({ seriesId }) => after === "" || compareIds(seriesId, after) > 0,
    );
    const byId = new Map([...stored, ...configured].map((block) => [block.seriesId, block]));
    const merged = [...byId.values()].toSorted((a, b) => compareIds(a.seriesId, b.seriesId));
    const given = merged.slice(0, size);
    const last = given.at(-1);
    const now = clock.nowMicros();
    return {
      ids: given.filter(({ expiresAt }) => expiresAt === undefined || now < expiresAt),
      nextPageToken:
        merged.length > size && last !== undefined ? pageTokenAfter(last.seriesId) : "",
    };
  }

  /** Removes expired blocks and counts the rest. Only runs near the limit: it reads all of them. */
  async #makeRoom(record: NamespaceRecord, wanted: number): Promise<NamespaceRecord> {
    const { catalog, clock } = this.#options;
    const now = clock.nowMicros();
    const expired: string[] = [];
    let count = 0;
    for await (const { seriesId, expiresAt } of readBlocked(catalog, record.id)) {
      if (expiresAt !== undefined && expiresAt <= now) expired.push(seriesId);
      else count++;
    }
    await forEachBounded(expired, (id) => removeBlocked(catalog, record.id, id));
    const counted = await updateNamespace(catalog, record.name, (current) =>
      sameReady(current, record, { blockedCount: count }),
    );
    if (count + wanted <= this.#idsMax) return counted;
    throw new ServiceError(
      "REQUEST_INVALID",
      `${count} ids of namespace "${record.name}" are blocked and ${wanted} more would pass the limit of ${this.#idsMax}; unblock some first`,
      { details: { namespace: record.name, blocked: count, limit: this.#idsMax } },
    );
  }

  /** Runs `work` for each item; `work` reports by how much the count of blocked ids changes. */
  async #change<T>(
    record: NamespaceRecord,
    items: readonly T[],
    work: (item: T, count: (difference: number) => void) => Promise<void>,
  ): Promise<void> {
    try {
      for (let first = 0; first < items.length; first += IDS_PER_CHANGE_MAX) {
        let difference = 0;
        const count = (by: number): void => void (difference += by);
        const began = await this.#beginChange(record);
        try {
          const some = items.slice(first, first + IDS_PER_CHANGE_MAX);
          await forEachBounded(some, (item) => work(item, count));
        } finally {
          await this.#endChange(record, began, difference);
        }
      }
    } finally {
      await this.#options.changed(record.name);
    }
  }

  async #beginChange(record: NamespaceRecord): Promise<number> {
    const noted = await updateNamespace(this.#options.catalog, record.name, (current) => {
      const blockedChange = current.blockedChange + 1;
      if (current.blockedChanging.length >= CHANGES_AT_ONCE_MAX) throw tooManyAtOnce(record.name);
      const blockedChanging = [...current.blockedChanging, blockedChange];
      return sameReady(current, record, { blockedChange, blockedChanging });
    });
    return noted.blockedChange;
  }

  /**
   * Also if the reconciler has taken the change for dead: ids stored since then must be counted.
   */
  async #endChange(record: NamespaceRecord, began: number, difference: number): Promise<void> {
    await updateNamespace(this.#options.catalog, record.name, (current) =>
      sameReady(current, record, {
        ...endedBlockedChanges(current, [began]),
        blockedCount: Math.max(0, current.blockedCount + difference),
      }),
    );
  }
}

/** The change, if the namespace is still the same; a deleted one counts as not found. */
function sameReady(
  current: NamespaceRecord,
  record: NamespaceRecord,
  change: Partial<NamespaceRecord>,
): NamespaceRecord {
  requireReady(current.id === record.id ? current : undefined, record.name);
  return { ...current, ...change };
}

function tooManyAtOnce(name: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `the blocked ids of namespace "${name}" are being changed by too many at once; try again soon`,
    { details: { namespace: name, limit: CHANGES_AT_ONCE_MAX }, retryAfterMs: 5_000 },
  );
}

/** Adds the problems of a request to block ids, by the request's fields. */
export function checkBlocks(
  requests: readonly BlockRequest[],
  now: number,
  problems: Problems,
): void {
  checkCount(requests.length, "ids", problems);
  for (const [i, { seriesId, reason, expiresAt }] of requests.entries()) {
    checkSeriesId(seriesId, `ids[${i}].timeSeriesId`, problems);
    const reasonBytes = utf8(reason).length;
    if (reasonBytes > REASON_BYTES_MAX) {
      const field = `ids[${i}].reason`;
      problems.add(`${field} has ${reasonBytes} bytes, the limit is ${REASON_BYTES_MAX}`, field);
    }
    if (expiresAt !== undefined && expiresAt <= now) {
      const field = `ids[${i}].expireTime`;
      problems.add(`${field} is not in the future; leave it out to block for good`, field);
    }
  }
}

/** Adds the problems of a request to unblock ids, by the request's fields. */
export function checkUnblocks(seriesIds: readonly string[], problems: Problems): void {
  checkCount(seriesIds.length, "timeSeriesIds", problems);
  for (const [i, id] of seriesIds.entries()) checkSeriesId(id, `timeSeriesIds[${i}]`, problems);
}

function checkCount(count: number, field: string, problems: Problems): void {
  if (count === 0) problems.add(`${field} is empty; name at least one id`, field);
  if (count > IDS_PER_REQUEST_MAX) {
    problems.add(
      `${field} has ${count} entries, the limit of one request is ${IDS_PER_REQUEST_MAX}; send several`,
    );
  }
}

function checkSeriesId(id: string, field: string, problems: Problems): void {
  const bytes = utf8(id).length;
  if (!id.isWellFormed()) problems.add(`${field} is not valid UTF-8`, field);
  else if (bytes === 0) problems.add(`${field} is missing`, field);
  else if (bytes > SERIES_ID_BYTES_MAX) {
    problems.add(`${field} has ${bytes} bytes, the limit is ${SERIES_ID_BYTES_MAX}`, field);
  }
}

function compareIds(a: string, b: string): number {
  return compareBytes(utf8(a), utf8(b));
}
