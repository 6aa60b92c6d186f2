import { equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { addSegment, rollBack } from "../../../tests/property/split-building.ts";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { MemoryStore } from "../../../tests/support/memory-store.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import { splitTableOf } from "../../model/split.ts";
import { SplitDoubt } from "../../parts/part-reader.ts";
import { RouteCache } from "./route-cache.ts";

const never = new AbortController().signal;

test("many who ask at once are one question, and who comes later is none", async () => {
  const world = await World.open();
  await world.split(1);
  const asked = world.countReads();
  const all = await Promise.all(Array.from({ length: 20 }, () => world.cache.get(placeOf(1))));
  ok(all.every(({ route }) => route?.segments.length === 1));
  await world.cache.get(placeOf(1));
  equal(asked.routes, 1);
});

test("that there is no route is remembered too", async () => {
  const world = await World.open();
  const asked = world.countReads();
  equal((await world.cache.get(placeOf(1))).route, undefined);
  equal((await world.cache.get(placeOf(1))).route, undefined);
  equal(asked.routes, 1);
});

test("C3: what is L old is not given out, counted from when it was asked for", async () => {
  const world = await World.open();
  await world.split(1);
  world.catalog.before = async () => {
    await world.clock.sleep(4_000);
  };
  const slow = world.cache.get(placeOf(1));
  await world.clock.advance(4_000);
  await slow;
  world.catalog.before = () => undefined;
  await world.clock.advance(5_999);
  ok(world.cache.current(placeOf(1)) !== undefined);
  await world.clock.advance(1);
  equal(world.cache.current(placeOf(1)), undefined);
});

test("those in use are asked for again ahead of time, the others grow old", async () => {
  const world = await World.open();
  await world.cache.get(placeOf(1));
  await world.cache.get(placeOf(2));
  await world.clock.advance(6_000);
  world.cache.current(placeOf(1));
  await world.cache.refresh(never);
  await world.clock.advance(6_000);
  ok(world.cache.current(placeOf(1)) !== undefined);
  equal(world.cache.current(placeOf(2)), undefined);
  await world.cache.refresh(never);
  ok(world.cache.bytes > 0);
});

test("after a change that this process has heard of, no older answer is kept", async () => {
  const world = await World.open();
  await world.split(1);
  await world.cache.get(placeOf(1));
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await world.clock.advance(11_000);
  // The answer is on its way when the change is made.
  const read = world.catalog.read.bind(world.catalog);
  world.catalog.read = async (space, key) => {
    const answer = await read(space, key);
    if (space.startsWith("routes/")) await held;
    return answer;
  };
  const early = world.cache.get(placeOf(1));
  await world.clock.advance(0);
  world.catalog.read = read;
  await rollBack(world, placeOf(1));
  world.cache.forget(placeOf(1));
  release();
  await early;
  equal((await world.cache.get(placeOf(1))).route?.segments.length, 0);
});

test("parts are asked for once, and never again", async () => {
  const world = await World.open();
  const segment = await world.split(1);
  const asked = world.countReads();
  const [a, b] = await Promise.all([
    world.cache.parts(placeOf(1), segment),
    world.cache.parts(placeOf(1), segment),
  ]);
  equal(a, b);
  await world.clock.advance(60_000);
  equal(await world.cache.parts(placeOf(1), segment), a);
  equal(asked.parts, 1);
});

test("a part that is listed and has no record is a doubt", async () => {
  const world = await World.open();
  const segment = await world.split(1);
  const more = { ...segment, runs: [{ start: 0, count: 5 }] };
  await rejects(world.cache.parts(placeOf(1), more), SplitDoubt);
});

test("memory is bounded: what was asked for longest ago is forgotten", async () => {
  const world = await World.open(20_000);
  for (let n = 0; n < 200; n++) {
    await world.cache.get(placeOf(n));
    ok(world.cache.bytes <= 20_000);
  }
  const segment = await world.split(1);
  for (let n = 0; n < 200; n++) await world.cache.parts(placeOf(1), segment);
  ok(world.cache.bytes <= 20_000);
  equal(world.cache.current(placeOf(0)), undefined);
});

test("a catalog that fails is the caller's to know, and is asked again by the next", async () => {
  const world = await World.open();
  world.catalog.before = () => {
    throw new Error("down");
  };
  await rejects(world.cache.get(placeOf(1)), /down/);
  world.catalog.before = () => undefined;
  equal((await world.cache.get(placeOf(1))).route, undefined);
});

class World {
  readonly catalog = new MemoryCatalog();
  readonly store = new MemoryStore();
  readonly clock = new VirtualClock(1_790_000_000_000_000);
  readonly cache: RouteCache;

  constructor(bytesMax: number) {
    this.cache = new RouteCache({
      catalog: this.catalog,
      clock: this.clock,
      viewMaxAgeMs: 10_000,
      bytesMax,
      observe: () => undefined,
      fetchTook: () => undefined,
      trouble: () => undefined,
    });
  }

  static async open(bytesMax = 1 << 20): Promise<World> {
    const world = new World(bytesMax);
    await world.store.createSlice(placeOf(0));
    await world.store.createSlice(splitTableOf(placeOf(0)));
    return world;
  }

  async split(n: number): Promise<RouteSegment> {
    const shape = { from: 0, to: 10, cuts: [5], hashParts: 0, confirmed: true };
    const record = await addSegment(this, placeOf(n), { ...shape, layout: "PACKED" });
    return { ...(record.segments[0] as (typeof record.segments)[number]), confirmed: true };
  }

  countReads(): { routes: number; parts: number } {
    const asked = { routes: 0, parts: 0 };
    this.catalog.before = (_, space) => {
      if (space.startsWith("routes/")) asked.routes++;
      if (space.startsWith("parts/")) asked.parts++;
    };
    return asked;
  }
}

function placeOf(n: number): PartitionKey {
  const slice = { namespaceId: "plays-1", slice: "data_0" };
  return { ...slice, seriesId: `profile:${n}`, timeBucket: 0, eventBucket: 0 };
}
