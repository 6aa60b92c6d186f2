import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, never } from "../../tests/support/control-fixture.ts";
import type { SliceRef } from "../model/partition.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { NoSizes, PartitionSizes, SizeReport, SizeSource } from "../ports/partition-sizes.ts";
import { writeHistogram } from "../records/histogram-records.ts";
import { writeSizeReports } from "../records/size-report-records.ts";
import { ReadSizes } from "../read/read-sizes.ts";
import { SliceSizes } from "./slice-sizes.ts";

function report(source: SizeSource, count: number): SizeReport {
  return {
    kind: "sizes",
    source,
    count,
    meanBytes: 10,
    maxBytes: 20,
    histogram: undefined,
    coverage: "all",
    tells: "much",
    doesNotTell: "little",
    asOf: 0,
  };
}

function silent(source: SizeSource): NoSizes {
  return { kind: "none", source, reason: `${source} is away` };
}

function saying(answer: SizeReport | NoSizes, asked: SliceRef[] = []): PartitionSizes {
  return {
    source: answer.source,
    sizesOf: (slice) => {
      asked.push(slice);
      return Promise.resolve(answer);
    },
  };
}

/** Without the walk, which none of these slices has had. */
async function sourcesRanked(...answers: (SizeReport | NoSizes)[]): Promise<SizeSource[]> {
  const control = new ControlFixture();
  await control.start().namespaces.create("plays", {});
  const sources = answers.map((answer) => saying(answer));
  const sizes = new SliceSizes({ catalog: control.catalog, clock: control.clock, sources });
  const { best, others } = await sizes.of("plays", "", never);
  const ranked = [best.source, ...others.map(({ source }) => source)];
  equal(ranked.includes("WALK"), true);
  return ranked.filter((source) => source !== "WALK");
}

test("T4: the histogram of the storage comes first, then our reads, then estimates", async () => {
  const [reads, estimates, jmx] = [
    report("READS", 5),
    report("TABLE_ESTIMATES", 128),
    report("JMX", 7),
  ];
  deepEqual(await sourcesRanked(reads, estimates, jmx), ["JMX", "READS", "TABLE_ESTIMATES"]);
  deepEqual(await sourcesRanked(silent("JMX"), estimates, reads), [
    "READS",
    "TABLE_ESTIMATES",
    "JMX",
  ]);
});

test("T4: a source that has seen nothing ranks after one that has, and answers if no source has", async () => {
  const [reads, jmx] = [report("READS", 5), report("JMX", 0)];
  deepEqual(await sourcesRanked(jmx, reads), ["READS", "JMX"]);
  deepEqual(await sourcesRanked(report("READS", 0), report("JMX", 0)), ["JMX", "READS"]);
  deepEqual(await sourcesRanked(report("READS", 0), silent("JMX")), ["READS", "JMX"]);
});

test("the slice that takes events now is asked for by the namespace's internal id", async () => {
  const control = new ControlFixture();
  const { id } = await control.start().namespaces.create("plays", {});
  const asked: SliceRef[] = [];
  const sources = [saying(report("READS", 1), asked)];
  const sizes = new SliceSizes({ catalog: control.catalog, clock: control.clock, sources });
  equal((await sizes.of("plays", "", never)).timeSlice, "data_20260328");
  equal((await sizes.of("plays", "data_20260329", never)).timeSlice, "data_20260329");
  deepEqual(asked, [
    { namespaceId: id, slice: "data_20260328" },
    { namespaceId: id, slice: "data_20260329" },
  ]);
});

test("a slice that does not exist is not found, whatever its name is", async () => {
  const control = new ControlFixture();
  await control.start().namespaces.create("plays", {});
  const sources = [new ReadSizes({ clock: control.clock })];
  const sizes = new SliceSizes({ catalog: control.catalog, clock: control.clock, sources });
  await rejects(sizes.of("nope", "", never), { code: "NAMESPACE_NOT_FOUND" });
  for (const name of ["data_19990101", "../etc", "x".repeat(10_000)]) {
    await rejects(sizes.of("plays", name, never), { code: "TIME_SLICE_NOT_FOUND" });
  }
});

test("a dropped slice is not found, and one that no source knows is unavailable", async () => {
  const control = new ControlFixture();
  const { id } = await control.start().namespaces.create("plays", {});
  const { catalog, clock } = control;
  const mute = new SliceSizes({ catalog, clock, sources: [saying(silent("JMX"))] });
  await rejects(mute.of("plays", "", never), {
    code: "STORAGE_UNAVAILABLE",
    message: /JMX is away/,
  });
  const space = `slices/${id}`;
  const stored = await catalog.read(space, "data_20260328");
  const dropped = (stored?.value ?? "").replace('"OPEN"', '"DROPPED"');
  await catalog.write(space, "data_20260328", dropped, stored?.version ?? 0);
  const sizes = new SliceSizes({ catalog, clock, sources: [saying(report("JMX", 1))] });
  await rejects(sizes.of("plays", "data_20260328", never), {
    code: "TIME_SLICE_NOT_FOUND",
    message: /was dropped/,
  });
});

function walkOf(timeSlice: string, partitions: number): SliceHistogram {
  const sizes = new SizeHistogram();
  sizes.add(1_000, partitions);
  const unit = { bytes: sizes.distribution(), events: sizes.distribution() };
  return {
    timeSlice,
    start: 0,
    end: 1,
    timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
    source: "WALK",
    asOf: 5,
    endedAt: 6,
    sealed: true,
    epoch: 0,
    complete: true,
    sampleShare: 1,
    omissions: { notCounted: 0, estimated: 0, failed: 0 },
    partitions: unit,
    timeBuckets: unit,
    widened: [],
  };
}

test("a walk comes before every other source, with the target of the namespace", async () => {
  const control = new ControlFixture();
  const { id } = await control.start().namespaces.create("plays", {});
  const { catalog, clock } = control;
  await writeHistogram(catalog, id, walkOf("data_20260328", 9));
  const sizes = new SliceSizes({ catalog, clock, sources: [saying(report("JMX", 7))] });
  const { best, others, walk, target } = await sizes.of("plays", "", never);
  deepEqual([best.source, best.count, best.asOf], ["WALK", 9, 5]);
  deepEqual(
    others.map(({ source }) => source),
    ["JMX"],
  );
  equal(walk?.partitions.events.count, 9);
  deepEqual(target, { minBytes: 2_097_152, maxBytes: 10_485_760 });
});

test("the histogram of a dropped slice is still there, and all of them are the history", async () => {
  const control = new ControlFixture();
  const { id } = await control.start().namespaces.create("plays", {});
  const { catalog, clock } = control;
  await writeHistogram(catalog, id, walkOf("data_20250101", 4));
  await writeHistogram(catalog, id, walkOf("data_20260328", 9));
  const sizes = new SliceSizes({ catalog, clock, sources: [saying(report("JMX", 7))] });
  const { timeSlice, best, others } = await sizes.of("plays", "data_20250101", never);
  deepEqual([timeSlice, best.source, best.count, others], ["data_20250101", "WALK", 4, []]);
  equal((await sizes.history("plays")).length, 2);
});

test("what the storage said when a slice was settled stands in for it later, with its time", async () => {
  const control = new ControlFixture();
  const { id } = await control.start().namespaces.create("plays", {});
  const { catalog, clock } = control;
  const histogram = new SizeHistogram();
  histogram.add(1_000, 7);
  const jmx = { ...report("JMX", 7), histogram, asOf: 3 };
  const slice = { start: 0, end: 1, timePartition: walkOf("", 1).timePartition };
  const stored = { ...slice, reports: [jmx, report("TABLE_ESTIMATES", 128)] };
  await writeSizeReports(catalog, id, { ...stored, timeSlice: "data_20250101" });
  await writeSizeReports(catalog, id, { ...stored, timeSlice: "data_20260328" });
  const sources = [saying(silent("JMX")), saying(report("TABLE_ESTIMATES", 256))];
  const sizes = new SliceSizes({ catalog, clock, sources });
  // A dropped slice that was never walked.
  const dropped = await sizes.of("plays", "data_20250101", never);
  deepEqual(dropped.best, jmx);
  deepEqual(
    dropped.others.map(({ source }) => source),
    ["TABLE_ESTIMATES"],
  );
  // The agent is away; the estimates are asked again.
  const { best, others } = await sizes.of("plays", "data_20260328", never);
  deepEqual(best, jmx);
  equal(others.find(({ source }) => source === "TABLE_ESTIMATES")?.kind, "sizes");
  await writeHistogram(catalog, id, walkOf("data_20260328", 9));
  equal((await sizes.of("plays", "data_20260328", never)).best.source, "WALK");
  deepEqual(
    (await sizes.unwalked("plays")).map(({ timeSlice }) => timeSlice),
    ["data_20250101"],
  );
});
