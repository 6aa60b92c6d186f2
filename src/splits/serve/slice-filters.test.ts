import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { addSegment, rollBack } from "../../../tests/property/split-building.ts";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { MemoryStore } from "../../../tests/support/memory-store.ts";
import { settle, VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { noteChange } from "../../records/split-changes.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { splitTableOf } from "../../model/split.ts";
import { SliceFilters } from "./slice-filters.ts";
import type { SliceFiltersOptions } from "./slice-filters.ts";

test("a slice is loaded when it is first asked for, and says so until then", async () => {
  const world = await World.open();
  await world.split(1);
  equal(world.filters.check(placeOf(1)), "NOT_LOADED");
  await world.quiet();
  equal(world.filters.check(placeOf(1)), "HIT");
  equal(world.filters.check(placeOf(2)), "MISS");
  equal(world.filters.check({ ...placeOf(1), timeBucket: 1 }), "MISS");
  equal(world.filters.check({ ...placeOf(1), eventBucket: 1 }), "MISS");
});

test("of a slice without splits nothing is held and nothing is hashed", async () => {
  const world = await World.open();
  await world.loaded();
  equal(world.filters.check(placeOf(1)), "NONE");
  deepEqual([...world.filters.sizes()], []);
});

test("a split that completes is known after the next look at the changes, and told once", async () => {
  const world = await World.open();
  await world.loaded();
  await world.split(1);
  equal(world.filters.check(placeOf(1)), "NONE");
  await world.filters.refresh();
  equal(world.filters.check(placeOf(1)), "HIT");
  equal(world.changes.length, 1);
  await world.filters.refresh();
  equal(world.changes.length, 1);
});

test("a change by a process whose clock is behind is seen", async () => {
  const world = await World.open();
  await world.loaded();
  await world.clock.advance(30_000);
  await world.filters.refresh();
  const behind = new VirtualClock(world.clock.nowMicros() - 1_000_000);
  await world.split(1, behind);
  await world.filters.refresh();
  equal(world.filters.check(placeOf(1)), "HIT");
});

test("S25: what completes while a filter is being filled is not lost", async () => {
  const world = await World.open();
  // Another slice is there already, so that the changes are followed meanwhile.
  world.filters.check({ ...placeOf(1), slice: "data_1" });
  await world.quiet();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  // The last shard's answer is waited for: the others have been listed by then.
  world.catalog.before = async (call, space) => {
    if (call === "list" && space.endsWith("/15")) await held;
  };
  world.filters.check(placeOf(1));
  await world.quiet();
  world.catalog.before = () => undefined;
  for (let n = 0; n < 40; n++) await world.split(n);
  await world.filters.refresh();
  release();
  await world.quiet();
  await world.filters.refresh();
  for (let n = 0; n < 40; n++) equal(world.filters.check(placeOf(n)), "HIT");
});

test("more changes than are followed count as seen only when the filter was filled anew", async () => {
  const world = await World.open({ changesMax: 1_000 });
  await world.loaded();
  await world.noteElsewhere(1_001);
  await world.clock.advance(1);
  await world.split(1);
  // So late that they would not be looked at again once they counted as seen.
  await world.clock.advance(60_000);
  world.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("routes/")) throw new Error("down");
  };
  await world.filters.refresh();
  await world.quiet();
  equal(world.troubles.length, 1);
  equal(world.filters.check(placeOf(1)), "NONE");
  world.catalog.before = () => undefined;
  await world.clock.advance(2_000);
  await world.filters.refresh();
  await world.quiet();
  equal(world.filters.check(placeOf(1)), "HIT");
});

test("what is followed while a filter is filled anew is not lost when the filling ends first", async () => {
  const world = await World.open();
  await world.split(0);
  await world.loaded();
  await world.clock.advance(600_000);
  const fill = Promise.withResolvers<undefined>();
  const follow = Promise.withResolvers<undefined>();
  let pages = 0;
  // The routes have been listed but for the last shard; the changes, but for their second page.
  world.catalog.before = async (call, space) => {
    if (call === "list" && space.startsWith("routes/") && space.endsWith("/15")) await fill.promise;
    if (call === "list" && space.startsWith("split-changes/") && ++pages === 3) {
      await follow.promise;
    }
  };
  await world.filters.refresh();
  await world.quiet();
  equal(pages, 1);
  for (let n = 1; n <= 40; n++) await world.split(n);
  await world.clock.advance(60_000);
  await world.noteElsewhere(1_000);
  // It is in use, so it is not forgotten.
  world.filters.check(placeOf(0));
  const following = world.filters.refresh();
  await world.quiet();
  equal(pages, 3);
  fill.resolve(undefined);
  await world.quiet();
  follow.resolve(undefined);
  await following;
  await world.filters.refresh();
  for (let n = 1; n <= 40; n++) equal(world.filters.check(placeOf(n)), "HIT");
});

test("it is filled anew from time to time, and lets go of what is split no more", async () => {
  const world = await World.open();
  await world.split(1);
  await world.split(2);
  await world.loaded();
  await rollBack(world, placeOf(1));
  await world.filters.refresh();
  equal(world.filters.check(placeOf(1)), "HIT");
  await world.clock.advance(600_000);
  await world.filters.refresh();
  await world.quiet();
  equal(world.filters.check(placeOf(1)), "MISS");
  equal(world.filters.check(placeOf(2)), "HIT");
});

test("one that grows beyond what it was made for is made anew", async () => {
  const world = await World.open();
  await world.split(0);
  await world.loaded();
  const [before] = [...world.filters.sizes()];
  for (let n = 0; n < 1_000; n++) world.filters.add(placeOf(n));
  for (let n = 1; n < 1_000; n++) await world.split(n);
  await world.filters.refresh();
  await world.quiet();
  const [after] = [...world.filters.sizes()];
  ok((after?.bytes ?? 0) > (before?.bytes ?? 0));
  for (let n = 0; n < 1_000; n++) equal(world.filters.check(placeOf(n)), "HIT");
  let mistaken = 0;
  for (let n = 0; n < 5_000; n++)
    if (world.filters.check(placeOf(10_000 + n)) === "HIT") mistaken++;
  ok(mistaken <= 50, `${mistaken} of 5,000`);
});

test("a slice that nobody reads any more is forgotten; of too many the first", async () => {
  const world = await World.open({ slicesMax: 2 });
  await world.split(1);
  await world.loaded();
  await world.clock.advance(600_000);
  await world.filters.refresh();
  await world.quiet();
  await world.clock.advance(600_000);
  await world.filters.refresh();
  deepEqual([...world.filters.sizes()], []);
  equal(world.filters.check(placeOf(1)), "NOT_LOADED");
  await world.quiet();
  for (const slice of ["data_1", "data_2"]) world.filters.check({ ...placeOf(1), slice });
  await world.quiet();
  equal(world.filters.check(placeOf(1)), "NOT_LOADED");
});

test("a catalog that fails is told of, and the filter is filled by a later read", async () => {
  const world = await World.open();
  await world.split(1);
  world.catalog.before = () => {
    throw new Error("down");
  };
  equal(world.filters.check(placeOf(1)), "NOT_LOADED");
  await world.quiet();
  equal(world.troubles.length, 1);
  // Reads that come at once do not ask again and again.
  world.filters.check(placeOf(1));
  await world.quiet();
  equal(world.troubles.length, 1);
  world.catalog.before = () => undefined;
  await world.clock.advance(1_000);
  equal(world.filters.check(placeOf(1)), "NOT_LOADED");
  await world.quiet();
  equal(world.filters.check(placeOf(1)), "HIT");
});

class World {
  readonly catalog = new MemoryCatalog();
  readonly store = new MemoryStore();
  readonly clock = new VirtualClock(1_790_000_000_000_000);
  readonly changes: PartitionKey[] = [];
  readonly troubles: string[] = [];
  readonly filters: SliceFilters;

  constructor(options: Partial<SliceFiltersOptions>) {
    this.filters = new SliceFilters({
      catalog: this.catalog,
      clock: this.clock,
      viewMaxAgeMs: 10_000,
      clockSkewMs: 1_000,
      onChange: (partition) => this.changes.push(partition),
      trouble: (what) => this.troubles.push(what),
      ...options,
    });
  }

  static async open(options: Partial<SliceFiltersOptions> = {}): Promise<World> {
    const world = new World(options);
    await world.store.createSlice(placeOf(0));
    await world.store.createSlice(splitTableOf(placeOf(0)));
    return world;
  }

  async split(n: number, clock: VirtualClock = this.clock): Promise<void> {
    const { catalog, store } = this;
    await addSegment({ catalog, store, clock }, placeOf(n), {
      from: 0,
      to: 10,
      cuts: [],
      hashParts: 0,
      layout: "PACKED",
      confirmed: true,
    });
  }

  /** Changes of a slice that nobody reads. */
  async noteElsewhere(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const partition = { ...placeOf(n), slice: "data_9" };
      await noteChange(this.catalog, this.clock.nowMicros(), partition);
    }
  }

  async loaded(): Promise<void> {
    this.filters.check(placeOf(0));
    await this.quiet();
  }

  async quiet(): Promise<void> {
    for (let n = 0; n < 5; n++) await settle();
  }
}

function placeOf(n: number): PartitionKey {
  const slice = { namespaceId: "plays-1", slice: "data_0" };
  return { ...slice, seriesId: `profile:${n}`, timeBucket: 0, eventBucket: 0 };
}
