/**
 * Watches a catalog and a store in memory and records every change of slices that was not decided.
 *
 * A slice may move only while its namespace's record names that move, dropped slices never return,
 * no process decides while a decision is carried out, and a decision ends only when all of it is
 * done.
 */
import { deepEqual, equal } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { NamespaceRecord } from "../../src/records/namespace-records.ts";
import type { SliceRecord } from "../../src/records/slice-records.ts";
import { splitTableOf } from "../../src/model/split.ts";
import type { CatalogRecord } from "../../src/ports/catalog.ts";
import type { ControlFixture } from "./control-fixture.ts";

/** Spaces that are shared by all namespaces. */
const OF_NO_NAMESPACE =
  /^(?:namespaces|leases|service|dropped-slices|split-(?:work|publish)(?:-windows)?)$/;

type Witnessed = Pick<ControlFixture, "catalog" | "store">;

export class SliceWitness {
  readonly #fixture: Witnessed;
  readonly #notes: string[] = [];
  /**
   * By space and name: dropped and forgotten, so a process that lists them again must take that
   * back.
   */
  readonly #forgotten = new Set<string>();

  constructor(fixture: Witnessed) {
    this.#fixture = fixture;
    fixture.catalog.changed = (space, before, after) => {
      if (space === "namespaces") this.#namespaceChanged(before, after);
      if (space.startsWith("slices/")) this.#sliceChanged(space, before, after);
    };
    fixture.store.before = (call, { namespaceId, slice }) => {
      if (call !== "dropSlice" || this.#namespaceOf(namespaceId)?.phase !== "READY") return;
      const record = this.#slicesOf(namespaceId).find(
        ({ name }) => name === slice || splitTableOf({ namespaceId, slice: name }).slice === slice,
      );
      if (record !== undefined && record.state !== "DROPPED") {
        this.#note(`the store drops ${slice}, which is ${record.state}`);
      }
    };
  }

  /** Nothing was recorded, and nothing is left half done. */
  check(where: string): void {
    const { catalog, store } = this.#fixture;
    deepEqual(this.#notes, [], where);
    const inStore = new Set<string>();
    const namespaces = this.#namespaces();
    for (const { id, phase, changing, reopening } of namespaces) {
      deepEqual(
        { phase, changing, reopening },
        { phase: "READY", changing: null, reopening: null },
      );
      const slices = this.#slicesOf(id);
      for (const [i, slice] of slices.entries()) {
        if (i > 0) equal(slice.start, slices[i - 1]?.end, `${where}: no gap and no overlap`);
        if (slice.storeDropped) continue;
        inStore.add(`${id}/${slice.name}`);
        const wide = splitTableOf({ namespaceId: id, slice: slice.name }).slice;
        if (slice.splitTable === "MADE") inStore.add(`${id}/${wide}`);
      }
    }
    deepEqual(store.sliceNames(), [...inStore].toSorted(), where);
    const ids = new Set(namespaces.map(({ id }) => id));
    const strays = catalog.dump().filter((record) => {
      const [space = "", id = ""] = record.split("/");
      return !OF_NO_NAMESPACE.test(space) && !ids.has(id);
    });
    deepEqual(strays, [], where);
  }

  #namespaceChanged(before: CatalogRecord | undefined, after: CatalogRecord | undefined): void {
    if (before === undefined || after === undefined) return;
    const [old, now] = [namespaceFrom(before), namespaceFrom(after)];
    if (now.phase !== "READY" || old.changing === null) return;
    if (now.changing === null) {
      if (now.slicesChange !== old.slicesChange + 1) this.#note("a change ended uncounted");
      this.#changeEnded(old);
    } else if (!isDeepStrictEqual(old.changing, now.changing)) {
      this.#note("decided while another decision is carried out");
    }
  }

  #changeEnded({ id, changing }: NamespaceRecord): void {
    const slices = new Map(this.#slicesOf(id).map((slice) => [slice.name, slice.state]));
    for (const { name } of changing?.make ?? []) {
      const state = slices.get(name);
      if (state !== "OPEN" && state !== "DROPPED") this.#note(`${name} was not made`);
    }
    for (const name of changing?.drop ?? []) {
      if ((slices.get(name) ?? "DROPPED") !== "DROPPED") this.#note(`${name} was not marked`);
    }
  }

  #sliceChanged(
    space: string,
    before: CatalogRecord | undefined,
    after: CatalogRecord | undefined,
  ): void {
    const namespace = this.#namespaceOf(space.slice("slices/".length));
    const name = before?.key ?? after?.key ?? "";
    const old = before === undefined ? undefined : sliceFrom(before);
    const now = after === undefined ? undefined : sliceFrom(after);
    if (namespace?.phase !== "READY") return;
    if (now === undefined) {
      if (old?.storeDropped !== true && !this.#forgotten.has(`${space}/${name}`)) {
        this.#note(`${name} removed, which is ${old?.state}`);
      }
      this.#forgotten.add(`${space}/${name}`);
      return;
    }
    if (old === undefined && this.#forgotten.has(`${space}/${name}`)) return;
    if (old?.state === now.state) return;
    const { changing } = namespace;
    const made = changing?.make.find((slice) => slice.name === name);
    if (old === undefined) {
      if (made?.start !== now.start || made.end !== now.end) this.#note(`${name} listed`);
      return;
    }
    const brought = made !== undefined || changing?.open.includes(name) === true;
    const decided = {
      OPEN: brought,
      CLOSED: changing?.close.includes(name) === true || changing?.undrop.includes(name) === true,
      DROPPING: changing?.dropping.includes(name) === true,
      // Also slices that the store will not make again.
      DROPPED: changing?.drop.includes(name) === true || brought,
    };
    if (!decided[now.state]) this.#note(`${name} went from ${old.state} to ${now.state}`);
    if (old.state === "DROPPED") this.#note(`${name} came back`);
  }

  #note(what: string): void {
    this.#notes.push(what);
  }

  #namespaces(): NamespaceRecord[] {
    return this.#fixture.catalog.peek("namespaces").map(namespaceFrom);
  }

  #namespaceOf(id: string): NamespaceRecord | undefined {
    return this.#namespaces().find((namespace) => namespace.id === id);
  }

  #slicesOf(id: string): SliceRecord[] {
    const slices = this.#fixture.catalog.peek(`slices/${id}`).map(sliceFrom);
    return slices.toSorted((a, b) => a.start - b.start);
  }
}

// The code under test wrote them a moment ago, so their types are right.
function namespaceFrom({ key, value, version }: CatalogRecord): NamespaceRecord {
  return { ...(JSON.parse(value) as NamespaceRecord), name: key, version };
}

function sliceFrom({ key, value, version }: CatalogRecord): SliceRecord {
  return { ...(JSON.parse(value) as SliceRecord), name: key, version };
}
