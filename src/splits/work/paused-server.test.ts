/** What a server acknowledges after its machine was paused is in every split (rules C1 and C24). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBudget } from "../../lib/byte-budget.ts";
import { utf8 } from "../../lib/bytes.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { NamespaceViews } from "../../namespaces/namespace-views.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { EventWriter } from "../../write/write-events.ts";
import type { WriteResult } from "../../write/write-events.ts";
import { never, VIEW_MAX_AGE_MS } from "../../../tests/support/control-fixture.ts";
import { SimMachine } from "../../../tests/sim/sim-machine.ts";
import { gatedCatalog, gatedStore } from "../../../tests/support/stopped-process.ts";
import {
  HOUR,
  MARGINS,
  MIDNIGHT,
  MINUTE,
  NAME,
  SERIES,
  SplitScenario,
} from "../../../tests/scenarios/split-scenario.ts";

const ELEVEN = MIDNIGHT + 11 * HOUR;
const SECOND = 1_000_000;
const PAUSE_MS = MARGINS.pauseMax.ms - 10_000;

interface World {
  readonly fixture: SplitScenario;
  readonly partition: PartitionKey;
  readonly machine: SimMachine;
  readonly views: NamespaceViews;
  /** Sends one event of that time to the server on the machine. */
  write(time: number): Promise<WriteResult>;
}

/** Now is 12:00; the bucket from 11:00 to 12:00 is wide, and open for two more hours. */
async function openWorld(): Promise<World> {
  const acceptLimitMicros = 2 * HOUR;
  const fixture = await SplitScenario.open({ acceptLimitMicros }, { shared: true });
  await fixture.write({ events: 200, bytes: 2_000, from: ELEVEN, to: ELEVEN + HOUR });
  const partition = await fixture.partitionAt(ELEVEN);
  const machine = new SimMachine(fixture.clock);
  const catalog = gatedCatalog(fixture.catalog, () => machine.gate());
  const store = gatedStore(fixture.store, () => machine.gate());
  const views = new NamespaceViews({ catalog, clock: machine, viewMaxAgeMs: VIEW_MAX_AGE_MS });
  const writer = new EventWriter({ clock: machine, store, views, budget: new ByteBudget(1 << 20) });
  await views.get(NAME);
  return {
    fixture,
    partition,
    machine,
    views,
    write: (time) => {
      const item = { key: utf8("k"), value: utf8("late") };
      const event = encodeEvent(utf8(SERIES), time, utf8("late"), [item]);
      return writer.write({ namespace: NAME, events: [event], bytes: 100 }, never);
    },
  };
}

/** Lets time pass until all of the bucket is split, and compares. */
async function assertNothingMissing({ fixture, partition }: World): Promise<void> {
  const whole = ELEVEN + HOUR;
  await fixture.until(
    partition,
    ({ segments }) => segments.at(-1)?.to === whole && segments.at(-1)?.confirmedAt !== null,
    4 * 3_600,
  );
  const { same, events, to } = await fixture.compare(partition);
  assert.deepEqual({ same, events, to }, { same: true, events: 201, to: whole });
}

test("D32, C24: an event that a server acknowledges after a pause, by a view from before a lower acceptLimit, is in the split", async () => {
  const world = await openWorld();
  const { fixture, partition, machine } = world;
  fixture.startWorker();
  await fixture.detect(partition);
  machine.stand("paused");
  // The floor leaps over all of the bucket.
  const lower = fixture.control.namespaces.update(NAME, { acceptLimitMicros: SECOND }, []);
  await fixture.passWhile(lower);
  await fixture.clock.advance(PAUSE_MS);
  machine.resume();
  const { taken } = await world.write(ELEVEN + 30 * MINUTE);
  assert.equal(taken, 1, "its view does not seem old to it");
  await assertNothingMissing(world);
  await fixture.close();
});

test("C24: so is one that was checked before the pause and stored after it", async () => {
  const world = await openWorld();
  const { fixture, partition, machine } = world;
  await fixture.clock.advance(91 * 60_000);
  fixture.startWorker();
  const now = fixture.clock.nowMicros();
  await world.views.get(NAME);
  let taken: number | undefined;
  // It is only just not too old.
  const writing = world.write(now - 2 * HOUR + SECOND).then((result) => (taken = result.taken));
  machine.stand("paused");
  // During the pause the floor passes it, and a worker learns of the partition.
  await fixture.clock.advance(PAUSE_MS / 2);
  await fixture.detect(partition);
  await fixture.clock.advance(PAUSE_MS / 2);
  assert.equal(taken, undefined);
  machine.resume();
  await fixture.passWhile(writing);
  assert.equal(taken, 1);
  await assertNothingMissing(world);
  await fixture.close();
});
