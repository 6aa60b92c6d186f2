import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, never, NOON } from "../../tests/support/control-fixture.ts";
import { simulatedHistogram } from "../../tests/support/simulated-traffic.ts";
import type { Traffic } from "../../tests/support/simulated-traffic.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { TimePartition } from "../model/namespace-config.ts";
import type { Tuning } from "../model/tuning.ts";
import { SliceOwnership } from "../namespaces/slice-ownership.ts";
import { setPartitioning } from "../namespaces/set-partitioning.ts";
import { writeHistogram } from "../records/histogram-records.ts";
import { readReadyNamespace, updateNamespace } from "../records/namespace-records.ts";
import { lastReadAt, noteReadAt } from "../records/read-activity-records.ts";
import { readTunings, trimTunings } from "../records/tuning-records.ts";
import { systemRandom } from "../lib/random.ts";
import { tuneNamespace } from "./tune-namespace.ts";
import type { TuneContext } from "./tune-context.ts";
import { Tunings } from "./tunings.ts";

const SPARSE: Traffic = { ids: 5_000, bytesPerDay: 100_000, spread: 0.5, eventBytes: 500 };
const MINUTES: TimePartition = {
  secondsPerTimeSlice: 86_400,
  secondsPerTimeBucket: 60,
  eventBuckets: 1,
};
const DAILY = { ...MINUTES, secondsPerTimeBucket: 86_400 };
/** Days are much too wide for it; minutes would not be. */
const FLOOD = { ...SPARSE, bytesPerDay: SPARSE.bytesPerDay * 100_000 };
/** Tests write the walks of coming days, and tune after them. */
const LATER = 1_000 * DAY;
const FIRST_DAY = Math.floor(NOON / DAY) * DAY + DAY;

async function fixture(config: NamespaceConfigPatch = {}) {
  const control = new ControlFixture();
  const { catalog, clock, margins, store } = control;
  const process = control.start();
  await process.time.refresh("owner");
  await process.namespaces.create("plays", { timePartition: MINUTES, ...config });
  const observed: Tuning[] = [];
  const log: string[] = [];
  let failApply: (name: string) => Promise<void> | void = () => undefined;
  const doubt = { now: false };
  const context: TuneContext = {
    catalog,
    clock,
    margins,
    time: {
      nowMicros: () => process.time.nowMicros() + LATER,
      get inDoubt() {
        return doubt.now;
      },
    },
    setPartitioning: async (namespace, from, to) => {
      await failApply("before");
      const changed = (): Promise<void> => Promise.resolve();
      const parts = {
        catalog,
        store,
        clock,
        margins,
        time: process.time,
        changed,
        random: systemRandom,
      };
      await setPartitioning(
        { ...parts, ownership: new SliceOwnership({ catalog, clock }) },
        namespace,
        from,
        to,
      );
      await failApply("after");
    },
    observe: (_namespace, tuning, words) => {
      observed.push(tuning);
      log.push(words);
    },
  };
  const record = () => readReadyNamespace(catalog, "plays");
  const { id } = await record();
  await noteReadAt(catalog, id, NOON + LATER);
  return {
    context,
    control,
    process,
    doubt,
    observed,
    log,
    record,
    tunings: new Tunings(context),
    /** Runs before and after each change of the configuration. */
    during: (act: typeof failApply) => (failApply = act),
    setMode: (mode: "OFF" | "PROPOSE" | "AUTO") =>
      process.namespaces.update("plays", { tuning: { mode } }, []),
    async walked(day: number, traffic: Traffic, timePartition: TimePartition): Promise<void> {
      const start = FIRST_DAY + day * DAY;
      await writeHistogram(catalog, id, simulatedHistogram(traffic, { start, timePartition }));
    },
    async tune() {
      const decision = await tuneNamespace(context, await record());
      ok(decision);
      return decision;
    },
    states: async () => (await readTunings(catalog, id)).map(({ state }) => state),
    stored: () => readTunings(catalog, id),
    trim: async (kept: number) => trimTunings(catalog, id, await readTunings(catalog, id), kept),
  };
}

/** AUTO has applied a day instead of a minute; days count from the first slice that has it. */
async function applied() {
  const there = await fixture({ tuning: { mode: "AUTO" } });
  await there.walked(0, SPARSE, MINUTES);
  await there.walked(1, SPARSE, MINUTES);
  await there.tune();
  const [{ effectiveFrom } = { effectiveFrom: 0 }] = await there.stored();
  const first = Math.round((effectiveFrom - FIRST_DAY) / DAY);
  ok(first > 0);
  const { walked } = there;
  return {
    ...there,
    walked: (day: number, traffic: Traffic, timePartition: TimePartition) =>
      walked(first + day, traffic, timePartition),
  };
}

test("a proposal waits for an operator, who accepts it, and its effect is measured", async () => {
  const { tune, walked, tunings, record, states, stored, observed, log } = await fixture();
  equal((await tune()).kind, "none");
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  const before = await tunings.list("plays");
  equal(before.next?.to.secondsPerTimeBucket, 86_400);
  deepEqual(before.tunings, []);
  equal((await tune()).kind, "propose");
  equal((await tune()).kind, "none");
  deepEqual(await states(), ["PROPOSED"]);
  const [proposed] = await stored();
  ok(proposed);
  equal(proposed.id, "20260330");
  match(
    proposed.observed,
    /^most partitions are too small: 99 % have at most .*, the target is 2MiB/,
  );
  deepEqual(log, [
    "Observed: TimeSlices have p99 partitions below configured target of 2MiB. " +
      "Proposed: time_bucket interval: 60s -> 86400s",
  ]);
  equal(proposed.proposed, "time_bucket interval: 60s -> 86400s");
  deepEqual((await record()).config.timePartition, MINUTES);

  const accepted = await tunings.decide("plays", {
    id: proposed.id,
    accept: true,
    by: "ada",
    reason: "",
  });
  equal(accepted.state, "APPLIED");
  ok(accepted.effectiveFrom > NOON);
  deepEqual((await record()).config.timePartition, DAILY);
  await rejects(
    tunings.decide("plays", { id: proposed.id, accept: false, by: "ada", reason: "" }),
    {
      code: "CONFLICT",
    },
  );

  const from = Math.round((accepted.effectiveFrom - FIRST_DAY) / DAY);
  await walked(from, SPARSE, DAILY);
  await tune();
  deepEqual(await states(), ["APPLIED"]);
  await walked(from + 1, SPARSE, DAILY);
  await tune();
  const [effective] = await stored();
  equal(effective?.state, "EFFECTIVE");
  match(effective.history.at(-1)?.why ?? "", /^promised p99 .+, got .+$/);
  deepEqual(
    observed.map(({ state }) => state),
    ["PROPOSED", "APPLIED", "EFFECTIVE"],
  );
});

test("a refused proposal does not come back while the sizes are the same", async () => {
  const { tune, walked, tunings, states, record } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  const { tunings: listed } = await tunings.list("plays");
  const id = listed[0]?.id ?? "";
  await tunings.decide("plays", { id, accept: false, by: "ada", reason: "a test" });
  await walked(2, SPARSE, MINUTES);
  deepEqual(await tune(), { kind: "none", why: "DECIDED_BEFORE" });
  deepEqual(await states(), ["REFUSED"]);
  deepEqual((await record()).config.timePartition, MINUTES);
  await rejects(tunings.decide("plays", { id: "none", accept: true, by: "ada", reason: "" }), {
    code: "TUNING_NOT_FOUND",
  });
});

test("T9: AUTO applies by itself, and takes back what made partitions worse", async () => {
  const { tune, walked, stored, states, record } = await fixture({ tuning: { mode: "AUTO" } });
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  deepEqual(await states(), ["APPLIED"]);
  deepEqual((await record()).config.timePartition, DAILY);
  const [applied] = await stored();
  const from = Math.round(((applied?.effectiveFrom ?? 0) - FIRST_DAY) / DAY);
  // A hundred thousand times the traffic: days are much too wide for it, minutes would not be.
  const flood = { ...SPARSE, bytesPerDay: SPARSE.bytesPerDay * 100_000 };
  await walked(from, flood, DAILY);
  await walked(from + 1, flood, DAILY);
  await tune();
  deepEqual((await record()).config.timePartition, MINUTES);
  deepEqual(await states(), ["TAKEN_BACK"]);
  match((await stored())[0]?.history.at(-1)?.why ?? "", /the former partitioning would have given/);
});

const dies = (when: string) => (at: string) => {
  if (at === when) throw new Error("the process dies here");
};

for (const when of ["before", "after"]) {
  test(`T6: a process that dies ${when} the change of the configuration is continued`, async () => {
    const { tune, walked, states, stored, record, during } = await fixture({
      tuning: { mode: "AUTO" },
    });
    await walked(0, SPARSE, MINUTES);
    await walked(1, SPARSE, MINUTES);
    during(dies(when));
    await rejects(tune(), /the process dies here/);
    deepEqual(await states(), ["APPLIED"]);
    equal((await stored())[0]?.effectiveFrom, 0);
    during(() => undefined);
    await tune();
    deepEqual(await states(), ["APPLIED"]);
    ok(((await stored())[0]?.effectiveFrom ?? 0) > NOON);
    deepEqual((await record()).config.timePartition, DAILY);
  });

  test(`T6: a process that dies ${when} it takes a change back is continued`, async () => {
    const { tune, walked, states, stored, record, during } = await applied();
    await walked(0, FLOOD, DAILY);
    await walked(1, FLOOD, DAILY);
    during(dies(when));
    await rejects(tune(), /the process dies here/);
    deepEqual(await states(), ["APPLIED"]);
    during(() => undefined);
    await tune();
    deepEqual(await states(), ["TAKEN_BACK"]);
    ok((await stored())[0]?.got);
    deepEqual((await record()).config.timePartition, MINUTES);
  });
}

test("T6: of processes that tune the same namespace at once one applies the change, once", async () => {
  for (const mode of ["PROPOSE", "AUTO"] as const) {
    const { tune, walked, states, stored, record, during } = await fixture({ tuning: { mode } });
    await walked(0, SPARSE, MINUTES);
    await walked(1, SPARSE, MINUTES);
    let applied = 0;
    during((at) => void (at === "after" && applied++));
    // One that is overtaken may fail: it tries again at its next turn.
    await Promise.allSettled([tune(), tune(), tune()]);
    await tune();
    deepEqual(await states(), [mode === "AUTO" ? "APPLIED" : "PROPOSED"], mode);
    const [{ history } = { history: [] }] = await stored();
    equal(history.length, mode === "AUTO" ? 2 : 1, mode);
    deepEqual((await record()).config.timePartition, mode === "AUTO" ? DAILY : MINUTES);
    equal(applied > 0, mode === "AUTO");
  }
});

test("T8: an operator and a tuner may both finish an accepted change, and neither fails", async () => {
  for (const first of ["tuner", "operator"]) {
    const { tune, walked, states, record, during, tunings } = await fixture();
    await walked(0, SPARSE, MINUTES);
    await walked(1, SPARSE, MINUTES);
    await tune();
    const accept = { id: "20260330", accept: true, by: "ada", reason: "" };
    let other: Promise<unknown> | undefined;
    during(async (at) => {
      if (at !== "before" || other !== undefined) return;
      other = first === "tuner" ? tune() : tune().catch((error: unknown) => error);
      if (first === "tuner") await other;
    });
    const decided = await tunings.decide("plays", accept);
    equal(decided.state, "APPLIED");
    ok(decided.effectiveFrom > NOON);
    ok(!((await other) instanceof Error));
    deepEqual(await states(), ["APPLIED"]);
    deepEqual((await record()).config.timePartition, DAILY);
  }
});

test("T8: an operator who refuses while AUTO applies is too late, or first; never beside a change", async () => {
  const { tune, walked, states, record, during, tunings, setMode } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  await setMode("AUTO");
  const refuse = { id: "20260330", accept: false, by: "ada", reason: "" };
  during(async (at) => {
    if (at !== "before") return;
    during(() => undefined);
    await rejects(tunings.decide("plays", refuse), { code: "CONFLICT" });
  });
  await tune();
  deepEqual(await states(), ["APPLIED"]);
  deepEqual((await record()).config.timePartition, DAILY);
});

test("T8: an operator's own change while a change is taken back wins", async () => {
  const { tune, walked, states, record, during, process } = await applied();
  await walked(0, FLOOD, DAILY);
  await walked(1, FLOOD, DAILY);
  const own = { ...MINUTES, secondsPerTimeBucket: 3_600 };
  during(async (at) => {
    if (at !== "before") return;
    during(() => undefined);
    await process.namespaces.update("plays", { timePartition: own }, []);
  });
  await tune();
  deepEqual((await record()).config.timePartition, own);
  await tune();
  deepEqual(await states(), ["SUPERSEDED"]);
});

test("a namespace that was deleted and made again under the same name is left alone", async () => {
  const { tune, walked, record, during, process, context } = await fixture({
    tuning: { mode: "AUTO" },
  });
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  const before = await record();
  during(async (at) => {
    if (at !== "before") return;
    await process.namespaces.delete("plays", { by: "ada", reason: "", purge: true });
    await process.namespaces.create("plays", { timePartition: MINUTES });
  });
  await tune();
  const now = await record();
  ok(now.id !== before.id);
  deepEqual(now.config.timePartition, MINUTES);
  equal(await tuneNamespace(context, before), undefined);
});

test("tuning that is off measures the last change and changes nothing", async () => {
  const good = await applied();
  await good.setMode("OFF");
  await good.walked(0, SPARSE, DAILY);
  await good.walked(1, SPARSE, DAILY);
  deepEqual(await good.tune(), { kind: "none", why: "OFF" });
  deepEqual(await good.states(), ["EFFECTIVE"]);

  const bad = await applied();
  await bad.setMode("OFF");
  await bad.walked(0, FLOOD, DAILY);
  await bad.walked(1, FLOOD, DAILY);
  await bad.tune();
  await bad.tune();
  deepEqual(await bad.states(), ["APPLIED"]);
  ok((await bad.stored())[0]?.got);
  deepEqual((await bad.record()).config.timePartition, DAILY);
  await bad.setMode("PROPOSE");
  await bad.tune();
  deepEqual(await bad.states(), ["TAKEN_BACK"]);
});

test("T1: quiet slices do not take a change back, nor show its effect", async () => {
  const { tune, walked, states } = await applied();
  const quiet = { ...SPARSE, ids: 10 };
  for (const day of [0, 1, 2]) await walked(day, quiet, DAILY);
  await tune();
  deepEqual(await states(), ["APPLIED"]);
});

test("T1: one slice that holds too little does not keep the others from being judged", async () => {
  const { tune, walked, stored } = await fixture();
  const thin = { ...SPARSE, ids: 2 };
  await walked(0, SPARSE, MINUTES);
  await walked(1, thin, MINUTES);
  await walked(2, SPARSE, MINUTES);
  await walked(3, thin, MINUTES);
  equal((await tune()).kind, "propose");
  const [proposed] = await stored();
  deepEqual(proposed?.evidence, ["data_20260329", "data_20260331"]);
  match(proposed.observed, /; data_20260330, data_20260401 did not count$/);
  for (const day of [4, 5, 6, 7, 8]) await walked(day, thin, MINUTES);
  deepEqual(await tune(), { kind: "none", why: "TOO_LITTLE_EVIDENCE" });
});

test("a proposal ends when the newest slices have the target size", async () => {
  const { tune, walked, states } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  const fits = { ...SPARSE, bytesPerDay: 1_440 * 3 * 2 ** 20 };
  await walked(2, fits, MINUTES);
  await tune();
  deepEqual(await states(), ["PROPOSED"]);
  await walked(3, fits, MINUTES);
  deepEqual(await tune(), { kind: "none", why: "FITS" });
  deepEqual(await states(), ["SUPERSEDED"]);
});

test("T10, C26: while time is in doubt nothing is decided, accepted or continued", async () => {
  const { tune, walked, states, tunings, doubt, record, during } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  doubt.now = true;
  deepEqual(await tune(), { kind: "none", why: "CLOCK_IN_DOUBT" });
  doubt.now = false;
  await tune();
  doubt.now = true;
  const accept = { id: "20260330", accept: true, by: "ada", reason: "" };
  await rejects(tunings.decide("plays", accept), {
    code: "CONFLICT",
    message: /clock is in doubt/,
  });
  doubt.now = false;
  during(dies("before"));
  await rejects(tunings.decide("plays", accept), /the process dies here/);
  during(() => undefined);
  doubt.now = true;
  await tune();
  deepEqual((await record()).config.timePartition, MINUTES);
  doubt.now = false;
  await tune();
  deepEqual((await record()).config.timePartition, DAILY);
  deepEqual(await states(), ["APPLIED"]);
});

test("T5: slices that are made while a change is applied count as before it", async () => {
  const { tune, walked, stored, during, control, process, setMode } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  await setMode("AUTO");
  during(async (at) => {
    if (at !== "before") return;
    await control.clock.advance(DAY / 1_000);
    await process.time.refresh("owner");
    await process.reconciler.runOnce(never);
  });
  await tune();
  const from = (await stored())[0]?.effectiveFrom ?? 0;
  const slices = await process.namespaces.listTimeSlices("plays");
  const frozen = slices.filter(({ timePartition }) => timePartition.secondsPerTimeBucket === 60);
  equal(from, frozen.at(-1)?.end);
});

test("AUTO applies a proposal that waits since the mode was PROPOSE", async () => {
  const { tune, walked, states, record, tunings, setMode } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  await setMode("AUTO");
  const { next, nothing } = await tunings.list("plays");
  deepEqual([next, nothing], [undefined, "DECIDED_BEFORE"]);
  await tune();
  deepEqual(await states(), ["APPLIED"]);
  deepEqual((await record()).config.timePartition, DAILY);
});

test("T7: AUTO leaves a proposal of much longer slices to an operator, and they begin where both widths do", async () => {
  const days = 30 * DAY;
  const { tune, walked, states, record, stored, tunings } = await fixture({
    tuning: { mode: "AUTO" },
    timePartition: DAILY,
    retention: { closeAfterMicros: days - DAY, deleteAfterMicros: days },
  });
  const rare = { ...SPARSE, bytesPerDay: 5_000 };
  await walked(0, rare, DAILY);
  await walked(1, rare, DAILY);
  await tune();
  await tune();
  deepEqual(await states(), ["PROPOSED"]);
  const [proposed] = await stored();
  ok(proposed);
  equal(proposed.history.length, 1);
  deepEqual((await record()).config.timePartition, DAILY);

  const accept = { id: proposed.id, accept: true, by: "ada", reason: "" };
  const { effectiveFrom } = await tunings.decide("plays", accept);
  const width = proposed.to.secondsPerTimeSlice * 1_000_000;
  ok(width > DAY && effectiveFrom > NOON);
  equal(effectiveFrom % width, 0);
});

test("C3: a re-opening leaves out the slices above its floor alone", async () => {
  const { walked, context, record } = await fixture();
  for (const day of [0, 1, 2]) await walked(day, SPARSE, MINUTES);
  const decided = async (floor: number) => {
    const reopened = { epoch: 1, epochStarts: [{ epoch: 1, floor }] };
    const { name } = await updateNamespace(context.catalog, "plays", (current) => ({
      ...current,
      ...reopened,
    }));
    return tuneNamespace(context, { name, id: (await record()).id });
  };
  const none = { kind: "none", why: "TOO_LITTLE_EVIDENCE" };
  deepEqual(await decided(FIRST_DAY + 2 * DAY - 1), none);
  const decision = await decided(FIRST_DAY + 2 * DAY);
  ok(decision?.kind === "propose");
  deepEqual(
    decision.evidence.map(({ start }) => start),
    [FIRST_DAY, FIRST_DAY + DAY],
  );
});

test("a read that a clock far ahead recorded does not count, and the next read replaces it", async () => {
  const there = await fixture();
  const { catalog } = there.context;
  const { id } = await there.record();
  await there.walked(0, SPARSE, MINUTES);
  await there.walked(1, SPARSE, MINUTES);
  await noteReadAt(catalog, id, NOON + LATER + 30 * DAY);
  deepEqual(await there.tune(), { kind: "none", why: "NOT_READ" });
  await noteReadAt(catalog, id, NOON + LATER);
  equal(await lastReadAt(catalog, id), NOON + LATER);
  equal((await there.tune()).kind, "propose");
});

test("a namespace that was created while the clock was far ahead is tuned all the same", async () => {
  const there = await fixture();
  const { catalog } = there.context;
  await there.walked(0, SPARSE, MINUTES);
  await there.walked(1, SPARSE, MINUTES);
  await updateNamespace(catalog, "plays", (current) => ({
    ...current,
    createdAt: NOON + LATER + 30 * DAY,
  }));
  equal((await there.tune()).kind, "propose");
});

test("an operator's own change ends a tuning", async () => {
  const { tune, walked, states, context, record } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  const own = { ...MINUTES, secondsPerTimeBucket: 3_600 };
  const plays = await record();
  await context.setPartitioning(plays, MINUTES, own);
  await rejects(context.setPartitioning(plays, MINUTES, DAILY), { code: "CONFLICT" });
  await tune();
  deepEqual(await states(), ["SUPERSEDED"]);
});

test("newer slices replace a proposal that nobody has decided, and old tunings are trimmed", async () => {
  const { tune, walked, states, stored, trim } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  const more = { ...SPARSE, bytesPerDay: SPARSE.bytesPerDay * 300 };
  await walked(2, more, MINUTES);
  await walked(3, more, MINUTES);
  await tune();
  deepEqual(await states(), ["SUPERSEDED", "PROPOSED"]);
  await trim(1);
  deepEqual(
    (await stored()).map(({ id }) => id),
    ["20260401"],
  );
});
