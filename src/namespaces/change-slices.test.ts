import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  ControlFixture,
  DAY,
  HOUR,
  VIEW_MAX_AGE_MS,
  never,
} from "../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../tests/support/control-fixture.ts";
import { SliceWitness } from "../../tests/support/slice-witness.ts";
import { OneByOne, StopAfter } from "../../tests/support/stopped-process.ts";
import { settle } from "../../tests/support/virtual-clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import { readNamespace, writeNamespace } from "../records/namespace-records.ts";
import { boundedChange, CHANGE_SLICES_MAX } from "../records/slice-change.ts";
import { readSlices } from "../records/slice-records.ts";

const DAY_MS = 86_400_000;
const DAILY: NamespaceConfigPatch = {
  retention: { closeAfterMicros: 4 * DAY, deleteAfterMicros: 5 * DAY },
};
const NARROWER: NamespaceConfigPatch = {
  timePartition: { secondsPerTimeSlice: 21_600, secondsPerTimeBucket: 3_600 },
};
const LATER: NamespaceConfigPatch = { acceptLimitMicros: 3 * DAY };
const LONGER: NamespaceConfigPatch = {
  retention: { closeAfterMicros: 20 * DAY, deleteAfterMicros: 30 * DAY },
};

type Act = (process: ControlProcess, fixture: ControlFixture) => Promise<unknown>;

/** Some days old, so that the next run makes slices, closes some and marks some as dropped. */
async function fixtureInUse(): Promise<ControlFixture> {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces, reconciler } = fixture.start({ evenMs: 0 });
  await namespaces.create("plays", DAILY);
  for (let day = 0; day < 5; day++) {
    await fixture.clock.advance(DAY_MS);
    await reconciler.runOnce(never);
  }
  await fixture.clock.advance(DAY_MS);
  return fixture;
}

async function keep(
  { reconciler }: ControlProcess,
  fixture: ControlFixture,
  ms: number,
  step: number,
) {
  for (let passed = 0; passed < ms; passed += step) {
    await reconciler.runOnce(never);
    await fixture.clock.advance(step);
  }
}

const ACTS: Readonly<Record<string, Act>> = {
  "a run of the reconciler": ({ reconciler }) => reconciler.runOnce(never),
  "a change of width": ({ namespaces }) => namespaces.update("plays", NARROWER, []),
  "a re-opening": ({ namespaces }) =>
    namespaces.update("plays", { ...LONGER, acceptLimitMicros: 10 * DAY }, []),
  "a longer retention": ({ namespaces }) => namespaces.update("plays", LONGER, []),
  "a creation": ({ namespaces }) => namespaces.create("shows", { acceptLimitMicros: 2 * DAY }),
  "a deletion": ({ namespaces }) => namespaces.delete("plays"),
};

const MEANWHILE: Readonly<Record<string, Act>> = {
  "the retention is prolonged": ({ namespaces }) => namespaces.update("plays", LONGER, []),
  "the slices become wider": ({ namespaces }) => {
    const timePartition = { secondsPerTimeSlice: 172_800, secondsPerTimeBucket: 3_600 };
    return namespaces.update("plays", { timePartition }, []);
  },
  "nine days are kept, and dropped slices forgotten": (process, fixture) =>
    keep(process, fixture, 9 * DAY_MS, DAY_MS),
  "the namespace is deleted and made again": async (process, fixture) => {
    await process.namespaces.delete("plays");
    await keep(process, fixture, 120_000, 10_000);
    await process.namespaces.create("plays", NARROWER);
  },
};

for (const [doing, act] of Object.entries(ACTS)) {
  for (const [what, meanwhile] of Object.entries(MEANWHILE)) {
    test(`${doing} that stops anywhere, while ${what}, and resumes late changes nothing that was not decided`, async () => {
      for (let passes = 0; ; passes++) {
        ok(passes < 300, "the act ends");
        const fixture = await fixtureInUse();
        const witness = new SliceWitness(fixture);
        const stop = new StopAfter(passes);
        const late = fixture.start({ evenMs: 0, gate: stop.gate, droppedKept: 1 });
        const acting = act(late, fixture).catch(asRefusal);
        // It stops, or it ends normally.
        for (let i = 0; i < VIEW_MAX_AGE_MS / 1_000 && !stop.stopped; i++) {
          await fixture.clock.advance(1_000);
        }
        const other = fixture.start({ evenMs: 0, droppedKept: 1 });
        await fixture.passWhile(meanwhile(other, fixture).catch(asRefusal));
        stop.resume();
        await fixture.passWhile(acting);
        await acting;
        await keep(fixture.start({ evenMs: 0, droppedKept: 1 }), fixture, 150_000, 10_000);
        witness.check(`stopped after ${passes} calls and answers`);
        if (!stop.stopped) return;
      }
    });
  }
}

/** A refusal is an answer; anything else is a bug. */
function asRefusal(error: unknown): string {
  const refusals = ["CONFLICT", "NAMESPACE_EXISTS", "NAMESPACE_NOT_FOUND"];
  if (error instanceof ServiceError && refusals.includes(error.code)) return error.code;
  throw error;
}

test("a slice that a longer retention keeps is not dropped by a process that decided earlier", async () => {
  for (let passes = 0; ; passes++) {
    const fixture = await fixtureInUse();
    const stop = new StopAfter(passes);
    const late = fixture.start({ evenMs: 0, gate: stop.gate });
    const running = late.reconciler.runOnce(never);
    await fixture.clock.advance(0);
    const other = fixture.start({ evenMs: 0 });
    const updating = other.namespaces.update("plays", LONGER, []);
    await fixture.passWhile(updating);
    await updating;
    const dropped = async (): Promise<string[]> =>
      (await other.namespaces.listTimeSlices("plays"))
        .filter(({ status }) => status === "DROPPED")
        .map(({ name }) => name);
    const before = await dropped();
    stop.resume();
    await running;
    await keep(fixture.start({ evenMs: 0 }), fixture, 60_000, 5_000);
    deepEqual(await dropped(), before, `stopped after ${passes} calls and answers`);
    if (!stop.stopped) return;
  }
});

test("processes that change widths at once, in any order of their calls, never make slices that overlap", async () => {
  const widths = fc.constantFrom(3_600, 7_200, 21_600, 86_400, 172_800);
  // A failing run prints its seed.
  await fc.assert(
    fc.asyncProperty(
      fc.array(widths, { minLength: 2, maxLength: 3 }),
      fc.array(fc.nat({ max: 9_999 }), { minLength: 50, maxLength: 200 }),
      async (wanted, choices) => {
        const fixture = await fixtureInUse();
        const witness = new SliceWitness(fixture);
        const calls = new OneByOne();
        const works = wanted.map((secondsPerTimeSlice) => {
          const timePartition = { secondsPerTimeSlice, secondsPerTimeBucket: 3_600 };
          const { namespaces } = fixture.start({ evenMs: 0, gate: calls.gate });
          return namespaces.update("plays", { timePartition, ...LATER }, []).catch(asRefusal);
        });
        works.push(
          fixture
            .start({ gate: calls.gate })
            .reconciler.runOnce(never)
            .then(() => "kept"),
        );
        let ended = false;
        const all = Promise.all(works).then(() => (ended = true));
        for (let i = 0; !ended; i++) {
          await settle();
          const choice = choices[i % choices.length] ?? 0;
          // At times no process continues for longer than a lease lasts.
          if (calls.waiting === 0) await fixture.clock.advance(1_000);
          else if (choice % 20 === 0) await fixture.clock.advance(12_000);
          else calls.letThrough(choice);
        }
        await all;
        await keep(fixture.start({ evenMs: 0 }), fixture, 60_000, 5_000);
        witness.check(wanted.join());
      },
    ),
    { numRuns: 60 },
  );
});

test("a decision that a process left behind is carried out as it stands, by the process that comes first", async () => {
  const comers: Readonly<Record<string, Act>> = {
    reconciler: ({ reconciler }) => reconciler.runOnce(never),
    update: ({ namespaces }) => namespaces.update("plays", NARROWER, []),
  };
  for (const [comer, act] of Object.entries(comers)) {
    const fixture = await fixtureInUse();
    const witness = new SliceWitness(fixture);
    const stop = new StopAfter(0);
    let announced = false;
    fixture.catalog.before = async (call, space) => {
      // Right after the announcement.
      const record = call === "list" ? await readNamespace(fixture.catalog, "plays") : undefined;
      if (!announced && space.startsWith("slices/") && record?.changing) {
        announced = true;
        await stop.gate();
      }
    };
    const leaving = fixture.start({ evenMs: 0 }).reconciler.runOnce(never);
    await settle();
    fixture.catalog.before = () => undefined;
    const decided = (await readNamespace(fixture.catalog, "plays"))?.changing;
    ok(decided !== null && decided !== undefined);
    deepEqual(
      [decided.make.length, decided.close.length, decided.drop.length],
      [1, 1, 1],
      "what was due",
    );
    const process = fixture.start({ evenMs: 0 });
    // The lease of the one that stopped is renewed by its timer: it has to end.
    const acting = act(process, fixture).catch(asRefusal);
    await fixture.passWhile(acting);
    stop.resume();
    await leaving;
    await keep(process, fixture, 60_000, 5_000);
    const record = await readNamespace(fixture.catalog, "plays");
    const slices = await readSlices(fixture.catalog, record?.id ?? "");
    const stateOf = (name: string | undefined) =>
      slices.find((slice) => slice.name === name)?.state;
    equal(stateOf(decided.make[0]?.name), "OPEN", comer);
    equal(stateOf(decided.close[0]), "CLOSED", comer);
    equal(stateOf(decided.drop[0]), "DROPPED", comer);
    witness.check(comer);
  }
});

test("when an update is in force its slices are open, whatever another process has left half done", async () => {
  for (let passes = 0; ; passes++) {
    const fixture = new ControlFixture({ shared: true });
    await fixture.start({ evenMs: 0 }).namespaces.create("plays", {});
    const stop = new StopAfter(passes);
    const dead = fixture
      .start({ evenMs: 0, gate: stop.gate })
      .namespaces.update("plays", LATER, []);
    await fixture.clock.advance(0);
    if (!stop.stopped) {
      // It has made its slices and waits until other processes know: nothing is half done.
      stop.resume();
      await fixture.passWhile(dead);
      return;
    }
    const { namespaces, views } = fixture.start({ evenMs: 0 });
    const updating = namespaces.update("plays", LATER, []);
    await fixture.passWhile(updating);
    const { floor } = await updating;
    const { slices } = await views.get("plays");
    ok((slices[0]?.start ?? floor) <= floor);
    for (const [i, slice] of slices.entries()) {
      if (i > 0)
        equal(slice.start, slices[i - 1]?.end, `stopped after ${passes} calls and answers`);
    }
    stop.resume();
    await fixture.passWhile(dead.catch(asRefusal));
  }
});

test("a change of more slices than one decision holds is made in several", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces } = fixture.start({ evenMs: 0 });
  const timePartition = { secondsPerTimeSlice: 600, secondsPerTimeBucket: 600 };
  await namespaces.create("plays", { timePartition });
  const witness = new SliceWitness(fixture);
  const sizes: number[] = [];
  const noted = fixture.catalog.changed;
  fixture.catalog.changed = (space, before, after) => {
    noted(space, before, after);
    const make = /"changing":\{"make":\[(.*?)\],"open"/.exec(after?.value ?? "")?.[1];
    if (make !== undefined) sizes.push(make.split('"name"').length - 1);
  };
  const updating = namespaces.update("plays", { acceptLimitMicros: 3 * DAY }, []);
  await fixture.passWhile(updating);
  await updating;
  deepEqual(sizes, [CHANGE_SLICES_MAX, CHANGE_SLICES_MAX, 31]);
  witness.check("three days of ten minutes");
});

test("a slice that the store will not make again is given up, and the rest continues", async () => {
  const fixture = await fixtureInUse();
  const { namespaces, reconciler } = fixture.start({ evenMs: 0 });
  const record = await readNamespace(fixture.catalog, "plays");
  await fixture.store.dropSlice({ namespaceId: record?.id ?? "", slice: "data_20260404" });
  equal((await reconciler.runOnce(never)).failed, 0);
  const after = await readNamespace(fixture.catalog, "plays");
  equal(after?.changing, null);
  const status = (await namespaces.listTimeSlices("plays")).at(-1);
  deepEqual([status?.name, status?.status], ["data_20260404", "DROPPED"]);
  await fixture.clock.advance(DAY_MS);
  await reconciler.runOnce(never);
  equal((await namespaces.listTimeSlices("plays")).at(-1)?.status, "UPCOMING");
});

test("while a decision waits, a change that has nothing to do with slices does not", async () => {
  const fixture = await fixtureInUse();
  const { namespaces } = fixture.start({ evenMs: 0 });
  const record = await readNamespace(fixture.catalog, "plays");
  ok(record !== undefined);
  const changing = boundedChange({ drop: ["data_20260328"] });
  await writeNamespace(fixture.catalog, { ...record, changing });
  await namespaces.update("plays", { slos: { read: { maxMs: 2_000 } } }, []);
  const after = await readNamespace(fixture.catalog, "plays");
  deepEqual(after?.changing, changing);
  equal(after?.config.slos.read.maxMs, 2_000);
});

test("every process sees new slices, and a new width, within view_max_age", async () => {
  const fixture = await fixtureInUse();
  const processes = [
    fixture.start({ evenMs: 0 }),
    fixture.start({ evenMs: 0 }),
    fixture.start({ evenMs: 0 }),
  ];
  const [first] = processes;
  const updating = first?.namespaces.update("plays", NARROWER, []) ?? Promise.resolve();
  await fixture.passWhile(updating);
  await updating;
  await fixture.clock.advance(12 * 3_600_000 - 60_000);
  const stop = new AbortController();
  const running = processes.map(({ views }) => views.run(stop.signal));
  for (const { views } of processes) await views.get("plays");
  await first?.reconciler.runOnce(never);
  const expected = first?.views.current("plays")?.slices.map(({ name }) => name);
  ok(expected?.includes("data_20260404_0000") === true, String(expected));
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  for (const { views } of processes) {
    const view = views.current("plays");
    deepEqual(
      view?.slices.map(({ name }) => name),
      expected,
    );
    equal(view?.namespace.config.timePartition.secondsPerTimeSlice, 21_600);
  }
  stop.abort();
  await Promise.all(running);
});

test("a longer retention is in force before the slices it spares are made", async () => {
  const fixture = await fixtureInUse();
  const { namespaces } = fixture.start({ evenMs: 0 });
  const other = fixture.start({ evenMs: 0 });
  // The reconciler of another process runs whenever slices have just been made.
  fixture.catalog.changed = (space, before, after) => {
    if (space !== "namespaces" || !before?.value.includes('"changing":{')) return;
    if (after?.value.includes('"changing":null')) void other.reconciler.runOnce(never);
  };
  const patch = { ...LONGER, acceptLimitMicros: 10 * DAY };
  const updating = namespaces.update("plays", patch, []);
  await fixture.passWhile(updating);
  await updating;
  await fixture.clock.advance(HOUR / 1_000);
  const marked = (await namespaces.listTimeSlices("plays")).filter(
    ({ status }) => status === "DROPPED",
  );
  equal(marked.length, 0);
});
