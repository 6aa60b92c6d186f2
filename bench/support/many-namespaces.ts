/** A server with a number of active namespaces, and the same load for any number of them. */
import { makeEvent, writeRequest } from "./events.ts";
import { frameMessage, GrpcLoad } from "./grpc-load.ts";
import { note } from "./report.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { inFlight, median, percentile, seconds } from "./stats.ts";
import { WRITE } from "./workload.ts";

/**
 * Enough that every namespace has a write under way at times, and far below what a server takes.
 */
export const IN_FLIGHT = 64;
const WRITES_PER_ROUND = 4_000;
/** Every slice has this much before the measurement, so that verifying one costs something. */
const LOADED_BATCHES = 20;
const LOADED_BATCH_EVENTS = 500;

export interface Side {
  readonly namespaces: readonly string[];
  readonly server: ServerProcess;
  readonly grpc: GrpcLoad;
  readonly rates: number[];
  readonly p99: number[];
  events: number;
}

export async function openSide(count: number, env: NodeJS.ProcessEnv = {}): Promise<Side> {
  const server = await startServer(env);
  const namespaces = Array.from({ length: count }, (_, nth) => `many_${nth}`);
  await inFlight(namespaces, 8, async (namespace) => {
    await server.post("ControlService/CreateNamespace", {
      namespace,
      config: {
        // One slice around now, whatever the hour.
        timePartition: { secondsPerTimeSlice: 864_000, secondsPerTimeBucket: 864_000 },
        acceptLimit: "7200s",
        retention: { closeAfter: "8640000s", deleteAfter: "9000000s" },
      },
    });
  });
  note(`created ${count} namespaces`);
  const grpc = await GrpcLoad.open(server.port);
  return { namespaces, server, grpc, rates: [], p99: [], events: 0 };
}

export async function load(side: Side): Promise<void> {
  const batches = side.namespaces.flatMap((namespace) =>
    Array.from({ length: LOADED_BATCHES }, () => namespace),
  );
  await inFlight(batches, IN_FLIGHT, (namespace) => write(side, namespace, LOADED_BATCH_EVENTS));
  note(`loaded ${side.namespaces.length} namespaces`);
}

/** The namespaces take turns, so all of them are active all the time. */
export async function measure(side: Side, counts: boolean): Promise<void> {
  const { namespaces, rates, p99 } = side;
  const order = Array.from(
    { length: WRITES_PER_ROUND },
    (_, nth) => namespaces[nth % namespaces.length] as string,
  );
  const times: number[] = [];
  const took = await seconds(() =>
    inFlight(order, IN_FLIGHT, async (namespace) => {
      times.push(1_000 * (await seconds(() => write(side, namespace, 1))));
    }),
  );
  if (!counts) return;
  rates.push(WRITES_PER_ROUND / took);
  p99.push(percentile(times, 99));
}

async function write(side: Side, namespace: string, count: number): Promise<void> {
  const now = Date.now() * 1_000;
  const events = Array.from({ length: count }, () =>
    makeEvent(`id:${side.events % 1_000}`, now, side.events++),
  );
  await side.grpc.call(WRITE, frameMessage(writeRequest(namespace, events)));
}

export async function memoryOf({ server }: Side): Promise<number> {
  return (await server.peakMemoryMiB()).anonymous;
}

export function describe({ namespaces, rates, p99 }: Side): string {
  const rate = Math.round(median(rates));
  return `${namespaces.length} namespaces ${rate} writes/s, p99 ${median(p99).toFixed(0)} ms`;
}

export async function closeSide({ grpc, server }: Side): Promise<void> {
  grpc.close();
  await server.stop();
}
