import { equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { addSegment, rollBack } from "../../../tests/property/split-building.ts";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { MemoryStore } from "../../../tests/support/memory-store.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteSegment } from "../../model/split.ts";
import { splitTableOf } from "../../model/split.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import { RouteCache } from "./route-cache.ts";

const never = new AbortController().signal;

test("many callers at once cost one request, and a later caller none", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  const asked = fixture.countReads();
  const all = await Promise.all(Array.from({ length: 20 }, () => fixture.cache.get(locationOf(1))));
  ok(all.every(({ route }) => route?.segments.length === 1));
  await fixture.cache.get(locationOf(1));
  equal(asked.routes, 1);
});

test("the absence of a route is cached too", async () => {
  const fixture = await Fixture.open();
  const asked = fixture.countReads();
  equal((await fixture.cache.get(locationOf(1))).route, undefined);
  equal((await fixture.cache.get(locationOf(1))).route, undefined);
  equal(asked.routes, 1);
});

test("X1, C3: an entry as old as view_max_age, counted from its request, is not returned", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  fixture.catalog.before = async () => {
    await fixture.clock.sleep(4_000);
  };
  const slow = fixture.cache.get(locationOf(1));
  await fixture.clock.advance(4_000);
  await slow;
  fixture.catalog.before = () => undefined;
  await fixture.clock.advance(5_999);
  ok(fixture.cache.current(locationOf(1)) !== undefined);
  await fixture.clock.advance(1);
  equal(fixture.cache.current(locationOf(1)), undefined);
});

test("entries in use are refreshed ahead of time, the others expire", async () => {
  const fixture = await Fixture.open();
  await fixture.cache.get(locationOf(1));
  await fixture.cache.get(locationOf(2));
  await fixture.clock.advance(6_000);
  fixture.cache.current(locationOf(1));
  await fixture.cache.refresh(never);
  await fixture.clock.advance(6_000);
  ok(fixture.cache.current(locationOf(1)) !== undefined);
  equal(fixture.cache.current(locationOf(2)), undefined);
  await fixture.cache.refresh(never);
  ok(fixture.cache.bytes > 0);
});

test("after a change that this process knows of, no older answer is kept", async () => {
  const fixture = await Fixture.open();
  await fixture.split(1);
  await fixture.cache.get(locationOf(1));
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await fixture.clock.advance(11_000);
  // The answer is in flight when the change is made.
  const read = fixture.catalog.read.bind(fixture.catalog);
  fixture.catalog.read = async (space, key) => {
    const answer = await read(space, key);
    if (space.startsWith("routes/")) await held;
    return answer;
  };
  const early = fixture.cache.get(locationOf(1));
  await fixture.clock.advance(0);
  fixture.catalog.read = read;
  await rollBack(fixture, locationOf(1));
  fixture.cache.forget(locationOf(1));
  release();
  await early;
  equal((await fixture.cache.get(locationOf(1))).route?.segments.length, 0);
});

test("parts are read once, and never again", async () => {
  const fixture = await Fixture.open();
  const segment = await fixture.split(1);
  const asked = fixture.countReads();
  const [a, b] = await Promise.all([
    fixture.cache.parts(locationOf(1), segment),
    fixture.cache.parts(locationOf(1), segment),
  ]);
  equal(a, b);
  await fixture.clock.advance(60_000);
  equal(await fixture.cache.parts(locationOf(1), segment), a);
  equal(asked.parts, 1);
});

test("a listed part without a record is an integrity error", async () => {
  const fixture = await Fixture.open();
  const segment = await fixture.split(1);
  const more = { ...segment, partRanges: [{ start: 0, count: 5 }] };
  await rejects(fixture.cache.parts(locationOf(1), more), IntegrityError);
});

test("memory is bounded: the least recently used entry is evicted", async () => {
  const fixture = await Fixture.open(20_000);
  for (let n = 0; n < 200; n++) {
    await fixture.cache.get(locationOf(n));
    ok(fixture.cache.bytes <= 20_000);
  }
  const segment = await fixture.split(1);
  for (let n = 0; n < 200; n++) await fixture.cache.parts(locationOf(1), segment);
  ok(fixture.cache.bytes <= 20_000);
  equal(fixture.cache.current(locationOf(0)), undefined);
});

test("a route that alone is larger than the memory for routes is not kept", async () => {
  const fixture = await Fixture.open(400);
  await fixture.split(1);
  equal((await fixture.cache.get(locationOf(1))).route?.segments.length, 1);
  ok(fixture.cache.bytes <= 400);
});

test("a failure of the catalog reaches the caller, and the next call tries again", async () => {
  const fixture = await Fixture.open();
  fixture.catalog.before = () => {
    throw new Error("down");
  };
  await rejects(fixture.cache.get(locationOf(1)), /down/);
  fixture.catalog.before = () => undefined;
  equal((await fixture.cache.get(locationOf(1))).route, undefined);
});

class Fixture {
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

  static async open(bytesMax = 1 << 20): Promise<Fixture> {
    const fixture = new Fixture(bytesMax);
    await fixture.store.createSlice(locationOf(0));
    await fixture.store.createSlice(splitTableOf(locationOf(0)));
    return fixture;
  }

  async split(n: number): Promise<RouteSegment> {
    const shape = { from: 0, to: 10, cuts: [5], hashParts: 0, confirmed: true };
    const record = await addSegment(this, locationOf(n), { ...shape, layout: "PACKED" });
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

function locationOf(n: number): PartitionKey {
  const slice = { namespaceId: "plays-1", slice: "data_0" };
  return { ...slice, seriesId: `profile:${n}`, timeBucket: 0, eventBucket: 0 };
}
