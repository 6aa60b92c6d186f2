import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { DAY, HOUR, NOON } from "../../tests/support/control-fixture.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ClockWatch } from "./clock-watch.ts";

const SETTLE_MS = 600_000;

async function settledWatch(): Promise<{ clock: VirtualClock; watch: ClockWatch }> {
  const clock = new VirtualClock(NOON);
  const watch = new ClockWatch(clock, HOUR, SETTLE_MS);
  await clock.advance(SETTLE_MS);
  return { clock, watch };
}

test("just after the start there is nothing to compare with", () => {
  const watch = new ClockWatch(new VirtualClock(NOON), HOUR, SETTLE_MS);
  deepEqual(watch.look(), {
    jumped: false,
    doubtMicros: Number.POSITIVE_INFINITY,
    jumpMicros: HOUR,
  });
});

test("time that passes on both clocks is believed, however much", async () => {
  const { clock, watch } = await settledWatch();
  await clock.advance(365 * 86_400_000);
  deepEqual(watch.look(), { jumped: false, doubtMicros: 0, jumpMicros: HOUR });
});

test("a jump forward is doubted: for all at first, and for what rests on it alone for ever", async () => {
  const { clock, watch } = await settledWatch();
  clock.stepWall(DAY);
  deepEqual(watch.look(), { jumped: true, doubtMicros: DAY, jumpMicros: HOUR });
  await clock.advance(SETTLE_MS);
  deepEqual(watch.look(), { jumped: false, doubtMicros: DAY, jumpMicros: HOUR });
});

test("a jump that is taken back leaves no doubt", async () => {
  const { clock, watch } = await settledWatch();
  clock.stepWall(DAY);
  watch.look();
  await clock.advance(1_000);
  clock.stepWall(-DAY);
  deepEqual(watch.look(), { jumped: false, doubtMicros: 0, jumpMicros: HOUR });
});

test("a clock that is set back, and small corrections, are no reason for doubt", async () => {
  const { clock, watch } = await settledWatch();
  clock.stepWall(-DAY);
  deepEqual(watch.look(), { jumped: false, doubtMicros: 0, jumpMicros: HOUR });
  clock.stepWall(HOUR);
  deepEqual(watch.look(), { jumped: false, doubtMicros: 0, jumpMicros: HOUR });
});
