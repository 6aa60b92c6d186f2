/** Does one piece of work with a caller, and measures it. */
import { makeEvent, nextRandom } from "../support/events.ts";
import type { BenchEvent } from "../support/events.ts";
import { inFlight, seconds } from "../support/stats.ts";
import { BATCH } from "../support/workload.ts";
import { Tally } from "./work.ts";
import type { Done, PeerCaller, Series, Work } from "./work.ts";

const LOAD_BATCH = 1_000;
const LOAD_WIDTH = 4;
/** Not all at once: a million events would dominate the memory of the process. */
const LOAD_AT_ONCE = 50_000;

export async function runWork(caller: PeerCaller, series: Series, work: Work): Promise<Done> {
  const tally = new Tally();
  const times: number[] = [];
  const run = await prepare(caller, series, work, tally, times);
  const before = process.cpuUsage();
  const took = await seconds(run);
  const { user, system } = process.cpuUsage(before);
  const { events, check } = tally;
  return { seconds: took, callerSeconds: (user + system) / 1e6, events, check, times };
}

/** Makes what need not be measured, and returns the rest. */
async function prepare(
  caller: PeerCaller,
  series: Series,
  work: Work,
  tally: Tally,
  times: number[],
): Promise<() => Promise<void>> {
  switch (work.kind) {
    case "load":
      return async () => {
        await load(caller, series, work.stored);
        await caller.loaded();
      };
    case "ingest": {
      const batches = currentBatches(work).map((batch) => caller.batchOf(batch));
      return () =>
        inFlight(batches, work.width, async (batch, worker) => {
          await caller.write(batch, worker);
          tally.events += BATCH;
        });
    }
    case "stream":
      return () => caller.stream(work.stored, series, tally);
    case "walk": {
      const [start = series.start] = positions(series, work.seed, 1, work.pages * work.pageEvents);
      return () => caller.walk(work.stored, { ...series, start }, work, tally);
    }
    case "pages": {
      const { pageEvents, pages, seed, stored, width } = work;
      const starts = positions(series, seed, pages, pageEvents);
      return () =>
        inFlight(starts, width, async (start, worker) => {
          const began = performance.now();
          await caller.page(stored, { ...series, start }, { pageEvents, worker }, tally);
          times.push(performance.now() - began);
        });
    }
  }
}

async function load(caller: PeerCaller, series: Series, stored: "rows" | "packed"): Promise<void> {
  const step = (series.end - series.start) / series.events;
  for (let from = 0; from < series.events; from += LOAD_AT_ONCE) {
    const firsts: number[] = [];
    const to = Math.min(series.events, from + LOAD_AT_ONCE);
    for (let first = from; first < to; first += LOAD_BATCH) firsts.push(first);
    await inFlight(firsts, LOAD_WIDTH, async (first, worker) => {
      const events: BenchEvent[] = [];
      for (let n = first; n < Math.min(to, first + LOAD_BATCH); n++) {
        events.push(makeEvent(series.id, series.start + Math.floor(n * step), n));
      }
      await caller.load(stored, events, worker);
    });
  }
}

function currentBatches({ round, events, ids }: Extract<Work, { kind: "ingest" }>): BenchEvent[][] {
  const now = Date.now() * 1000;
  const batches: BenchEvent[][] = [];
  for (let n = 0; n < events; n += BATCH) {
    batches.push(
      Array.from({ length: BATCH }, (_, i) => {
        const id = `id:${Math.floor(nextRandom() * ids)}`;
        return makeEvent(id, now - Math.floor(nextRandom() * 1e6), round * events + n + i);
      }),
    );
  }
  return batches;
}

/** Positions with at least `room` events behind them. */
function positions(series: Series, seed: number, count: number, room: number): number[] {
  const { start, end, events } = series;
  const share = Math.max(0, 1 - (room + 1) / events);
  let state = seed * 2_654_435_761 + 1;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return start + Math.floor((state / 0x1_0000_0000) * share * (end - start));
  });
}
