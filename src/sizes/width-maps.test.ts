import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { newSplit } from "../model/split-moves.ts";
import { hashRowOf, sizeRowOf } from "../model/width-grid.ts";
import { writeSplit } from "../records/split-records.ts";
import { writeTopPartitions } from "../records/top-partition-records.ts";
import { writeWidthMap } from "../records/width-map-records.ts";
import { IdSample } from "./id-sample.ts";
import { WalkTally } from "./walk-tally.ts";
import { WidthMaps } from "./width-maps.ts";
import type { ShownWidthMap, WidthMapQuery } from "./width-maps.ts";

const TODAY = "data_20260328";
const MIB = 1 << 20;
const QUERY: WidthMapQuery = {
  timeSlice: TODAY,
  rows: "SIZE",
  measure: "PARTITIONS",
  columnsMax: 250,
};
const PARTITION = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 };

async function open() {
  const fixture = new ControlFixture();
  const { catalog, clock } = fixture;
  const { id } = await fixture.start().namespaces.create("plays", {});
  const ref = { namespaceId: id, slice: TODAY };
  const maps = new WidthMaps({ catalog, clock, unreadable: () => undefined });
  return {
    get: (query: Partial<WidthMapQuery> = {}) => maps.get("plays", { ...QUERY, ...query }),
    walk: async (sizes: readonly (readonly [string, number, number])[], complete = true) => {
      const tally = new WalkTally(PARTITION, new IdSample(1));
      const partitions = sizes.map(([seriesId, timeBucket, bytes]) => {
        const size = { kind: "counted", bytes, events: 2, exact: true } as const;
        return { seriesId, timeBucket, eventBucket: 0, size };
      });
      tally.add({ partitions, idsTogether: false });
      const map = tally.map();
      if (map === undefined) throw new Error("a new walk has a map");
      const stamp = { asOf: 100, endedAt: 200, complete };
      const { sampleShare, omissions } = tally.sizes();
      await writeWidthMap(catalog, ref, { ...stamp, sealed: true, sampleShare, omissions, ...map });
      const totals = { totalBytes: 1, totalEvents: 1 };
      await writeTopPartitions(catalog, ref, { ...stamp, ...totals, partitions: tally.top() });
    },
    detect: async (seriesId: string, timeBucket: number, bytes: number): Promise<void> => {
      const partition = { ...ref, seriesId, timeBucket, eventBucket: 0 };
      const split = { partition, namespace: "plays", epoch: 0, bytes, events: 1 };
      const seen = { at: 0, by: "test", cause: "detection", reason: "seen" } as const;
      await writeSplit(catalog, newSplit({ ...split, immutable: true, detectedAt: 0 }, seen));
    },
  };
}

function shown({ cells, rows }: ShownWidthMap): string[] {
  return cells.map(({ column, row, value, largestBytes, splits }) => {
    const marks = [...splits].map(([state, count]) => ` ${count} ${state}`).join("");
    return `${column} <=${rows[row]?.upTo} ${value} ${largestBytes}${marks}`;
  });
}

test("cells hold the partitions of a time and a size, and the splits of today", async () => {
  const world = await open();
  await world.walk([
    ["a", 3, 3 * MIB],
    ["b", 3, 3 * MIB],
    ["c", 23, 200 * MIB],
  ]);
  await world.detect("c", 23, 50 * MIB);
  await world.detect("new", 5, 4 * MIB);
  const map = await world.get();
  deepEqual(shown(map), [
    `3 <=${4 * MIB} 2 ${3 * MIB}`,
    `5 <=${4 * MIB} 0 0 1 DETECTED`,
    `23 <=${256 * MIB} 1 ${200 * MIB} 1 DETECTED`,
  ]);
  deepEqual([map.shape.columns, map.excludes], [24, []]);
  equal(map.sentence, "1 partition over 10MiB: c; 33 % above the target of 2MiB to 10MiB.");
});

test("a map counts bytes or events, and by the hash of the id", async () => {
  const world = await open();
  await world.walk([
    ["a", 3, 3 * MIB],
    ["a", 4, 5 * MIB],
  ]);
  const values = async (query: Partial<WidthMapQuery>) =>
    (await world.get(query)).cells.map(({ row, value }) => [row, value]);
  const row = hashRowOf("a");
  deepEqual(await values({ rows: "ID_HASH", measure: "BYTES" }), [
    [row, 3 * MIB],
    [row, 5 * MIB],
  ]);
  deepEqual(await values({ rows: "ID_HASH", measure: "EVENTS", columnsMax: 1 }), [[row, 4]]);
  equal((await world.get({ columnsMax: 10 })).shape.columns, 8);
});

test("rows reach from the target to the limit at least, and to what has grown since", async () => {
  const world = await open();
  await world.walk([["a", 3, 3 * MIB]]);
  const { rows } = await world.get();
  equal(rows[0]?.upTo, 2 * MIB);
  equal(rows.length, sizeRowOf(10 * MIB) - sizeRowOf(2 * MIB) + 1);
  await world.detect("a", 3, 900 * MIB);
  equal((await world.get()).rows.at(-1)?.upTo, 1_024 * MIB);
});

test("a map says what it leaves out, and a slice without one how to get it", async () => {
  const world = await open();
  const none = await world.get();
  deepEqual([none.walk, none.cells], [undefined, []]);
  match(none.sentence, /has no width map yet.*walk\.current_every/);
  await world.walk([["a", 3, 3 * MIB]], false);
  match((await world.get()).excludes.join(), /reached its time limit/);
  await rejects(world.get({ timeSlice: "data_19990101" }), { code: "TIME_SLICE_NOT_FOUND" });
});
