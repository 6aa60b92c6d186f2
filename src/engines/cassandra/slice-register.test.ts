import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { SliceRegister } from "./slice-register.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };
const NEXT = { ...SLICE, slice: "data_20260329" };
const MAX_AGE_MS = 10_000;

function fixture() {
  const catalog = new MemoryCatalog();
  const clock = new VirtualClock(0);
  const open = () => new SliceRegister(catalog, clock, MAX_AGE_MS);
  return { catalog, clock, one: open(), other: open() };
}

test("a dropped slice is never live again", async () => {
  const { one, other } = fixture();
  equal(await one.read(SLICE), undefined);
  equal((await one.move(SLICE, "LIVE")).state, "LIVE");
  equal((await other.move(SLICE, "DROPPED")).state, "DROPPED");
  equal((await one.move(SLICE, "LIVE")).state, "DROPPED");
});

test("C20: a larger event is allowed before it is written, and readers learn of it within their age", async () => {
  const { clock, one, other } = fixture();
  await one.move(SLICE, "LIVE");
  equal((await other.recent(SLICE))?.eventBytesMax, 256);
  await one.allowEvents(SLICE, 5_000);
  equal((await other.read(SLICE))?.eventBytesMax, 8_192);
  await clock.advance(MAX_AGE_MS);
  equal((await other.recent(SLICE))?.eventBytesMax, 8_192);
  // It only rises, whatever each process knows.
  await other.allowEvents(SLICE, 10);
  equal((await one.read(SLICE))?.eventBytesMax, 8_192);
  await rejects(one.allowEvents(NEXT, 10), { code: "STORAGE_UNAVAILABLE" });
});

test("a new slice expects events as large as those of the others", async () => {
  const { one } = fixture();
  await one.move(SLICE, "LIVE");
  await one.allowEvents(SLICE, 100_000);
  equal((await one.move(NEXT, "LIVE")).eventBytesMax, 131_072);
});

test("the oldest dropped slices are forgotten, by the time in their names", async () => {
  const { catalog, clock } = fixture();
  const register = new SliceRegister(catalog, clock, MAX_AGE_MS, 3);
  for (const day of [26, 25, 27]) {
    for (const slice of [`data_202603${day}`, `wide_data_202603${day}_0`]) {
      await register.move({ ...SLICE, slice }, "DROPPED");
    }
  }
  await register.move(SLICE, "LIVE");
  deepEqual(
    (await catalog.list("tables/plays-1", "", 10)).map(({ key }) => key),
    ["data_20260327", "data_20260328", "wide_data_20260326_0", "wide_data_20260327_0"],
  );
});

test("a removed namespace leaves nothing behind", async () => {
  const { catalog, one, other } = fixture();
  await one.move(SLICE, "LIVE");
  await one.move(NEXT, "DROPPED");
  await other.forgetNamespace(SLICE.namespaceId);
  deepEqual(await catalog.list("tables/plays-1", "", 10), []);
  equal(await other.read(SLICE), undefined);
});
