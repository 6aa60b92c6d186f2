/**
 * What splitting costs where nothing is split: processor time of the server per read and per write,
 * with splitting on and off, alternating on one server; and the check of every read, called
 * directly.
 */
import { makeEvent, nextRandom, writeRequest } from "../support/events.ts";
import { frameMessage, GrpcLoad } from "../support/grpc-load.ts";
import { processorSeconds } from "../support/process-figures.ts";
import { note } from "../support/report.ts";
import type { Report } from "../support/report.ts";
import { startServer } from "../support/server-process.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { SplitControl } from "../support/split-control.ts";
import { inFlight, median } from "../support/stats.ts";
import { readRequest, WRITE } from "../support/workload.ts";
import { benchCheck } from "./check-cost.ts";
import type { SplitBenchOptions } from "./options.ts";

const IDS = 500;
const EVENTS_PER_ID = 200;
const IN_FLIGHT = 8;
const BATCH = 100;
const WARM_UP = 3;
const READ = "TimeSeriesService/ReadEventRecords";

interface Setting {
  readonly namespace: string;
  readonly detect: boolean;
  readonly mode: string;
}

const ON: Setting = { namespace: "split_on", detect: true, mode: "SERVE" };
const OFF: Setting = { namespace: "split_off", detect: false, mode: "OFF" };
/** Also off: its difference from the other is noise. */
const CONTROL: Setting = { namespace: "split_off_too", detect: false, mode: "OFF" };
const SETTINGS = [ON, OFF, CONTROL];

export async function benchSplitCosts(report: Report, options: SplitBenchOptions): Promise<void> {
  await benchCheck(report);
  const server = await startServer();
  const grpc = await GrpcLoad.open(server.port);
  try {
    const start = Date.now() * 1000 - 300e6;
    for (const { namespace, detect, mode } of SETTINGS) {
      await server.post("ControlService/CreateNamespace", {
        namespace,
        config: { widePartition: { detect } },
      });
      await new SplitControl(server, namespace).setMode(mode, "measured by a bench");
      await fill(grpc, namespace, start);
    }
    const rounds = options.quick ? 6 : 18;
    const requests = options.quick ? 800 : 2_000;
    for (const { what, method, make } of [
      { what: "page of 100", method: READ, make: readRequests },
      { what: "write of 100 events", method: WRITE, make: writeRequests },
    ]) {
      const work = SETTINGS.map(({ namespace }) => {
        const made = make(namespace, start, requests);
        return (): Promise<void> =>
          inFlight(made, IN_FLIGHT, async (request) => void (await grpc.call(method, request)));
      });
      const spent = await processorTimes(server, work, rounds);
      addCost(report, what, spent, rounds);
    }
  } finally {
    grpc.close();
    await server.stop();
  }
}

/**
 * Seconds of the server's processor time for each kind of work, one list per round, each time with
 * another kind first.
 */
async function processorTimes(
  server: ServerProcess,
  work: readonly (() => Promise<void>)[],
  rounds: number,
): Promise<number[][]> {
  const times: number[][] = [];
  for (let round = -WARM_UP; round < rounds; round++) {
    const spent: number[] = [];
    for (let turn = 0; turn < work.length; turn++) {
      const nth = (turn + round + WARM_UP) % work.length;
      const before = await processorSeconds(server.pid);
      await work[nth]?.();
      spent[nth] = (await processorSeconds(server.pid)) - before;
    }
    if (round >= 0) times.push(spent);
    note(`costs ${round}: ${spent.map((each) => each.toFixed(2)).join(", ")} s`);
  }
  return times;
}

function addCost(
  report: Report,
  what: string,
  spent: readonly (readonly number[])[],
  rounds: number,
): void {
  const above = (nth: number): number =>
    100 * (median(spent.map((round) => (round[nth] as number) / (round[1] as number))) - 1);
  const value = above(0);
  report.add({
    name: `processor time a ${what}, splitting on and nothing split, % above off`,
    figure: `median of ${rounds} rounds; a second namespace with it off was at ${above(2).toFixed(1)} %`,
    value,
    goal: "<= 3 %",
    met: value <= 3,
  });
}

async function fill(grpc: GrpcLoad, namespace: string, start: number): Promise<void> {
  const ids = Array.from({ length: IDS }, (_, nth) => nth);
  await inFlight(ids, IN_FLIGHT, async (id) => {
    const events = Array.from({ length: EVENTS_PER_ID }, (_, n) =>
      makeEvent(`id:${id}`, start + n * 1_000, n),
    );
    await grpc.call(WRITE, frameMessage(writeRequest(namespace, events)));
  });
}

function readRequests(namespace: string, start: number, count: number): Uint8Array[] {
  return Array.from({ length: count }, () => {
    const id = `id:${Math.floor(nextRandom() * IDS)}`;
    return frameMessage(readRequest(id, start, start + 1e6, BATCH, "NEWEST_FIRST", namespace));
  });
}

/** The same events each time, so that nothing grows. */
function writeRequests(namespace: string, start: number, count: number): Uint8Array[] {
  return Array.from({ length: count }, () => {
    const id = `id:${Math.floor(nextRandom() * IDS)}`;
    const events = Array.from({ length: BATCH }, (_, n) => makeEvent(id, start + n * 1_000, n));
    return frameMessage(writeRequest(namespace, events));
  });
}
