/**
 * The ids of the demo by width, and how long reads of the original and of the split take.
 *
 * Both are measured after the split, alternating: the kill switch makes reads use originals. So
 * both are warm, and a machine that becomes slower affects both. The narrow ids were never split:
 * they are the controls.
 */
import { setTimeout as pause } from "node:timers/promises";
import { nextRandom } from "../../bench/support/events.ts";
import { pageRequest, streamRange } from "../../bench/support/read-load.ts";
import type { Side } from "../../bench/support/read-load.ts";
import { explain } from "../../bench/support/server-load.ts";
import { median, percentile, seconds } from "../../bench/support/stats.ts";
import type { WideSpace } from "../../bench/support/wide-space.ts";
import { againstControls, isTooNoisy, times } from "./controls.ts";
import { line, table, Untold } from "./tell.ts";
import type { DemoSetup } from "./setup.ts";

export const EVENT_BYTES = 250;

export interface Width {
  readonly side: Side;
  readonly megabytes: number;
  readonly events: number;
}

/** Milliseconds of each page, and MB/s of each whole range. */
interface Samples {
  readonly pages: number[];
  readonly whole: number[];
}

type Source = "original" | "split";
type Measured = ReadonlyMap<Width, Readonly<Record<Source, Samples>>>;

const ROUNDS = 4;
const PAGES_A_ROUND = 50;
const SWITCH_MS_MAX = 30_000;

export function widthsOf({ namespace, start, end }: WideSpace): Width[] {
  return [0.1, 1, 10, 60].map((megabytes) => {
    const series = `profile:${megabytes}mb`;
    const events = Math.round((megabytes * 1e6) / EVENT_BYTES);
    return { side: { name: series, namespace, series, start, end }, megabytes, events };
  });
}

/**
 * Pages of 100 from random positions and whole ranges, newest first: originals and splits
 * alternate, with every width in each round.
 */
export async function measureByTurns(
  setup: DemoSetup,
  widths: readonly Width[],
  widest: Width,
): Promise<Measured> {
  const measured = new Map(
    widths.map((width) => [width, { original: emptySamples(), split: emptySamples() }]),
  );
  // The first round warms both up and does not count.
  for (let round = 0; round <= ROUNDS; round++) {
    // Neither always comes first.
    const sources: readonly Source[] =
      round % 2 === 0 ? ["original", "split"] : ["split", "original"];
    for (const source of sources) {
      await serveFrom(setup, source, widest);
      for (const [width, samples] of measured) {
        const seen = await readOnce(setup, width);
        if (round === 0) continue;
        samples[source].pages.push(...seen.pages);
        samples[source].whole.push(...seen.whole);
      }
    }
  }
  await serveFrom(setup, "split", widest);
  return measured;
}

/**
 * Pages and the whole range, and what they show: the gain of the wide ids against that of the
 * controls.
 */
export function showMeasured(measured: Measured, isWide: (width: Width) => boolean): void {
  const controls = [...measured]
    .filter(([width]) => !isWide(width))
    .map(([, seen]) => gainOf(seen));
  const both = (
    { original, split }: Record<Source, Samples>,
    of: (seen: Samples) => string,
  ): string => `${of(original)} -> ${of(split)}`;
  table([
    ["width", "page of 100, p50 ms", "p99 ms", "whole range, MB/s", "gain", "against controls"],
    ...[...measured].map(([width, seen]) => [
      `${width.megabytes} MB`,
      both(seen, ({ pages }) => median(pages).toFixed(2)),
      both(seen, ({ pages }) => percentile(pages, 99).toFixed(1)),
      both(seen, ({ whole }) => median(whole).toFixed(0)),
      times(gainOf(seen)),
      isWide(width) ? againstControls(gainOf(seen), controls) : "a control",
    ]),
  ]);
  line(
    `\n  The controls were never split: their gain of ${controls.map(times).join(" and ")} is noise of this machine.`,
  );
  line(
    isTooNoisy(controls)
      ? `  Too much of it to judge the gain: run the demo again on a quieter machine.`
      : "  The last column is the gain in MB/s divided by that of the controls.",
  );
}

/** Of the rate at which the whole range is read. */
function gainOf({ original, split }: Readonly<Record<Source, Samples>>): number {
  return median(split.whole) / median(original.whole);
}

function emptySamples(): Samples {
  return { pages: [], whole: [] };
}

async function readOnce({ grpc }: DemoSetup, width: Width): Promise<Samples> {
  const seen = emptySamples();
  for (let page = 0; page < PAGES_A_ROUND; page++) {
    const request = pageRequest(width.side, nextRandom(), "NEWEST_FIRST");
    const took = await seconds(() => grpc.call("TimeSeriesService/ReadEventRecords", request));
    seen.pages.push(took * 1000);
  }
  const { megabytes, took } = await streamRange(grpc, width.side, "NEWEST_FIRST");
  if (megabytes < 0.95 * width.megabytes) {
    const read = `${megabytes.toFixed(1)} of ${width.megabytes} MB`;
    throw new Untold(`a read of all of ${width.side.series} brought ${read}`);
  }
  seen.whole.push(megabytes / took);
  return seen;
}

/** Sets the kill switch and waits until reads follow it. */
async function serveFrom({ server }: DemoSetup, source: Source, { side }: Width): Promise<void> {
  await server.post("ControlService/SetKillSwitch", {
    on: source === "original",
    reason: "the demo compares originals with splits",
  });
  const end = performance.now() + SWITCH_MS_MAX;
  for (;;) {
    const { route, why } = await explain(server, side);
    if ((route === "SPLIT") === (source === "split")) return;
    if (performance.now() > end) throw new Untold(`${side.series} is read ${route}: ${why}`);
    await pause(100);
  }
}
