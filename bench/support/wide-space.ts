/**
 * A namespace whose ids have one partition each: a bucket of ten minutes that is over.
 *
 * Events go into it while the accept limit still reaches it; lowering the limit then seals it, so
 * that all of it can be split. The limit moves by less than an hour: a server that has just started
 * does not believe a leap of the floor that is longer.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ServerProcess } from "./server-process.ts";

export const BUCKET_SECONDS = 600;
const SLICE_SECONDS = 86_400;
const ACCEPT_SECONDS = 2_700;
const BUCKET_MICROS = BUCKET_SECONDS * 1e6;
/** With views and pauses of a second, and writes of at most eight. */
const SEALED_MS = 18_000;

export interface SpaceOptions {
  readonly namespace: string;
  /** Divides a day; ten minutes if it is not given. */
  readonly secondsPerTimeBucket?: number;
  readonly widePartition?: Readonly<Record<string, unknown>>;
}

/** As the API names it. */
export interface Place {
  readonly timeSlice: string;
  readonly timeSeriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
}

export interface WideSpace {
  readonly namespace: string;
  /** Its internal id. */
  readonly id: string;
  /** The ten minutes that are over, in microseconds. */
  readonly start: number;
  readonly end: number;
  /** The name of the slice that holds it, which is that of its table. */
  readonly slice: string;
  /** Counted from the slice's start. */
  bucketOf(time: number): number;
  /** The partition of a series that holds this time; the first of those if it is not given. */
  location(series: string, time?: number): Place;
}

/** The last but one: whole, and not about to be over. */
function pastBucket(): { start: number; end: number } {
  const current = Math.floor((Date.now() * 1000) / BUCKET_MICROS) * BUCKET_MICROS;
  return { start: current - 2 * BUCKET_MICROS, end: current - BUCKET_MICROS };
}

export async function createSpace(
  server: ServerProcess,
  { namespace, secondsPerTimeBucket = BUCKET_SECONDS, widePartition }: SpaceOptions,
): Promise<WideSpace> {
  const { id } = (await server.post("ControlService/CreateNamespace", {
    namespace,
    config: {
      timePartition: { secondsPerTimeSlice: SLICE_SECONDS, secondsPerTimeBucket },
      acceptLimit: `${ACCEPT_SECONDS}s`,
      retention: { closeAfter: "8640000s", deleteAfter: "9000000s" },
      ...(widePartition === undefined ? {} : { widePartition }),
      // No caller waits for the load: on a busy machine a batch may take a while.
      slos: { write: { target: "0.5s", max: "10s" } },
    },
  })) as { id: string };
  const { slices } = (await server.post("ControlService/ListTimeSlices", { namespace })) as {
    slices: readonly { name: string; start: string; end: string }[];
  };
  const { start, end } = pastBucket();
  const slice = slices.find(
    (each) => Date.parse(each.start) * 1000 <= start && start < Date.parse(each.end) * 1000,
  );
  if (slice === undefined) throw new Error(`${namespace} has no slice for the time that is over`);
  const bucketOf = (time: number): number =>
    Math.floor((time - Date.parse(slice.start) * 1000) / (secondsPerTimeBucket * 1e6));
  return {
    namespace,
    id,
    start,
    end,
    slice: slice.name,
    bucketOf,
    location: (timeSeriesId, time = start) => ({
      timeSlice: slice.name,
      timeSeriesId,
      timeBucket: bucketOf(time),
      eventBucket: 0,
    }),
  };
}

/**
 * Nothing of the past is accepted from here on. Resolves when it can be split: when the floor is
 * settled.
 */
export async function sealSpaces(
  server: ServerProcess,
  spaces: readonly WideSpace[],
): Promise<void> {
  for (const { namespace } of spaces) await lowerAcceptLimit(server, namespace);
  await pause(SEALED_MS);
}

export async function lowerAcceptLimit(server: ServerProcess, namespace: string): Promise<void> {
  await server.post("ControlService/UpdateNamespace", { namespace, config: { acceptLimit: "1s" } });
}
