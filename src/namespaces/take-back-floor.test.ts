/** A floor that a wrong clock has raised is taken back (rule C25). */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import {
  ControlFixture,
  DAY,
  HOUR,
  VIEW_MAX_AGE_MS,
  never,
} from "../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../tests/support/control-fixture.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import type { SplitRecord } from "../model/split.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { readReadyNamespace, settledFloorOf } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { encodeEvent } from "../wire/event-record.ts";
import { EventWriter } from "../write/write-events.ts";
import { SERIES, SplitScenario } from "../../tests/scenarios/split-scenario.ts";

const NAME = "plays";
const MINUTE = 60 * SECOND_MICROS;
const ACCEPT = 10 * MINUTE;
const SKEW = SECOND_MICROS;
const EVEN_MS = 600_000;

class World extends ControlFixture {
  readonly process: ControlProcess = this.start();
  #written = 0;

  static async open(shared: boolean): Promise<World> {
    const world = new World({ shared });
    await world.process.namespaces.create(NAME, { acceptLimitMicros: ACCEPT });
    await world.live(60_000);
    return world;
  }

  /** Lets time pass, with a run of the reconciler every five seconds. */
  async live(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5_000) {
      await this.clock.advance(5_000);
      await this.process.reconciler.runOnce(never);
    }
  }

  record(): Promise<NamespaceRecord> {
    return readReadyNamespace(this.catalog, NAME);
  }

  write(): Promise<string> {
    return writeNow(this, this.process, `e${this.#written++}`);
  }

  /** The clock is ahead for so long that it is believed, and then set right. */
  async wasAhead(micros: number): Promise<void> {
    this.clock.stepWall(micros);
    await this.live(EVEN_MS + 60_000);
    this.clock.stepWall(-micros);
    await this.live(10_000);
  }
}

/** The answer to a write of an event of now. */
async function writeNow(
  { clock, store }: ControlFixture,
  { views }: ControlProcess,
  id: string,
): Promise<string> {
  const writer = new EventWriter({ clock, store, views, budget: new ByteBudget(1 << 20) });
  const item = { key: utf8("k"), value: utf8("v") };
  const event = encodeEvent(utf8(SERIES), clock.nowMicros(), utf8(id), [item]);
  const { failures } = await writer.write({ namespace: NAME, events: [event], bytes: 99 }, never);
  return failures[0]?.code ?? "taken";
}

test("C25: a floor that rose with a wrong clock is taken back when the right time is confirmed, whatever acceptLimit is", async () => {
  for (const shared of [false, true]) {
    const world = await World.open(shared);
    await world.wasAhead(3 * HOUR);
    const before = await world.record();
    ok(before.floor > world.clock.nowMicros());
    equal(await world.write(), "EVENT_TOO_OLD");
    await world.process.time.confirm();
    await world.process.reconciler.runOnce(never);
    const begun = await world.record();
    deepEqual(
      [begun.epoch, begun.floor],
      [before.epoch + 1, world.clock.nowMicros() - ACCEPT - SKEW],
    );
    equal(settledFloorOf(begun), Math.min(settledFloorOf(before), begun.floor));
    // Other servers may follow splits of the time between for as long as their views last.
    if (shared) {
      await world.live(VIEW_MAX_AGE_MS - 5_000);
      equal(await world.write(), "EVENT_TOO_OLD");
    }
    await world.live(10_000);
    equal(await world.write(), "taken");
    const { epoch, config, reopening } = await world.record();
    deepEqual([epoch, config.acceptLimitMicros, reopening], [begun.epoch, ACCEPT, null]);
    const { events } = world.process;
    equal(events.filter(({ kind }) => kind === "floor taken back").length, 1);
  }
});

test("C25: it is taken back by itself when the corrected clock has run evenly, and not in doubt", async () => {
  const world = await World.open(false);
  await world.wasAhead(3 * HOUR);
  const before = await world.record();
  await world.live(EVEN_MS - 60_000);
  equal((await world.record()).epoch, before.epoch);
  await world.live(120_000);
  equal((await world.record()).epoch, before.epoch + 1);
  equal(await world.write(), "taken");
});

test("C25: a floor that believed time reaches within a minute is left alone", async () => {
  const world = await World.open(false);
  await world.wasAhead(50 * SECOND_MICROS);
  await world.process.time.confirm();
  await world.live(10_000);
  equal((await world.record()).epoch, 0);
});

test("C25: time that was dropped does not come back with the floor", async () => {
  const world = await World.open(false);
  const retention = { closeAfterMicros: 2 * DAY, deleteAfterMicros: 3 * DAY };
  await world.process.namespaces.update(NAME, { retention }, []);
  const before = world.clock.nowMicros();
  world.clock.stepWall(10 * DAY);
  await world.process.time.confirm();
  await world.live(60_000);
  const [dropped] = await world.process.namespaces.listTimeSlices(NAME);
  ok(dropped?.status === "DROPPED" && dropped.end > before);
  world.clock.stepWall(-10 * DAY);
  await world.process.time.confirm();
  await world.live(60_000);
  const { epoch, floor } = await world.record();
  equal(epoch, 1);
  ok(floor >= dropped.end);
});

test("C25: an event of time that was split while a wrong clock had sealed it is in every later read", async () => {
  const fixture = await SplitScenario.open();
  const { clock, control } = fixture;
  const noon = clock.nowMicros() - 10 * SECOND_MICROS;
  await fixture.write({ events: 200, bytes: 2_000, from: noon, to: noon + MINUTE });
  const partition = await fixture.partitionAt(noon);
  fixture.startWorker();
  clock.stepWall(1.5 * HOUR);
  await clock.advance(60_000);
  await fixture.detect(partition);
  await fixture.until(partition, ({ segments }) => (segments[0]?.confirmedAt ?? null) !== null);
  equal((await fixture.compare(partition)).events, 200);
  clock.stepWall(-1.5 * HOUR);
  await clock.advance(60_000);
  equal(await writeNow(fixture, control, "late"), "taken");
  equal((await fixture.compare(partition)).events, 0, "no segment is served");
  const whole = ({ segments }: SplitRecord): boolean =>
    segments.at(-1)?.to === noon + HOUR && segments.at(-1)?.confirmedAt !== null;
  // The time that the wrong clock had sealed is sealed again.
  await clock.advance(90 * 60_000);
  await fixture.until(partition, (record) => record.epoch > 0 && whole(record), 1_200);
  const { same, events } = await fixture.compare(partition);
  deepEqual({ same, events }, { same: true, events: 201 });
  await fixture.close();
});
