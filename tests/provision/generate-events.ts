/**
 * Generates the events of a slice as a workload describes them. Written without the planner's model:
 * ids draw their rates one by one, and events fall into hours one by one.
 */
import { SeededRandom } from "../../src/lib/seeded-random.ts";
import { utf8 } from "../../src/lib/bytes.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";

export interface Truth {
  readonly ids: number;
  readonly eventsPerDay: number;
  readonly eventBytes: number;
  readonly burstiness: number;
  /** The relative rate of the n-th id; the mean is set to `eventsPerDay` afterwards. */
  readonly rate: (random: SeededRandom, n: number) => number;
}

export interface GeneratedEvent {
  readonly seriesId: string;
  /** Microseconds. */
  readonly time: number;
  readonly eventId: Uint8Array;
  readonly event: EventBytes;
}

const DAY = 86_400;
const HOUR = 3_600;

/** `slice` has whole days. */
export function* generateEvents(
  truth: Truth,
  slice: { readonly start: number; readonly seconds: number },
  seed: number,
): Generator<GeneratedEvent> {
  const random = new SeededRandom(seed);
  const drawn = Array.from({ length: truth.ids }, (_, n) => truth.rate(random, n));
  const mean = drawn.reduce((sum, rate) => sum + rate, 0) / truth.ids;
  let number = 0;
  for (const [n, relative] of drawn.entries()) {
    const perDay = (relative / mean) * truth.eventsPerDay;
    const busyHour = random.below(24) * HOUR;
    const events = poisson(random, (perDay * slice.seconds) / DAY);
    for (let nth = 0; nth < events; nth++) {
      const day = random.below(slice.seconds / DAY) * DAY;
      const second = timeOfDay(random, truth.burstiness, busyHour);
      const time = slice.start + Math.floor((day + second) * 1e6);
      yield eventOf(`id:${n}`, time, number++, truth.eventBytes * (0.7 + 0.6 * random.fraction()));
    }
  }
}

export function normal(random: SeededRandom): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.fraction()));
  return radius * Math.cos(2 * Math.PI * random.fraction());
}

function timeOfDay(random: SeededRandom, burstiness: number, busyHour: number): number {
  if (random.chance((burstiness * HOUR) / DAY)) return busyHour + random.fraction() * HOUR;
  // The other hours are alike; drawn again until it is one of them. Without a burst, all are.
  for (;;) {
    const second = random.fraction() * DAY;
    if (burstiness === 1 || second < busyHour || second >= busyHour + HOUR) return second;
  }
}

function poisson(random: SeededRandom, mean: number): number {
  if (mean > 50) return Math.max(0, Math.round(mean + normal(random) * Math.sqrt(mean)));
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random.fraction(); product > limit; product *= random.fraction()) count++;
  return count;
}

function eventOf(seriesId: string, time: number, number: number, bytes: number): GeneratedEvent {
  const eventId = utf8(`event-${number}`);
  const series = utf8(seriesId);
  const bare = encodeEvent(series, time, eventId, [{ key: utf8("v"), value: new Uint8Array() }]);
  const value = new Uint8Array(Math.max(0, Math.round(bytes) - (bare.end - bare.start)));
  const event = encodeEvent(series, time, eventId, [{ key: utf8("v"), value }]);
  return { seriesId, time, eventId, event };
}
