import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, NOON } from "../../tests/support/control-fixture.ts";
import { simulatedHistogram } from "../../tests/support/simulated-traffic.ts";
import type { Traffic } from "../../tests/support/simulated-traffic.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { TimePartition } from "../model/namespace-config.ts";
import type { Tuning } from "../model/tuning.ts";
import { SliceOwnership } from "../namespaces/slice-ownership.ts";
import { setPartitioning } from "../namespaces/set-partitioning.ts";
import { writeHistogram } from "../records/histogram-records.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { noteReadAt } from "../records/read-activity-records.ts";
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
const FIRST_DAY = Math.floor(NOON / DAY) * DAY + DAY;

async function fixture(config: NamespaceConfigPatch = {}) {
  const control = new ControlFixture();
  const { catalog, clock, margins, store } = control;
  const process = control.start();
  await process.time.refresh("owner");
  await process.namespaces.create("plays", { timePartition: MINUTES, ...config });
  const observed: Tuning[] = [];
  let failApply = false;
  const context: TuneContext = {
    catalog,
    clock,
    margins,
    time: process.time,
    setPartitioning: async (name, from, to) => {
      if (failApply) throw new Error("the process dies here");
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
        name,
        from,
        to,
      );
    },
    observe: (_namespace, tuning) => observed.push(tuning),
  };
  const record = () => readReadyNamespace(catalog, "plays");
  const { id } = await record();
  await noteReadAt(catalog, id, NOON + 1_000 * DAY);
  return {
    context,
    observed,
    record,
    tunings: new Tunings(context),
    failApply: (fails: boolean) => (failApply = fails),
    async walked(day: number, traffic: Traffic, timePartition: TimePartition): Promise<void> {
      const start = FIRST_DAY + day * DAY;
      await writeHistogram(catalog, id, simulatedHistogram(traffic, { start, timePartition }));
    },
    async tune() {
      return tuneNamespace(context, await record());
    },
    states: async () => (await readTunings(catalog, id)).map(({ state }) => state),
    stored: () => readTunings(catalog, id),
    trim: async (kept: number) => trimTunings(catalog, id, await readTunings(catalog, id), kept),
  };
}

test("a proposal waits for an operator, who accepts it, and its effect is measured", async () => {
  const { tune, walked, tunings, record, states, stored, observed } = await fixture();
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
  match(proposed.observed, /p99 partitions below configured target of 2MiB/);
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

test("AUTO applies by itself, and takes back what made partitions worse", async () => {
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

test("a process that dies between proposal and change is continued, and one after the change too", async () => {
  const { tune, walked, states, record, failApply, context } = await fixture({
    tuning: { mode: "AUTO" },
  });
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  failApply(true);
  await rejects(tune(), /the process dies here/);
  deepEqual(await states(), ["PROPOSED"]);
  failApply(false);
  await context.setPartitioning("plays", MINUTES, DAILY);
  await tune();
  deepEqual(await states(), ["APPLIED"]);
  deepEqual((await record()).config.timePartition, DAILY);
});

test("AUTO applies a proposal that waits: a process died, or the mode was PROPOSE", async () => {
  const { tune, walked, states, record, failApply, tunings } = await fixture({
    tuning: { mode: "AUTO" },
  });
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  failApply(true);
  await rejects(tune(), /the process dies here/);
  failApply(false);
  const { next, nothing } = await tunings.list("plays");
  deepEqual([next, nothing], [undefined, "DECIDED_BEFORE"]);
  await tune();
  deepEqual(await states(), ["APPLIED"]);
  deepEqual((await record()).config.timePartition, DAILY);
});

test("AUTO leaves a proposal of much longer slices to an operator, and they begin where both widths do", async () => {
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
    return tuneNamespace(context, { ...(await record()), ...reopened });
  };
  const none = { kind: "none", why: "TOO_LITTLE_EVIDENCE" };
  deepEqual(await decided(FIRST_DAY + 2 * DAY - 1), none);
  const decision = await decided(FIRST_DAY + 2 * DAY);
  ok(decision.kind === "propose");
  deepEqual(
    decision.evidence.map(({ start }) => start),
    [FIRST_DAY, FIRST_DAY + DAY],
  );
});

test("an operator's own change ends a tuning", async () => {
  const { tune, walked, states, context } = await fixture();
  await walked(0, SPARSE, MINUTES);
  await walked(1, SPARSE, MINUTES);
  await tune();
  const own = { ...MINUTES, secondsPerTimeBucket: 3_600 };
  await context.setPartitioning("plays", MINUTES, own);
  await rejects(context.setPartitioning("plays", MINUTES, DAILY), { code: "CONFLICT" });
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
