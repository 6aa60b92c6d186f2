/** The slice owner stores the settled floor, below which workers copy (rules C1 and C24). */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, HOUR, never } from "../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../tests/support/control-fixture.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { floorSettledAt, floorSettleTime } from "../model/time-margins.ts";
import {
  readReadyNamespace,
  settledFloorOf,
  updateNamespace,
} from "../records/namespace-records.ts";

const NAME = "plays";
const LOW = { acceptLimitMicros: SECOND_MICROS };

class World extends ControlFixture {
  readonly first: ControlProcess = this.start();

  static async open(shared: boolean): Promise<World> {
    const world = new World({ shared });
    await world.first.namespaces.create(NAME, { acceptLimitMicros: HOUR });
    return world;
  }

  get settleMs(): number {
    return floorSettleTime(this.margins, this.catalog).ms;
  }

  /** Lets time pass, with a run of this process's reconciler every second. */
  async live({ reconciler }: ControlProcess, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await this.clock.advance(1_000);
      await reconciler.runOnce(never);
    }
  }

  async floor(): Promise<number> {
    return (await readReadyNamespace(this.catalog, NAME)).floor;
  }

  async settled(): Promise<number> {
    return settledFloorOf(await readReadyNamespace(this.catalog, NAME));
  }

  /** Lowers acceptLimit, and returns the resulting floor. */
  async leap({ namespaces, reconciler }: ControlProcess): Promise<number> {
    await namespaces.update(NAME, LOW, []);
    await reconciler.runOnce(never);
    return this.floor();
  }
}

test("C24: a floor that leaps is settled after view_max_age and write_max, and pause_max where the catalog is shared", async () => {
  for (const [shared, seconds] of [
    [false, 20],
    [true, 320],
  ] as const) {
    const world = await World.open(shared);
    equal(world.settleMs, seconds * 1_000);
    const floor = await world.leap(world.first);
    await world.live(world.first, (seconds - 1) * 1_000);
    ok((await world.settled()) < floor, "not a second earlier");
    await world.live(world.first, 1_000);
    equal(await world.settled(), floor);
    ok(floor < (await world.floor()), "it is not the newest floor");
  }
});

test("C1: the floor that a namespace is created with is settled", async () => {
  const world = await World.open(true);
  equal(await world.settled(), await world.floor());
});

test("C1: steps of the wall clock do not settle a floor", async () => {
  const world = await World.open(false);
  const floor = await world.leap(world.first);
  await world.live(world.first, 5_000);
  world.clock.stepWall(30 * SECOND_MICROS);
  await world.live(world.first, 10_000);
  ok((await world.settled()) < floor);
  await world.live(world.first, 5_000);
  ok((await world.settled()) >= floor);
});

test("C1: a process that takes over keeps the settled floor, and waits itself for the floors above it", async () => {
  const world = await World.open(true);
  const floor = await world.leap(world.first);
  const before = await world.settled();
  await world.live(world.first, world.settleMs - 1_000);
  equal(await world.settled(), before);
  const second = world.start();
  await second.reconciler.runOnce(never);
  await world.live(second, world.settleMs - 1_000);
  equal(await world.settled(), before);
  await world.live(second, 1_000);
  ok((await world.settled()) >= floor);
  // The floor that the second has stored counts at once for a third.
  const settled = await world.settled();
  await world.live(world.start(), 2_000);
  ok((await world.settled()) >= settled);
});

test("C1: a new epoch keeps of the settled floor what is below its own floor, and nothing that was settling", async () => {
  const world = await World.open(false);
  const { namespaces, reconciler } = world.first;
  const leapt = await world.leap(world.first);
  await world.live(world.first, world.settleMs);
  equal(await world.settled(), leapt);
  await world.live(world.first, 10_000);
  await namespaces.update(NAME, { acceptLimitMicros: 2 * HOUR }, []);
  const lowest = await world.floor();
  deepEqual([lowest < leapt, await world.settled()], [true, lowest]);
  // In this epoch the new floor has not been in force for any time.
  await namespaces.update(NAME, LOW, []);
  await reconciler.runOnce(never);
  await world.live(world.first, world.settleMs - 1_000);
  ok((await world.settled()) < leapt);
  await world.live(world.first, 1_000);
  ok((await world.settled()) > leapt);
});

test("C1: after an epoch that a server of an older version began nothing is settled until the owner has waited", async () => {
  const world = await World.open(false);
  // It keeps the fields that it does not know.
  await updateNamespace(world.catalog, NAME, (record) => ({ ...record, epoch: record.epoch + 1 }));
  equal(await world.settled(), 0);
  const floor = await world.floor();
  await world.first.reconciler.runOnce(never);
  await world.live(world.first, world.settleMs);
  ok((await world.settled()) >= floor);
});

test("the settled floor costs no writes of its own while the floor rises in steps", async () => {
  const world = await World.open(true);
  await world.live(world.first, 2 * world.settleMs);
  let writes = 0;
  world.catalog.before = (call, space) =>
    void (call === "write" && space === "namespaces" && writes++);
  const [floor, settled] = [await world.floor(), await world.settled()];
  await world.live(world.first, 600_000);
  equal(writes, 10);
  equal((await world.floor()) - floor, 600 * SECOND_MICROS);
  equal((await world.settled()) - settled, 600 * SECOND_MICROS);
});

test("a lower acceptLimit makes splits due when the floor is settled, however the owner's looks fall", async () => {
  for (const shared of [false, true]) {
    const world = await World.open(shared);
    const stop = new AbortController();
    const running = world.first.reconciler.run(stop.signal);
    for (let nth = 0; nth < 5; nth++) {
      await world.passWhile(world.first.namespaces.update(NAME, { acceptLimitMicros: HOUR }, []));
      await world.clock.advance(60_000 + 1_100 * nth);
      await world.passWhile(world.first.namespaces.update(NAME, LOW, []));
      const floor = await world.floor();
      const now = world.clock.nowMicros();
      await world.clock.advance((floorSettledAt(now, world.margins, world.catalog) - now) / 1_000);
      ok((await world.settled()) >= floor, `shared ${shared}, ${nth}`);
    }
    stop.abort();
    await running;
  }
});
