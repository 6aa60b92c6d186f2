import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { DAY, HOUR, NOON } from "../../tests/support/control-fixture.ts";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { timeMargins } from "../model/time-margins.ts";
import { readBelievedTime } from "../records/believed-time.ts";
import { BelievedTime, believedClock } from "./believed-time.ts";
import type { ClockEvent, SecondOpinion } from "./believed-time.ts";

const MARGINS = timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 });
const EVEN_MS = 600_000;
const DAY_MS = 86_400_000;

interface Process {
  readonly time: BelievedTime;
  readonly events: ClockEvent[];
}

class Installation {
  readonly clock = new VirtualClock(NOON);
  readonly catalog = new MemoryCatalog();

  start(opinions: readonly SecondOpinion[] = []): Process {
    const events: ClockEvent[] = [];
    const { catalog, clock } = this;
    const observe = (event: ClockEvent): void => void events.push(event);
    return {
      time: new BelievedTime({ catalog, clock, margins: MARGINS, opinions, observe }),
      events,
    };
  }

  async run({ time }: Process, ms: number, step = 5_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      await this.clock.advance(step);
      await time.refresh("owner");
    }
  }

  /** A process that worked until now has stored the time. */
  async lived(): Promise<Installation> {
    const process = this.start();
    await process.time.refresh("owner");
    await this.run(process, 120_000);
    return this;
  }
}

test("C25: a store without a stored time is not in doubt, and stores one", async () => {
  const installation = new Installation();
  const { time, events } = installation.start();
  equal(time.inDoubt, true, "nothing is known before the first reading");
  await time.refresh("owner");
  equal(time.inDoubt, false);
  equal((await readBelievedTime(installation.catalog))?.micros, NOON);
  deepEqual(events, []);
});

test("C25: time that passes on both clocks is believed, however much, and stored about once a minute", async () => {
  const installation = new Installation();
  const process = installation.start();
  await process.time.refresh("owner");
  await installation.run(process, 300_000);
  const stored = await readBelievedTime(installation.catalog);
  deepEqual(stored, { micros: NOON + 300 * SECOND_MICROS, leaps: [], version: 6 });
  await installation.clock.advance(365 * DAY_MS);
  await process.time.refresh("owner");
  equal(process.time.nowMicros(), installation.clock.nowMicros());
});

for (const [what, leap, doubted] of [
  ["nine minutes ahead of", 540 * SECOND_MICROS, false],
  ["eleven minutes ahead of", 660 * SECOND_MICROS, true],
  ["a minute behind", -60 * SECOND_MICROS, true],
] as const) {
  test(`U9, C25: a start ${what} the stored time is ${doubted ? "" : "not "}in doubt`, async () => {
    const installation = await new Installation().lived();
    installation.clock.stepWall(leap);
    const { time } = installation.start();
    await time.refresh("owner");
    equal(time.inDoubt, doubted);
  });
}

test("C25: in doubt believed time rises with the monotonic clock, and a correction ends the doubt", async () => {
  const installation = await new Installation().lived();
  const process = installation.start();
  await process.time.refresh("owner");
  const before = process.time.nowMicros();
  installation.clock.stepWall(59 * 60 * SECOND_MICROS);
  await installation.run(process, 60_000);
  equal(process.time.inDoubt, true);
  equal(process.time.nowMicros() - before, 60 * SECOND_MICROS);
  installation.clock.stepWall(-59 * 60 * SECOND_MICROS);
  await installation.run(process, 5_000);
  equal(process.time.inDoubt, false);
  deepEqual(
    process.events.map((event) => (event.kind === "doubt ended" ? event.why : event.kind)),
    ["doubt began", "corrected"],
  );
});

test("C25: a leap of up to believe_max is believed after an even run of ten minutes, which each step begins again", async () => {
  const installation = await new Installation().lived();
  const process = installation.start();
  await process.time.refresh("owner");
  installation.clock.stepWall(HOUR);
  await installation.run(process, EVEN_MS - 10_000);
  installation.clock.stepWall(HOUR);
  await installation.run(process, EVEN_MS - 5_000);
  equal(process.time.inDoubt, true);
  await installation.run(process, 10_000);
  equal(process.time.inDoubt, false);
  equal(process.time.nowMicros(), installation.clock.nowMicros());
});

test("C25: a larger leap waits for a second opinion that agrees, and for an even run", async () => {
  for (const [said, ends] of [
    [0, true],
    [-365 * DAY, false],
  ] as const) {
    const installation = await new Installation().lived();
    installation.clock.stepWall(3 * DAY);
    const opinion: SecondOpinion = async () => installation.clock.nowMicros() + said;
    const process = installation.start([async () => undefined, opinion]);
    await process.time.refresh("owner");
    await installation.run(process, EVEN_MS - 5_000);
    equal(process.time.inDoubt, true);
    await installation.run(process, 10_000);
    equal(process.time.inDoubt, !ends);
  }
});

test("C25: without a second opinion a larger leap is believed after an even run of drop_grace", async () => {
  const installation = await new Installation().lived();
  installation.clock.stepWall(365 * DAY);
  const process = installation.start();
  await process.time.refresh("owner");
  await installation.run(process, DAY_MS - 60_000, 60_000);
  equal(process.time.inDoubt, true);
  await installation.run(process, 120_000, 60_000);
  equal(process.time.inDoubt, false);
});

test("C25: an operator's confirmation ends the doubt here and in the process that owns the slices", async () => {
  const installation = await new Installation().lived();
  installation.clock.stepWall(365 * DAY);
  const [owner, other] = [installation.start(), installation.start()];
  await owner.time.refresh("owner");
  await other.time.refresh("other");
  ok(owner.time.inDoubt && other.time.inDoubt);
  equal((await other.time.confirm()).doubt, undefined);
  await owner.time.refresh("owner");
  equal(owner.time.inDoubt, false);
  equal(owner.time.nowMicros(), installation.clock.nowMicros());
});

test("C25: a process that does not own the slices follows the time that the owner stores", async () => {
  const installation = await new Installation().lived();
  const [owner, other] = [installation.start(), installation.start()];
  await owner.time.refresh("owner");
  await other.time.refresh("other");
  installation.clock.stepWall(HOUR);
  await other.time.refresh("other");
  equal(other.time.inDoubt, true);
  await installation.run(owner, EVEN_MS + 60_000);
  equal(owner.time.inDoubt, false);
  await other.time.refresh("other");
  equal(other.time.inDoubt, false);
});

test("C16: a clock that has leapt by days puts off nothing by days", async () => {
  const installation = await new Installation().lived();
  const process = installation.start();
  await process.time.refresh("other");
  const clock = believedClock(installation.clock, process.time);
  const before = clock.nowMicros();
  installation.clock.stepWall(3 * DAY);
  equal(clock.nowMicros(), before, "what is due in a moment stays due in a moment");
  await installation.clock.advance(5_000);
  ok(clock.nowMicros() - before < 6 * SECOND_MICROS);
});
