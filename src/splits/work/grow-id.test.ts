import assert from "node:assert/strict";
import { test } from "node:test";
import {
  HOUR,
  MIDNIGHT,
  MINUTE,
  SplitScenario,
  TARGET_BYTES,
} from "../../../tests/scenarios/split-scenario.ts";
import { VIEW_MAX_AGE_MS } from "../../../tests/support/control-fixture.ts";
import { settle } from "../../../tests/support/virtual-clock.ts";
import { readNamespace, updateNamespace } from "../../records/namespace-records.ts";
import { ID_CHANGE_FENCED_MS, readIdSteps } from "../../records/id-strategies.ts";
import type { SplitRecord } from "../../model/split.ts";
import { formatTime } from "../../wire/time-text.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const TWELVE = MIDNIGHT + 12 * HOUR;
const WIDE = { events: 200, bytes: 2_000, from: TEN, to: TEN + HOUR };

const rests = ({ state, owner, dueAt }: SplitRecord): boolean =>
  state === "COMPLETED" && owner === null && dueAt === null;

test("C15: a step counts from a bucket that no process can have written to when the last older view ends", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  fixture.startWorker();
  const { history } = await fixture.until(partition, rests);
  const [step] = (await readIdSteps(fixture.catalog, partition.namespaceId, "profile:123")) ?? [];
  const namespace = await readNamespace(fixture.catalog, "plays");
  assert.ok(step !== undefined && namespace !== undefined);
  const { futureLimitMicros } = namespace.config;
  const untouched =
    fixture.clock.nowMicros() + futureLimitMicros + (1_000 + VIEW_MAX_AGE_MS) * 1_000;
  assert.ok(step.from > untouched);
  assert.equal((step.from - MIDNIGHT) % HOUR, 0);
  // The history of the split that caused it says so.
  const told = `from ${formatTime(step.from)} on the id has ${step.factor} event buckets`;
  assert.ok(history.at(-1)?.reason.endsWith(`agrees with the copy; ${told}`));
  await fixture.close();
});

test("C15: a step keeps the future limit of the namespace as it is now, not as it was when the split was begun", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  const { catalog } = fixture;
  let raised = false;
  catalog.before = async (call, space) => {
    if (call !== "write" || !space.startsWith("parts/") || raised) return;
    raised = true;
    await updateNamespace(catalog, "plays", (current) => ({
      ...current,
      config: { ...current.config, futureLimitMicros: 6 * HOUR },
    }));
  };
  await fixture.detect(partition);
  fixture.startWorker();
  await fixture.until(partition, rests);
  const [step] = (await readIdSteps(catalog, partition.namespaceId, "profile:123")) ?? [];
  assert.ok(raised && step !== undefined);
  assert.ok(step.from > fixture.clock.nowMicros() + 6 * HOUR);
  await fixture.close();
});

test("C15: a step that would be stored too late, because the catalog was slow, is not stored", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  // The next bucket begins at one: a step that is decided on now counts from then on.
  await fixture.clock.advance((TWELVE + 50 * (HOUR / 60) - fixture.clock.nowMicros()) / 1_000);
  const { catalog, clock } = fixture;
  let late: number | undefined;
  catalog.before = async (call, space) => {
    if (call !== "read" || !space.startsWith("id-strategies/")) return;
    late ??= clock.nowMicros();
    await clock.sleep(15 * 60_000);
  };
  await fixture.detect(partition);
  fixture.startWorker();
  await fixture.until(partition, rests, 7_200);
  assert.ok(late !== undefined);
  catalog.before = () => undefined;
  const steps = await readIdSteps(catalog, partition.namespaceId, "profile:123");
  assert.equal(steps, undefined);
  await fixture.close();
});

test("C15: a step whose storing hangs until it is nearly fenced counts from a bucket that no process can have written to by then", async () => {
  const fixture = await SplitScenario.open({}, { shared: true });
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  const { catalog, clock } = fixture;
  fixture.startWorker();
  // If it were stored at once, a step from one o'clock on would be in time.
  await clock.advance((TWELVE + 58 * MINUTE - clock.nowMicros()) / 1_000);
  const fencing = Promise.withResolvers<void>();
  const at: number[] = [];
  catalog.before = async (call, space) => {
    if (call !== "write" || !space.startsWith("id-strategies/")) return;
    at.push(clock.nowMicros());
    if (at.length === 1) return fencing.promise;
    // The reconciler, which runs just too late.
    fencing.resolve();
    await settle();
  };
  await fixture.detect(partition);
  await fixture.until(partition, rests, 600);
  const [begun = 0, fenced = Infinity] = at;
  assert.ok(fenced - begun >= MINUTE && fenced - begun <= ID_CHANGE_FENCED_MS * 1_000);
  const [step] = (await readIdSteps(catalog, partition.namespaceId, "profile:123")) ?? [];
  const namespace = await readNamespace(catalog, "plays");
  assert.ok(step !== undefined && namespace !== undefined);
  const { futureLimitMicros } = namespace.config;
  assert.ok(step.from > fenced + futureLimitMicros + (1_000 + VIEW_MAX_AGE_MS) * 1_000);
  await fixture.close();
});

test("a burst at the start of a bucket gives an id no more event buckets; half of the bucket decides", async () => {
  const fixture = await SplitScenario.open();
  const { catalog, clock } = fixture;
  // Enough for two parts in the first minute, and then nothing.
  await fixture.write({ ...WIDE, events: 60, from: TWELVE, to: TWELVE + MINUTE });
  await clock.advance((TWELVE + 20 * MINUTE - clock.nowMicros()) / 1_000);
  const partition = await fixture.partitionAt(TWELVE);
  fixture.startWorker();
  await fixture.detect(partition);
  const covered = ({ segments }: SplitRecord): number =>
    segments.reduce((to, each) => (each.confirmedAt === null ? to : each.to), TWELVE) - TWELVE;
  const early = await fixture.until(partition, (record) => covered(record) > 0);
  assert.ok(covered(early) < HOUR / 2);
  assert.equal(await readIdSteps(catalog, partition.namespaceId, "profile:123"), undefined);
  // As much again when most of the bucket is over.
  await fixture.write({
    ...WIDE,
    events: 60,
    from: TWELVE + 35 * MINUTE,
    to: TWELVE + HOUR,
    id: "f",
  });
  await fixture.until(partition, (record) => covered(record) >= HOUR / 2, 7_200);
  const steps = await readIdSteps(catalog, partition.namespaceId, "profile:123");
  assert.ok((steps?.[0]?.factor ?? Infinity) <= 8, JSON.stringify(steps));
  await fixture.close();
});

test("an id that is wide by its events alone gets more event buckets too", async () => {
  const fixture = await SplitScenario.open({ widePartition: { eventsMax: 1_000 } });
  // Far less than a part in bytes: only an operator would request a split.
  await fixture.write({ ...WIDE, events: 1_100, bytes: 1 });
  const partition = await fixture.partitionAt(TEN);
  fixture.startWorker();
  await fixture.splits.request(await fixture.placeAt(TEN), { by: "ada", reason: "" });
  const { segments } = await fixture.until(partition, rests);
  assert.ok((segments[0]?.bytes ?? Infinity) < TARGET_BYTES);
  const steps = await readIdSteps(fixture.catalog, partition.namespaceId, "profile:123");
  assert.deepEqual(
    steps?.map(({ factor }) => factor),
    [2],
  );
  await fixture.close();
});
