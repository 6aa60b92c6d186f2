/** Opens the port of a process with its configured limits. */
import { Calls } from "../api/calls.ts";
import type { CallsOptions } from "../api/calls.ts";
import { Listener } from "../api/listen.ts";
import type { ListenOptions } from "../api/listen.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import type { ServiceConfig } from "./config.ts";
import type { Runtime } from "./runtime.ts";

/**
 * One connection may have this share of the requests and of the memory, so that a few cannot take
 * everything.
 */
const CONNECTION_SHARE = 8;
/** Open files that are not connections: tables, logs, and five of each open slice. */
const OTHER_FILES = 512;
const SLICE_FILES = 5;

export interface OpenListener {
  readonly listener: Listener;
  readonly calls: Calls;
  readonly budget: ByteBudget;
}

type Given = Pick<ListenOptions, "methods" | "metrics" | "notReady" | "readyDetail"> &
  Pick<CallsOptions, "observe" | "namespaceExists" | "readWaitMsMax">;

export async function openListener(
  config: ServiceConfig,
  runtime: Runtime,
  given: Given,
): Promise<OpenListener> {
  const { clock } = runtime;
  const { requests_in_flight, request_memory, reads_running, connections, watchers } =
    config.server;
  const budget = new ByteBudget(request_memory);
  const calls = new Calls({
    ...runtime,
    ...given,
    tracer: runtime.tracing?.tracer,
    inFlightMax: requests_in_flight,
    watchersMax: watchers,
    budget,
    reads: new FairQueue(clock, reads_running),
  });
  const listener = await Listener.open({
    ...runtime,
    ...given,
    calls,
    host: config.listen.host,
    port: config.listen.port,
    connectionsMax: Math.min(connections, filesAllowed(config.server.open_slices)),
    connectionRequestsMax: Math.max(8, Math.ceil(requests_in_flight / CONNECTION_SHARE)),
    connectionBytesMax: Math.max(config.limits.request_bytes, request_memory / CONNECTION_SHARE),
    allowedHosts: config.allowed_hosts,
  });
  return { listener, calls, budget };
}

/** A connection is an open file: this many fit into the system's limit. */
function filesAllowed(openSlices: number): number {
  const report = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
  };
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft)
    ? Math.max(16, soft - OTHER_FILES - SLICE_FILES * openSlices)
    : Infinity;
}
