import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { gatedStore, OneByOne } from "../../tests/support/stopped-process.ts";
import { splitTableOf } from "../model/split.ts";
import type { EventStore } from "../ports/event-store.ts";
import { readSlice, writeSlice } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { dropTables, makeTables } from "./make-tables.ts";
import { makeSplitTable } from "./make-split-table.ts";
import type { SplitTable } from "./make-split-table.ts";
import { SliceOwnership } from "./slice-ownership.ts";

const never = new AbortController().signal;

test("a slice has no split table until the first split needs it, and then one", async () => {
  const world = await World.start();
  equal((await world.record()).splitTable, "NONE");
  deepEqual(world.wideTables(), []);
  equal(await world.makeTable(), "made");
  equal((await world.record()).splitTable, "MADE");
  deepEqual(world.wideTables(), [world.table.slice]);
  const calls: string[] = [];
  world.fixture.store.before = (call) => void calls.push(call);
  equal(await world.makeTable(), "made");
  deepEqual(calls, []);
});

for (const shared of [false, true]) {
  test(`a crash at any point leaves a table that the next attempt completes (shared: ${shared})`, async () => {
    for (let operation = 0; ; operation++) {
      const world = await World.start(shared);
      world.fixture.crashAt(operation);
      let crashed = false;
      await world.fixture.passWhile(world.makeTable()).catch(() => undefined);
      await world.last?.catch(() => (crashed = true));
      world.fixture.recover();
      if (!crashed) {
        ok(operation > 2);
        return;
      }
      const again = world.makeTable();
      await world.fixture.passWhile(again);
      equal(await again, "made");
      deepEqual(world.wideTables(), [world.table.slice]);
    }
  });
}

test("a dropped slice gets no split table, also if none was ever made", async () => {
  const world = await World.start();
  await world.write({ state: "DROPPED" });
  equal(await world.makeTable(), "gone");
  await dropTables(world.fixture.store, { namespaceId: world.id, slice: world.slice });
  await rejects(world.fixture.store.createSlice(world.table), { code: "CONFLICT" });
  deepEqual(world.wideTables(), []);
});

test("a slice that is about to be dropped gets none for now", async () => {
  const world = await World.start();
  await world.write({ state: "DROPPING" });
  await rejects(world.makeTable(), { code: "CONFLICT" });
  deepEqual(world.wideTables(), []);
});

test("a table that is made while its slice is dropped and forgotten does not stay", async () => {
  const world = await World.start();
  const steps = new OneByOne();
  const store = gatedStore(world.fixture.store, steps.gate);
  const made = world.makeTable(store);
  while (steps.waiting === 0) await world.fixture.clock.advance(0);
  // The process stands still right before it makes the table.
  await world.write({ state: "DROPPED" });
  let ended = false;
  void made.finally(() => (ended = true));
  while (!ended) {
    if (steps.waiting > 0) steps.letThrough(0);
    await world.fixture.clock.advance(0);
  }
  equal(await made, "gone");
  deepEqual(world.wideTables(), []);
});

test("a namespace that was deleted meanwhile stays deleted", async () => {
  const world = await World.start();
  const steps = new OneByOne();
  const made = world.makeTable(gatedStore(world.fixture.store, steps.gate));
  while (steps.waiting === 0) await world.fixture.clock.advance(0);
  const other = world.fixture.start().namespaces;
  await other.delete("plays");
  let ended = false;
  void made.finally(() => (ended = true));
  while (!ended) {
    if (steps.waiting > 0) steps.letThrough(0);
    await world.fixture.clock.advance(0);
  }
  equal(await made, "gone");
  deepEqual(world.fixture.store.sliceNames(), []);
});

test("a slice of an older version has its split table, and gets it if it was not made yet", async () => {
  const world = await World.start();
  const [before] = world.fixture.catalog.peek(`slices/${world.id}`);
  const { splitTable: _, ...old } = JSON.parse(before?.value ?? "{}") as SliceRecord;
  const { key = "", version = 0 } = before ?? {};
  await world.fixture.catalog.write(`slices/${world.id}`, key, JSON.stringify(old), version);
  equal(await world.makeTable(), "made");
  await makeTables(world.fixture.store, world.id, await world.record());
  deepEqual(world.wideTables(), [world.table.slice]);
});

class World {
  readonly fixture: ControlFixture;
  readonly id: string;
  readonly slice: string;
  last: Promise<SplitTable> | undefined;

  private constructor(fixture: ControlFixture, id: string, slice: string) {
    this.fixture = fixture;
    this.id = id;
    this.slice = slice;
  }

  static async start(shared = false): Promise<World> {
    const fixture = new ControlFixture({ shared });
    const { namespaces } = fixture.start();
    const { id } = await namespaces.create("plays", {});
    const [first] = await namespaces.listTimeSlices("plays");
    return new World(fixture, id, first?.name ?? "");
  }

  get table() {
    return splitTableOf({ namespaceId: this.id, slice: this.slice });
  }

  /** As a process of its own. */
  makeTable(store: EventStore = this.fixture.store): Promise<SplitTable> {
    const { catalog, clock } = this.fixture;
    const changing = {
      catalog,
      store,
      ownership: new SliceOwnership({ catalog, clock }),
    };
    this.last = makeSplitTable(changing, { id: this.id, name: "plays" }, this.slice, never);
    return this.last;
  }

  async record(): Promise<SliceRecord> {
    const record = await readSlice(this.fixture.catalog, this.id, this.slice);
    ok(record !== undefined);
    return record;
  }

  async write(change: Partial<SliceRecord>): Promise<void> {
    await writeSlice(this.fixture.catalog, this.id, { ...(await this.record()), ...change });
  }

  wideTables(): string[] {
    const names = this.fixture.store.sliceNames().map((name) => name.split("/").at(-1) ?? "");
    return names.filter((name) => name.startsWith("wide_"));
  }
}
