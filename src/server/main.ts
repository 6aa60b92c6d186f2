/** `braid serve` and `braid worker`: start, say where they are, and run until they are told to stop. */
import { setFlagsFromString } from "node:v8";
import { ServiceError } from "../lib/errors.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog } from "../lib/log.ts";
import { systemRandom } from "../lib/random.ts";
import { startService } from "./compose.ts";
import type { Service } from "./compose.ts";
import type { LoadedConfig, ServiceConfig } from "./config.ts";
import { endOnBugs, signalToStop } from "./lifecycle.ts";
import { startWorker } from "./worker.ts";
import type { Runtime } from "./runtime.ts";

/** Ends the process with 0 when it was told to stop and did; resolves with its exit code if it could not start. */
export function serve(loaded: LoadedConfig): Promise<number> {
  return runUntilStopped(loaded, startService, greeting);
}

export function work(loaded: LoadedConfig): Promise<number> {
  keepMemoryLow();
  return runUntilStopped(loaded, startWorker, workerGreeting);
}

/**
 * A copy makes much garbage, and V8 lets the heap grow to a multiple of what lives before it looks. Here it grows by
 * this much: at 20 % collecting takes half of all the processor time, and above 60 % little is gained
 * (docs/performance.md). The launcher does the rest, by how memory is given back.
 */
function keepMemoryLow(): void {
  setFlagsFromString("--heap-growing-percent=60");
}

async function runUntilStopped(
  { config, warnings }: LoadedConfig,
  start: (config: ServiceConfig, runtime: Runtime) => Promise<Service>,
  greet: (config: ServiceConfig, port: number) => string,
): Promise<number> {
  const log = createLog(config.log_level);
  endOnBugs(log);
  for (const warning of warnings) log.warn(warning);
  const stopping = signalToStop(log);
  let service: Service;
  try {
    service = await start(config, { clock: systemClock, random: systemRandom, log });
  } catch (error) {
    process.stderr.write(`braid: ${startProblem(error, config)}\n`);
    return 1;
  }
  process.stdout.write(greet(config, service.port));
  const signal = await stopping;
  log.info({ signal }, "stopping: finishing what is under way");
  await service.stop();
  // All that was started is stopped. What a library leaves open must not keep the process: after all
  // nodes were away the Cassandra driver was seen to have connections that no pool of its knew.
  process.exit(0);
}

function greeting(config: ServiceConfig, port: number): string {
  const url = urlOf(config, port);
  return [
    `braid: listening on ${url} (engine ${config.engine}, ${storageOf(config)})`,
    `  docs: ${url}/docs`,
    `  make a namespace: curl --json '{"namespace":"plays"}' ${url}/braid.v1.ControlService/CreateNamespace`,
    "  stop: Ctrl-C",
    "",
  ].join("\n");
}

function workerGreeting(config: ServiceConfig, port: number): string {
  return [
    `braid: working (engine ${config.engine}, ${storageOf(config)}, queue ${config.queue})`,
    `  health and metrics: ${urlOf(config, port)}/metrics`,
    "  stop: Ctrl-C",
    "",
  ].join("\n");
}

function urlOf(config: ServiceConfig, port: number): string {
  const { host } = config.listen;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Where the events are. */
function storageOf(config: ServiceConfig): string {
  return config.engine === "embedded"
    ? `data ${config.data}`
    : `contact points ${config.cassandra.contact_points.join(", ")}`;
}

/** One line that says what to do about it. */
function startProblem(error: unknown, config: ServiceConfig): string {
  if (error instanceof ServiceError) return error.message;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const { host, port } = config.listen;
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use; stop what listens there, or choose another with --listen ${host}:PORT`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `this machine has no address ${host} to listen on; choose another with --listen`;
    case "EACCES":
    case "EPERM":
      return error instanceof Error && "syscall" in error && error.syscall === "listen"
        ? `port ${port} may not be listened on; choose one above 1023 with --listen`
        : `the data directory ${config.data} cannot be written; choose another with --data, or change its permissions`;
    case "EROFS":
    case "ENOTDIR":
    case "EEXIST":
    case "ENOSPC":
      return `the data directory ${config.data} cannot be used (${code}); choose another with --data`;
    default:
      return error instanceof Error ? `cannot start: ${error.message}` : "cannot start";
  }
}
