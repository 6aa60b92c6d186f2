import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, NOON } from "../../tests/support/control-fixture.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { timeMargins } from "../model/time-margins.ts";
import { readNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { dueChanges } from "./due-changes.ts";
import type { DueChanges } from "./due-changes.ts";

const HOUR = 3_600 * SECOND_MICROS;
const MARGINS = timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 });

/** What is due in a namespace of hourly slices that was created at noon. */
async function due(times: {
  readonly wall: number;
  readonly believed: number;
  readonly inDoubt: boolean;
  readonly acceptLimitMicros?: number;
}): Promise<DueChanges & { readonly lastEnd: number }> {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const timePartition = { secondsPerTimeSlice: 3_600, secondsPerTimeBucket: 3_600 };
  const retention = { closeAfterMicros: 60 * DAY, deleteAfterMicros: 70 * DAY };
  const { id } = await namespaces.create("plays", { timePartition, retention });
  const created = await readNamespace(fixture.catalog, "plays");
  ok(created !== undefined);
  const { acceptLimitMicros = created.config.acceptLimitMicros } = times;
  const record = { ...created, config: { ...created.config, acceptLimitMicros } };
  const slices = await readSlices(fixture.catalog, id);
  const { wall: wallMicros, believed: believedMicros, inDoubt } = times;
  const seen = { wallMicros, believedMicros, inDoubt, leaps: [] };
  const lastEnd = slices.at(-1)?.end ?? 0;
  return { ...dueChanges(record, slices, seen, MARGINS), lastEnd };
}

test("C25: in doubt, slices are made by believed time if those of the wall clock leave a gap", async () => {
  const believed = NOON + 2 * HOUR;
  const doubted = await due({ wall: NOON + 300 * DAY, believed, inDoubt: true });
  ok(doubted.make.length > 0, "events of believed time have a slice");
  equal(doubted.make[0]?.start, doubted.lastEnd);
  const right = await due({ wall: believed, believed, inDoubt: false });
  deepEqual(doubted.make, right.make);
});

test("C25: in doubt, slices are made by believed time if those of the wall clock are too many", async () => {
  const believed = NOON + 2 * HOUR;
  // Events of the last 40 days are accepted, so that 30 days ahead there is no gap.
  const acceptLimitMicros = 40 * DAY;
  const times = { believed, inDoubt: true, acceptLimitMicros };
  const { make, lastEnd } = await due({ ...times, wall: NOON + 30 * DAY });
  ok(make.length > 0);
  ok(make.every(({ start }) => start <= believed + DAY));
  const few = await due({ ...times, wall: NOON + 10 * DAY });
  ok((few.make.at(-1)?.end ?? 0) >= lastEnd + 9 * DAY);
});

test("C25: in doubt, a few slices without a gap are made by the wall clock", async () => {
  const wall = NOON + 2 * HOUR;
  const { make } = await due({ wall, believed: NOON, inDoubt: true });
  const right = await due({ wall, believed: wall, inDoubt: false });
  deepEqual(make, right.make);
});

test("E4, C26: in doubt nothing is closed, marked or dropped, also if it is due by believed time", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const retention = { closeAfterMicros: 2 * DAY, deleteAfterMicros: 4 * DAY };
  const { id } = await namespaces.create("plays", { retention });
  const record = await readNamespace(fixture.catalog, "plays");
  const [slice] = await readSlices(fixture.catalog, id);
  ok(record !== undefined && slice !== undefined);
  const over = slice.end + retention.deleteAfterMicros;
  const states = [
    ["close", { ...slice, state: "OPEN" }, slice.end + retention.closeAfterMicros],
    ["dropping", { ...slice, state: "CLOSED" }, over],
    ["drop", { ...slice, state: "DROPPING", droppingSince: over }, over + DAY],
  ] as const;
  for (const [what, before, at] of states) {
    for (const inDoubt of [false, true]) {
      const seen = { wallMicros: at, believedMicros: at, inDoubt, leaps: [] };
      const changes = dueChanges(record, [before], seen, MARGINS);
      const { close, dropping, drop } = changes;
      deepEqual(
        { close: close.length, dropping: dropping.length, drop: drop.length },
        { close: 0, dropping: 0, drop: 0, ...(!inDoubt && { [what]: 1 }) },
        `${what} ${inDoubt}`,
      );
      deepEqual(changes[what], inDoubt ? [] : [before]);
    }
  }
});
