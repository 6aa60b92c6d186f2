/** The requests that benches of every engine share. */
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ReadEventRecordsRequest_Order,
  ReadEventRecordsRequestSchema,
} from "../../src/gen/braid/v1/time_series_service_pb.js";
import { makeEvent, nextRandom } from "./events.ts";
import type { BenchEvent } from "./events.ts";
import { inFlight } from "./stats.ts";

export const BATCH = 100;
export const WRITE = "TimeSeriesService/WriteEventRecordsSync";

/**
 * Batches of current events of a thousand ids, with `together` events of one id next to each other.
 */
export function makeBatches(round: number, count: number, together: number): BenchEvent[][] {
  const now = Date.now() * 1000;
  const batches: BenchEvent[][] = [];
  for (let n = 0; n < count; n += BATCH) {
    let id = "";
    batches.push(
      Array.from({ length: BATCH }, (_, i) =>
        makeEvent(
          i % together === 0 ? (id = `id:${Math.floor(nextRandom() * 1000)}`) : id,
          now - Math.floor(nextRandom() * 1e6),
          round * count + n + i,
        ),
      ),
    );
  }
  return batches;
}

/**
 * Gives a series of one event per half millisecond, a thousand at a time; returns the interval it
 * fills.
 */
export async function loadSeries(
  series: string,
  count: number,
  write: (batch: BenchEvent[]) => Promise<void>,
): Promise<{ start: number; end: number }> {
  const step = 500;
  const end = Date.now() * 1000;
  const start = end - count * step;
  // Not all at once: a million of them would dominate the memory of the process.
  for (let from = 0; from < count; from += 50_000) {
    const batches: BenchEvent[][] = [];
    for (let n = from; n < Math.min(from + 50_000, count); n += 1000) {
      batches.push(
        Array.from({ length: Math.min(1000, count - n) }, (_, i) =>
          makeEvent(series, start + (n + i) * step, n + i),
        ),
      );
    }
    await inFlight(batches, 4, write);
  }
  return { start, end };
}

export function readRequest(
  series: string,
  start: number,
  end: number,
  pageSize: number,
  order: keyof typeof ReadEventRecordsRequest_Order = "OLDEST_FIRST",
  namespace = "bench",
): Uint8Array {
  const time = (micros: number) => {
    const stamp = timestampFromMs(Math.floor(micros / 1000));
    return { ...stamp, nanos: stamp.nanos + (micros % 1000) * 1000 };
  };
  return toBinary(
    ReadEventRecordsRequestSchema,
    create(ReadEventRecordsRequestSchema, {
      namespace,
      timeSeriesId: series,
      timeInterval: { start: time(start), end: time(end) },
      order: ReadEventRecordsRequest_Order[order],
      pageSize,
    }),
  );
}

export function describe(rates: Record<string, readonly number[]>): string {
  return Object.entries(rates)
    .map(([name, values]) => `${name} ${thousands(values.at(-1) ?? 0)}/s`)
    .join(", ");
}

export function thousands(value: number): string {
  return `${Math.round(value / 1000)}k`;
}
