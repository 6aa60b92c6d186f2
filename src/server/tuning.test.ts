import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, NOON } from "../../tests/support/control-fixture.ts";
import { silentLog } from "../lib/log.ts";
import { Metrics } from "../lib/metrics.ts";
import { systemRandom } from "../lib/random.ts";
import type { Tuning } from "../model/tuning.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import { SliceOwnership } from "../namespaces/slice-ownership.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { writeTuning } from "../records/tuning-records.ts";
import { loadConfig } from "./config.ts";
import { declareProcessMetrics } from "./process-metrics.ts";
import { newTunings } from "./tuning.ts";

const { timePartition: from } = DEFAULT_NAMESPACE_CONFIG;
const SIZES = { p50: 1, p95: 2, p99: 3 };
const PROPOSED: Tuning = {
  id: "20261115",
  state: "PROPOSED",
  direction: "WIDEN",
  evidence: [],
  observed: "",
  proposed: "",
  from,
  to: { ...from, secondsPerTimeBucket: 86_400 },
  dryRun: {
    before: SIZES,
    after: SIZES,
    partitionsPerDayBefore: 24,
    partitionsPerDayAfter: 1,
    keptLongerSeconds: 0,
    keptLongerBytes: 0,
  },
  effectiveFrom: 0,
  got: null,
  history: [{ at: NOON, by: "tuner", to: "PROPOSED", why: "" }],
};

test("what operators decide is counted, as what the tuner does", async () => {
  const control = new ControlFixture();
  const { catalog, clock, store, margins } = control;
  const { time, namespaces } = control.start();
  await time.refresh("owner");
  await namespaces.create("plays", {});
  const { id } = await readReadyNamespace(catalog, "plays");
  const { config } = await loadConfig({ flags: {}, file: undefined, env: {}, cwd: "/nowhere" });
  const metrics = new Metrics();
  const measures = declareProcessMetrics(metrics, config);
  const ownership = new SliceOwnership({ catalog, clock });
  const changed = (): Promise<void> => Promise.resolve();
  const parts = { catalog, store, margins, time, ownership, changed, measures };
  const tunings = newTunings({ clock, random: systemRandom, log: silentLog }, parts);
  const by = { by: "me", reason: "" };
  await writeTuning(catalog, id, { ...PROPOSED, version: 0 });
  await writeTuning(catalog, id, { ...PROPOSED, id: "20261116", version: 0 });
  await tunings.decide("plays", { id: "20261115", accept: false, ...by });
  equal((await tunings.decide("plays", { id: "20261116", accept: true, ...by })).state, "APPLIED");
  const shown = await metrics.text();
  match(shown, /^braid_tunings_total\{namespace="plays",outcome="REFUSED"\} 1$/m);
  match(shown, /^braid_tunings_total\{namespace="plays",outcome="APPLIED"\} 1$/m);
});
