/**
 * The one Cassandra node and the one Kafka broker that all tests of a run share.
 *
 * They start in the background with low priority, beside the tests that need neither. The test
 * files get their addresses in the environment. If an address is already set there, the tests use
 * that service.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { startCassandra } from "./cassandra-cluster.ts";
import { SERVICES_CACHE } from "./fetch-artifacts.ts";
import { startKafka } from "./kafka-broker.ts";

export interface TestServices {
  /**
   * Resolves when all of them answer and the environment says where; rejects with the end of the
   * log.
   */
  untilReady(): Promise<void>;
  /** Ends them, also those that are still getting up, and removes their data. */
  stop(): Promise<void>;
}

export function beginTestServices(wanted: ReadonlySet<string>): TestServices {
  const stopping = new AbortController();
  const ready = start(wanted, stopping.signal);
  // The code that waits reports a failure; until then nothing waits.
  ready.catch(() => undefined);
  return {
    async untilReady() {
      await ready;
    },
    async stop() {
      stopping.abort(new Error("stopped"));
      const stop = await ready.catch(() => undefined);
      await stop?.();
    },
  };
}

async function start(
  wanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const cassandra = wanted.has("cassandra") && process.env["BRAID_TEST_CASSANDRA"] === undefined;
  const kafka = wanted.has("kafka") && process.env["BRAID_TEST_KAFKA"] === undefined;
  if (!cassandra && !kafka) return () => Promise.resolve();

  await mkdir(SERVICES_CACHE, { recursive: true });
  const directory = await mkdtemp(join(SERVICES_CACHE, "test-"));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const failing = new AbortController();
  const common = {
    directory,
    lowPriority: true,
    signal: AbortSignal.any([signal, failing.signal]),
  };
  const starting = [
    ...(cassandra ? [startSharedCassandra(common)] : []),
    ...(kafka ? [startSharedKafka(common)] : []),
  ];
  try {
    const stops = await Promise.all(starting);
    return async () => {
      await Promise.all(stops.map((stop) => stop()));
      await remove();
    };
  } catch (error) {
    failing.abort(error);
    await Promise.allSettled(starting);
    // After a failure people need the logs.
    if (signal.aborted) await remove();
    throw error;
  }
}

interface CommonOptions {
  readonly directory: string;
  readonly lowPriority: boolean;
  readonly signal: AbortSignal;
}

async function startSharedCassandra(common: CommonOptions): Promise<() => Promise<void>> {
  const cluster = await startCassandra({
    ...common,
    nodes: 1,
    heapMiB: 1024,
    fastStart: true,
    unsafeSystem: true,
  });
  process.env["BRAID_TEST_CASSANDRA"] = `${cluster.contactPoints[0]}:${cluster.port}`;
  process.env["BRAID_TEST_JOLOKIA"] = cluster.nodes[0]?.jolokiaUrl;
  return () => cluster.stop();
}

async function startSharedKafka(common: CommonOptions): Promise<() => Promise<void>> {
  const broker = await startKafka(common);
  process.env["BRAID_TEST_KAFKA"] = broker.address;
  // Nothing of it is kept.
  return () => broker.kill();
}
