import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import {
  ControlFixture,
  DAY,
  never,
  NOON,
  VIEW_MAX_AGE_MS,
} from "../../tests/support/control-fixture.ts";
import { gatedCatalog } from "../../tests/support/stopped-process.ts";
import type { Gate } from "../../tests/support/stopped-process.ts";
import { settle } from "../../tests/support/virtual-clock.ts";
import { addIdStep, ID_STRATEGIES_MAX, readIdSteps } from "./id-strategies.ts";
import { readReadyNamespace, updateNamespace } from "./namespace-records.ts";
import type { NamespaceViews } from "../namespaces/namespace-views.ts";

const STEP = { from: NOON + DAY, factor: 2 };

async function fixtureWithPlays(): Promise<ControlFixture> {
  const fixture = new ControlFixture({ shared: true });
  await fixture.start().namespaces.create("plays", {});
  return fixture;
}

test("steps are appended: later ones, by whole factors that grow", async () => {
  const fixture = await fixtureWithPlays();
  const { catalog } = fixture;
  const { id } = await readReadyNamespace(catalog, "plays");
  equal(await readIdSteps(catalog, id, "a"), undefined);
  ok(await addIdStep(catalog, "plays", "a", STEP));
  for (const step of [
    STEP,
    { from: STEP.from, factor: 4 },
    { from: STEP.from - 1, factor: 4 },
    { from: STEP.from + 1, factor: 3 },
    { from: STEP.from + 1, factor: 2 },
    { from: STEP.from + 0.5, factor: 4 },
    { from: STEP.from + 1, factor: 2_048 },
  ]) {
    equal(await addIdStep(catalog, "plays", "a", step), false, JSON.stringify(step));
  }
  const next = { from: STEP.from + 1, factor: 6 };
  ok(await addIdStep(catalog, "plays", "a", next));
  deepEqual(await readIdSteps(catalog, id, "a"), [STEP, next]);
  equal(await addIdStep(catalog, "plays", "b", STEP, () => false), false, "too late");
  equal(await readIdSteps(catalog, id, "b"), undefined);
  const { idStrategyChanging, idStrategyCount } = await readReadyNamespace(catalog, "plays");
  deepEqual([idStrategyChanging, idStrategyCount], [[], 1]);
});

test("whether a step is in time is decided by the namespace as it is when the step is added", async () => {
  const { catalog } = await fixtureWithPlays();
  const inTime = async (limit: number): Promise<boolean> =>
    addIdStep(catalog, "plays", "a", STEP, ({ config }) => config.futureLimitMicros < limit);
  const { config, id } = await readReadyNamespace(catalog, "plays");
  const limit = config.futureLimitMicros + 1;
  let raised = false;
  catalog.before = async (call, space) => {
    if (call !== "read" || !space.startsWith("id-strategies/") || raised) return;
    raised = true;
    await updateNamespace(catalog, "plays", (current) => ({
      ...current,
      config: { ...current.config, futureLimitMicros: limit },
    }));
  };
  equal(await inTime(limit), false);
  equal(await readIdSteps(catalog, id, "a"), undefined);
  const { idStrategyChanging, idStrategyCount } = await readReadyNamespace(catalog, "plays");
  deepEqual([idStrategyChanging, idStrategyCount], [[], 0]);
  ok(await inTime(limit + 1));
});

test("C15: a step whose storing failed is not stored later, when no view would learn of it", async () => {
  const { catalog } = await fixtureWithPlays();
  const { id } = await readReadyNamespace(catalog, "plays");
  const write = catalog.write.bind(catalog);
  let late: (() => Promise<number | undefined>) | undefined;
  catalog.write = (...call) => {
    if (late !== undefined || !call[0].startsWith("id-strategies/")) return write(...call);
    late = () => write(...call);
    return Promise.reject(new Error("no answer"));
  };
  await rejects(addIdStep(catalog, "plays", "a", STEP), /no answer/);
  deepEqual((await readReadyNamespace(catalog, "plays")).idStrategyChanging, []);
  equal(await late?.(), undefined);
  deepEqual(await readIdSteps(catalog, id, "a"), []);
});

test("views hold the strategies, and re-read them only after a change", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  equal((await views.get("plays")).idStrategies.size, 0);
  await addIdStep(fixture.catalog, "plays", "a", STEP);
  await views.refresh("plays");
  const { idStrategies } = await views.get("plays");
  deepEqual(idStrategies, new Map([["a", [STEP]]]));
  let lists = 0;
  fixture.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("id-strategies/")) lists++;
  };
  await views.refresh("plays");
  equal((await views.get("plays")).idStrategies, idStrategies);
  equal(lists, 0);
});

test("the number of ids of a namespace that have a strategy is bounded", async () => {
  const { catalog } = await fixtureWithPlays();
  await updateNamespace(catalog, "plays", (current) => ({
    ...current,
    idStrategyCount: ID_STRATEGIES_MAX - 1,
  }));
  ok(await addIdStep(catalog, "plays", "a", STEP));
  await rejects(addIdStep(catalog, "plays", "b", STEP), { code: "CONFLICT" });
  // An id that has a strategy already takes no more room.
  ok(await addIdStep(catalog, "plays", "a", { from: STEP.from + 1, factor: STEP.factor * 2 }));
});

/** Stops after some calls; `goOn` lets some more through, and then it is dead. */
class StopTwice {
  #left: number;
  #waiting: (() => void)[] = [];

  constructor(passes: number) {
    this.#left = passes;
  }

  get stopped(): boolean {
    return this.#waiting.length > 0;
  }

  readonly gate: Gate = () =>
    this.#left-- > 0 ? undefined : new Promise<void>((resolve) => this.#waiting.push(resolve));

  goOn(passes: number): void {
    this.#left = passes - this.#waiting.length;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/**
 * Running servers must hold what a server that starts now reads, or they place events differently.
 */
async function checkSame(
  fixture: ControlFixture,
  views: NamespaceViews,
  where: string,
): Promise<void> {
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  deepEqual(
    (await views.get("plays")).idStrategies,
    (await fixture.start().views.get("plays")).idStrategies,
    where,
  );
}

test("a process stopped anywhere while adding, for good or for a while: all servers know the step, or none", async () => {
  for (let passes = 0; ; passes++) {
    let stopped = false;
    for (const more of [0, 1, 2, 3, 4, 1_000]) {
      const fixture = await fixtureWithPlays();
      const { views } = fixture.start();
      // Right before the step is stored, so that only the next read can find it.
      fixture.catalog.before = async (call, space) => {
        if (call === "write" && space.startsWith("id-strategies/")) await views.refresh("plays");
      };
      const stop = new StopTwice(passes);
      void addIdStep(gatedCatalog(fixture.catalog, stop.gate), "plays", "a", STEP);
      await settle();
      stopped = stop.stopped;
      const where = `stopped after ${passes}, ${more} more`;
      await checkSame(fixture, views, where);
      fixture.catalog.before = () => undefined;
      // The reconciler considers it dead.
      const { reconciler } = fixture.start();
      for (let i = 0; i < 15; i++) {
        await reconciler.runOnce(never);
        await fixture.clock.advance(5_000);
      }
      deepEqual((await readReadyNamespace(fixture.catalog, "plays")).idStrategyChanging, []);
      await checkSame(fixture, views, where);
      stop.goOn(more);
      await settle();
      await checkSame(fixture, views, where);
    }
    if (!stopped) return;
  }
});
