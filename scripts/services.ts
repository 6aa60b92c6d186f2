/**
 * Cassandra and Kafka for development, on loopback: `npm run services -- up`, `status`, `down`.
 *
 * What `up` starts keeps running; `down` stops exactly these processes. All of it is under
 * `.services/`: the jars, which are fetched once, and a folder each process with its configuration,
 * log and data.
 */
import { globSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { CASSANDRA_VERSION, startCassandra } from "./services/cassandra-cluster.ts";
import { SERVICES_CACHE } from "./services/fetch-artifacts.ts";
import { missingTools } from "./services/find-java.ts";
import { startKafka } from "./services/kafka-broker.ts";
import { endProcess, isRunning, readProcessFile } from "./services/process-file.ts";
import type { StartedProcess } from "./services/process-file.ts";

const USAGE = `usage: npm run services -- up [--nodes 1|3] [--cassandra ${CASSANDRA_VERSION}|4.1.10] [--heap MIB]
       npm run services -- status [--json]
       npm run services -- down [--keep-data]`;

const RUN = join(SERVICES_CACHE, "run");
/** What the data there was made with. */
const MADE_WITH = join(RUN, "made-with.txt");

/** Done, failed, wrong usage, interrupted: as those of `braid`. */
type ExitCode = 0 | 1 | 2 | 130;

interface Options {
  readonly nodes: string;
  readonly cassandra: string;
  readonly heap: string | undefined;
  readonly json: boolean;
  readonly "keep-data": boolean;
}

async function up(options: Options): Promise<ExitCode> {
  const started = startedProcesses();
  const running = started.filter(isRunning);
  const nodes = options.nodes === "1" ? "1 node" : `${options.nodes} nodes`;
  const wanted = `Cassandra ${options.cassandra} with ${nodes}`;
  const found = started.length > 0 ? await readFile(MADE_WITH, "utf8") : wanted;
  if (found !== wanted) {
    const what = running.length > 0 ? "is running" : "has left its data";
    return refuse(`${found} ${what}: \`npm run services -- down\` first`);
  }
  if (running.length === Number(options.nodes) + 1) {
    say("already up");
    for (const line of running.map(lineOf)) say(line);
    return 0;
  }
  if (running.length > 0) {
    const names = running.map(({ name }) => name).join(", ");
    return refuse(`only ${names} still running: \`npm run services -- down\` first`);
  }
  const missing = missingTools();
  if (missing !== undefined) return refuse(missing);

  await mkdir(RUN, { recursive: true });
  await writeFile(MADE_WITH, wanted);
  return start(options);
}

async function start(options: Options): Promise<ExitCode> {
  const interrupted = new AbortController();
  const interrupt = (): void => {
    say("stopping what has begun");
    interrupted.abort(new Error("interrupted"));
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupt);
  const common = {
    directory: RUN,
    lifetime: "own",
    signal: interrupted.signal,
    onProgress: say,
  } as const;
  const starting = [
    startCassandra({
      ...common,
      nodes: Number(options.nodes),
      version: options.cassandra,
      network: "127.0.0",
      // As Cassandra ships it, because people measure with this one.
      commitLogSync: "periodic",
      ...(options.heap === undefined ? {} : { heapMiB: Number(options.heap) }),
    }),
    startKafka({ ...common, host: "127.0.0.1" }),
  ] as const;
  try {
    const [cluster, broker] = await Promise.all(starting);
    const several = `BRAID_CASSANDRA_CONTACT_POINTS=${cluster.contactPoints.join(",")} BRAID_CASSANDRA_REPLICATION=3 `;
    say(`up: Cassandra at ${cluster.contactPoints.join(", ")}, Kafka at ${broker.address}. Now:`);
    const settings = cluster.nodes.length > 1 ? several : "";
    say(`  ${settings}bin/braid serve --engine cassandra --queue kafka`);
    return 0;
  } catch (error) {
    const byUser = interrupted.signal.aborted;
    // If one fails, the other is stopped too, so that nothing is half up.
    interrupted.abort(error);
    await Promise.allSettled(starting);
    await stopAll();
    if (byUser) return 130;
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

async function down(options: Options): Promise<ExitCode> {
  const stopped = await stopAll();
  if (options["keep-data"]) {
    say(`${stopped} stopped; the data is in ${relative(".", RUN)}`);
  } else {
    await rm(RUN, { recursive: true, force: true });
    say(stopped === 0 ? "nothing was running" : `${stopped} stopped, their data removed`);
  }
  return 0;
}

async function stopAll(): Promise<number> {
  const running = startedProcesses().filter(isRunning);
  await Promise.all(
    running.map(async (started) => {
      await endProcess(started, "SIGTERM");
      say(`${started.name}: stopped`);
    }),
  );
  return running.length;
}

function status(options: Options): ExitCode {
  const all = startedProcesses().map((started) => ({ ...started, up: isRunning(started) }));
  if (options.json) console.log(JSON.stringify(all, null, 2));
  else if (all.length === 0) say("nothing was started");
  else for (const each of all) say(each.up ? lineOf(each) : `${each.name}: ended; see ${each.log}`);
  return all.length > 0 && all.every((each) => each.up) ? 0 : 1;
}

function startedProcesses(): StartedProcess[] {
  return globSync(join(RUN, "*", "process.json"))
    .toSorted()
    .map(readProcessFile);
}

function lineOf({ name, version, address, since, pid }: StartedProcess): string {
  return `${name} ${version}: up since ${since}, process ${pid}, ${address}`;
}

function say(line: string): void {
  console.log(`services: ${line}`);
}

function refuse(why: string): 1 {
  console.error(`services: ${why}`);
  return 1;
}

const COMMANDS: Readonly<Record<string, (options: Options) => ExitCode | Promise<ExitCode>>> = {
  up,
  down,
  status,
};

async function main(): Promise<ExitCode> {
  const { command, options } = readArguments();
  if (command === undefined || options === undefined) {
    console.error(USAGE);
    return 2;
  }
  return command(options);
}

function readArguments(): Partial<{ command: (typeof COMMANDS)[string]; options: Options }> {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        nodes: { type: "string", default: "1" },
        cassandra: { type: "string", default: CASSANDRA_VERSION },
        heap: { type: "string" },
        json: { type: "boolean", default: false },
        "keep-data": { type: "boolean", default: false },
      },
    });
    const wrong =
      positionals.length !== 1 ||
      !["1", "3"].includes(values.nodes) ||
      !/^(4\.1|5\.0)\.\d+$/.test(values.cassandra) ||
      !/^\d{3,5}$/.test(values.heap ?? "1024");
    const command = COMMANDS[positionals[0] ?? ""];
    if (wrong || command === undefined) return {};
    return { command, options: { ...values, heap: values.heap } };
  } catch {
    return {}; // An option that does not exist: the usage says which ones do.
  }
}

process.exitCode = await main();
