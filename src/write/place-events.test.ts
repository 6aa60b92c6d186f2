import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView } from "../../tests/support/static-view.ts";
import { utf8 } from "../lib/bytes.ts";
import type { IdStrategyStep } from "../model/read-mode.ts";
import { encodeEvent } from "../wire/event-record.ts";
import type { EventBytes } from "../wire/event-record.ts";
import { placeEvents } from "./place-events.ts";

const SECOND = 1_000_000;
const START = 1_790_000_000 * SECOND;
const NOW = START + 5 * SECOND;
/** Buckets of 10 seconds, two event buckets each. */
const SLICES = joinedSlices(START, [
  { secondsPerTimeSlice: 40, secondsPerTimeBucket: 10, eventBuckets: 2 },
]);

function event(seriesId: string, id: string, seconds: number): EventBytes {
  return encodeEvent(utf8(seriesId), START + seconds * SECOND, utf8(id), []);
}

/** Time and event buckets of 100 events of a series at a time. */
function placed(seriesId: string, seconds: number, steps: readonly IdStrategyStep[]): string[] {
  const idStrategies = new Map(steps.length === 0 ? [] : [["hot", steps]]);
  const view = staticView({ slices: SLICES, idStrategies });
  const events = [...Array(100).keys()].map((i) => event(seriesId, `e-${i}`, seconds));
  const { groups, failures } = placeEvents(view, events, NOW);
  deepEqual(failures, []);
  return groups.flatMap((group) =>
    group.events.map(({ timeBucket, eventBucket }) => `${timeBucket}/${eventBucket}`),
  );
}

test("an id's own strategy applies from its time bucket on, and to that id alone", () => {
  const steps = [{ from: START + 20 * SECOND, factor: 4 }];
  deepEqual(placed("hot", 19, steps), placed("hot", 19, []));
  deepEqual(placed("cold", 20, steps), placed("cold", 20, []));
  const more = new Set(placed("hot", 20, steps));
  deepEqual(more, new Set([...Array(8).keys()].map((bucket) => `2/${bucket}`)));
});

test("with a whole factor, an event lies where a reader of more buckets looks for those of fewer", () => {
  const steps = [{ from: START, factor: 3 }];
  const before = placed("hot", 5, []);
  for (const [i, place] of placed("hot", 5, steps).entries()) {
    const bucket = Number(place.split("/")[1]);
    const fewer = Number(before[i]?.split("/")[1]);
    ok(bucket % 2 === fewer && fewer < 6);
  }
});
