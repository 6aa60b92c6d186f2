/** Fills series through the server, as a caller would, and requests how a read is served. */
import { formatTime } from "../../src/wire/time-text.ts";
import { setTimeout as pause } from "node:timers/promises";
import { makeEvent, writeRequest } from "./events.ts";
import { frameMessage } from "./grpc-load.ts";
import type { GrpcLoad } from "./grpc-load.ts";
import type { Side } from "./read-load.ts";
import type { ServerProcess } from "./server-process.ts";
import { inFlight } from "./stats.ts";
import { WRITE } from "./workload.ts";

const BATCH_EVENTS = 1_000;
const IN_FLIGHT = 4;
const TRIES_MAX = 10;
const RETRY_MS = 200;

/** Events spread evenly over the side's time, in `rounds` that each cover all of it. */
export async function loadSide(
  grpc: GrpcLoad,
  side: Side,
  events: number,
  eventBytes: number,
  { rounds = 1, afterRound }: { rounds?: number; afterRound?: () => Promise<void> } = {},
): Promise<void> {
  const step = (side.end - side.start) / events;
  for (let round = 0; round < rounds; round++) {
    const firsts: number[] = [];
    for (let n = round; n < events; n += rounds * BATCH_EVENTS) firsts.push(n);
    await inFlight(firsts, IN_FLIGHT, async (first) => {
      const batch = [];
      const to = Math.min(events, first + rounds * BATCH_EVENTS);
      for (let n = first; n < to; n += rounds) {
        batch.push(makeEvent(side.series, side.start + Math.floor(n * step), n, eventBytes));
      }
      await writeAll(grpc, frameMessage(writeRequest(side.namespace, batch)));
    });
    await afterRound?.();
  }
}

/** A storage on a busy machine may refuse or run out of time: a write may be repeated, and is. */
export async function writeAll(grpc: GrpcLoad, request: Uint8Array): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await grpc.call(WRITE, request);
      return;
    } catch (error) {
      if (tries === TRIES_MAX) throw error;
      await pause(RETRY_MS * tries);
    }
  }
}

export interface ExplainedPartition {
  readonly route: string;
  readonly why: string;
  readonly parts: number;
  readonly bytes: string;
  readonly events: string;
  readonly millis: number;
}

/** How a page of 100, newest first, is served now. */
export async function explain(server: ServerProcess, side: Side): Promise<ExplainedPartition> {
  const answer = (await server.post("TimeSeriesService/ExplainRead", {
    namespace: side.namespace,
    timeSeriesId: side.series,
    timeInterval: { start: formatTime(side.start), end: formatTime(side.end) },
  })) as { partitions: readonly ExplainedPartition[] };
  const [first] = answer.partitions;
  if (first === undefined) throw new Error(`no partition of ${side.series} would be read`);
  return first;
}

/** Until a read of the side is served from its split. */
export async function untilServed(
  server: ServerProcess,
  side: Side,
  withinMs = 60_000,
): Promise<ExplainedPartition> {
  const end = performance.now() + withinMs;
  for (;;) {
    const explained = await explain(server, side);
    if (explained.route === "SPLIT") return explained;
    if (performance.now() > end) {
      throw new Error(`${side.series} is read ${explained.route}: ${explained.why}`);
    }
    await pause(200);
  }
}
