/**
 * `braid serve` and `braid worker`: they start, print their address, and run until a signal stops
 * them.
 */
import { setFlagsFromString } from "node:v8";
import { ServiceError } from "../lib/errors.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog } from "../lib/log.ts";
import { systemRandom } from "../lib/random.ts";
import { startService } from "./compose.ts";
import type { Service } from "./compose.ts";
import { openTelemetryVariables } from "./config.ts";
import type { LoadedConfig, ServiceConfig } from "./config.ts";
import { endOnBugs, signalToStop } from "./lifecycle.ts";
import { startWorker } from "./worker.ts";
import type { Runtime, Tracing } from "./runtime.ts";

/**
 * Ends the process with 0 after a clean stop. Resolves with the exit code if the process could not
 * start.
 */
export function serve(loaded: LoadedConfig): Promise<number> {
  return runUntilStopped(loaded, startService, greeting);
}

export function work(loaded: LoadedConfig): Promise<number> {
  keepMemoryLow();
  return runUntilStopped(loaded, startWorker, workerGreeting);
}

/**
 * Copying makes much garbage, and V8 lets the heap grow to a multiple of the live data before it
 * collects. This limits the growth: at 20 % collecting takes half of all processor time, and above
 * 60 % little is gained (docs/performance.md). The launcher sets how memory is returned.
 */
function keepMemoryLow(): void {
  setFlagsFromString("--heap-growing-percent=60");
}

async function runUntilStopped(
  { config, warnings }: LoadedConfig,
  start: (config: ServiceConfig, runtime: Runtime) => Promise<Service>,
  greet: (config: ServiceConfig, port: number) => string,
): Promise<number> {
  // LevelDB makes files that everybody may read, unless the process says otherwise.
  process.umask(0o077);
  const log = createLog(config.log_level);
  endOnBugs(log);
  for (const warning of warnings) log.warn(warning);
  const stopping = signalToStop(log);
  let service: Service;
  try {
    const runtime = { clock: systemClock, random: systemRandom, log };
    service = await start(config, { ...runtime, tracing: await tracingOf(runtime) });
  } catch (error) {
    process.stderr.write(`braid: ${startProblem(error, config)}\n`);
    return 1;
  }
  process.stdout.write(greet(config, service.port));
  const signal = await stopping;
  log.info({ signal }, "stopping; requests in flight finish first");
  await service.stop();
  // Everything that was started is stopped. What a library leaves open must not keep the process
  // alive: after an outage of all nodes, the Cassandra driver had connections that none of its
  // pools knew.
  process.exit(0);
}

/** Without variables of OpenTelemetry nothing of it is loaded. */
async function tracingOf(runtime: Runtime): Promise<Tracing | undefined> {
  const variables = openTelemetryVariables();
  if (Object.keys(variables).length === 0) return undefined;
  const { openTracing } = await import("./tracing/open-tracing.ts");
  return openTracing(variables, runtime);
}

function greeting(config: ServiceConfig, port: number): string {
  const url = urlOf(config, port);
  return [
    `braid: listening on ${url} (engine ${config.engine}, ${storageOf(config)})`,
    `  console: ${url}/, API reference: ${url}/docs`,
    `  create a namespace: curl --json '{"namespace":"plays"}' ${url}/braid.v1.ControlService/CreateNamespace`,
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

/** Where the events are stored. */
function storageOf(config: ServiceConfig): string {
  return config.engine === "embedded"
    ? `data ${config.data}`
    : `contact points ${config.cassandra.contact_points.join(", ")}`;
}

/** One line that says what to do. */
function startProblem(error: unknown, config: ServiceConfig): string {
  if (error instanceof ServiceError) return error.message;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const { host, port } = config.listen;
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use; stop the process that uses it, or choose another with --listen ${host}:PORT`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `this machine has no address ${host} to listen on; choose another with --listen`;
    case "EACCES":
    case "EPERM":
      return error instanceof Error && "syscall" in error && error.syscall === "listen"
        ? `this process may not listen on port ${port}; choose one above 1023 with --listen`
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
