import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, NOON } from "../../tests/support/control-fixture.ts";
import { simulatedHistogram } from "../../tests/support/simulated-traffic.ts";
import type { Traffic } from "../../tests/support/simulated-traffic.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { TimePartition } from "../model/namespace-config.ts";
import { writeHistogram } from "../records/histogram-records.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { writeTopPartitions } from "../records/top-partition-records.ts";
import { Doctor } from "./doctor.ts";

const { timePartition } = DEFAULT_NAMESPACE_CONFIG;
const START = Math.floor(NOON / DAY) * DAY;
const MIB = 1_048_576;
const SPARSE: Traffic = { ids: 5_000, bytesPerDay: 100_000, spread: 0.5, eventBytes: 500 };

async function fixture() {
  const control = new ControlFixture();
  const { catalog } = control;
  const process = control.start();
  await process.time.refresh("owner");
  const { namespaces } = process;
  await namespaces.create("plays", {});
  const { id } = await readReadyNamespace(catalog, "plays");
  const doctor = new Doctor({
    catalog,
    tunings: () =>
      Promise.resolve({ tunings: [], next: undefined, nothing: "TOO_LITTLE_EVIDENCE" }),
    recentReads: () => undefined,
    fragments: () => Promise.resolve(undefined),
    droppedSnapshots: () => Promise.resolve(undefined),
  });
  return {
    problems: async () =>
      (await doctor.remediesFor("plays")).map(({ remedy, problem }) => `${remedy} ${problem}`),
    why: async () => (await doctor.remediesFor("plays"))[0]?.why ?? "",
    async walked(day: number, traffic: Traffic, partition: TimePartition = timePartition) {
      const slice = { start: START + day * DAY, timePartition: partition };
      const histogram = simulatedHistogram(traffic, slice);
      await writeHistogram(catalog, id, histogram);
      return histogram;
    },
    async largest(slice: string, ids: readonly string[]) {
      const partitions = ids.map((seriesId, nth) => ({
        seriesId,
        timeBucket: 0,
        eventBucket: 0,
        bytes: nth === 0 ? 50 * MIB : MIB,
        events: 10,
        exact: true,
      }));
      const totalBytes = partitions.reduce((sum, { bytes }) => sum + bytes, 0);
      const top = { asOf: NOON, endedAt: NOON, complete: true, totalBytes, totalEvents: 100 };
      await writeTopPartitions(catalog, { namespaceId: id, slice }, { ...top, partitions });
    },
  };
}

test("sizes are judged only by slices that hold enough and have the present partitioning", async () => {
  const { walked, problems, why } = await fixture();
  await walked(0, { ...SPARSE, ids: 0 });
  await walked(1, { ...SPARSE, ids: 10 });
  deepEqual(await problems(), ["NOTHING none found"]);
  match(await why(), /none of the newest sealed slices holds enough/);
  await walked(2, SPARSE, { ...timePartition, secondsPerTimeBucket: 60 });
  deepEqual(await problems(), ["NOTHING none found"]);
  await walked(3, SPARSE);
  deepEqual(await problems(), ["NOTHING most partitions are too small"]);
  for (const day of [4, 5, 6, 7, 8]) await walked(day, { ...SPARSE, ids: 1 });
  deepEqual(await problems(), ["NOTHING most partitions are too small"]);
  await walked(9, { ...SPARSE, ids: 1 });
  deepEqual(await problems(), ["NOTHING none found"]);
});

test("an id is to be blocked at most once, and never the only id of its slice", async () => {
  const { walked, largest, problems } = await fixture();
  const small = { ...SPARSE, ids: 1 };
  for (const day of [0, 1]) {
    const { timeSlice } = await walked(day, small);
    await largest(timeSlice, ["loop", "calm"]);
  }
  const { timeSlice } = await walked(2, small);
  await largest(timeSlice, ["only"]);
  const blocked = (await problems()).filter((problem) => problem.startsWith("BLOCK"));
  equal(blocked.length, 1, blocked.join("\n"));
  match(blocked[0] ?? "", /loop/);
});
