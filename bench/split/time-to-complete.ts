/** From the read that detects to COMPLETED, against one raw read of the original. */
import type { GrpcLoad } from "../support/grpc-load.ts";
import { streamRange } from "../support/read-load.ts";
import type { Side } from "../support/read-load.ts";
import { note } from "../support/report.ts";
import type { Report } from "../support/report.ts";
import { copiedBytes, isCompleted, isConfirmed, partsOf } from "../support/split-control.ts";
import type { SplitControl } from "../support/split-control.ts";
import type { Place } from "../support/wide-space.ts";

const WITHIN_MS = 1_200_000;
/** Just enough to exceed the limit: the read is part of the measurement. */
const DETECTING_BYTES = 9.5e6;

export interface Wide {
  readonly side: Side;
  readonly location: Place;
  /** Approximately, of all its events. */
  readonly bytes: number;
}

export async function measureSplit(
  report: Report,
  what: string,
  grpc: GrpcLoad,
  control: SplitControl,
  { side, location, bytes }: Wide,
  rawRead: () => Promise<number>,
): Promise<void> {
  const rawSeconds = await rawRead();
  const share = Math.min(1, DETECTING_BYTES / bytes);
  const start = side.end - Math.floor(share * (side.end - side.start));
  const started = performance.now();
  await streamRange(grpc, { ...side, start }, "NEWEST_FIRST");
  const since = (): number => (performance.now() - started) / 1000;
  let shown = "";
  const show = (state: string): void => {
    if (state !== shown) note(`${side.series}: ${state} after ${since().toFixed(1)} s`);
    shown = state;
  };
  await control.until(location, isCompleted, WITHIN_MS, ({ state }) => show(state));
  const completed = since();
  const split = await control.until(location, isConfirmed, WITHIN_MS);
  const goal = 2 * rawSeconds + 5;
  report.add({
    name: `${what}, from the read that detects to COMPLETED, s`,
    figure:
      `raw read ${rawSeconds.toFixed(1)} s; confirmed after ${since().toFixed(1)} s; ` +
      `${partsOf(split)} parts, ${Math.round(copiedBytes(split) / 1e6)} MB`,
    value: completed,
    goal: `<= 2 raw reads + 5 s = ${goal.toFixed(1)}`,
    met: completed <= goal,
  });
}
