/**
 * Several servers and workers that share one Cassandra, and one Kafka if given, under unique names;
 * and access to the catalog they share.
 *
 * Each starts through `bin/braid`; disposing the fleet stops all of them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { openCassandraEngine } from "../../src/engines/cassandra/index.ts";
import type { CassandraEngine } from "../../src/engines/cassandra/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import { startBraid } from "../support/braid-processes.ts";
import type { BraidProcess } from "../support/braid-processes.ts";
import { uniqueName } from "../support/services.ts";

export interface FleetOptions {
  /** Each "host:port". */
  readonly cassandra: readonly string[];
  /** If given, the queue is Kafka. */
  readonly kafka?: readonly string[];
  readonly viewMaxAgeMs: number;
  /** For every process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Server extends BraidProcess {
  /** Never retries: the tests check every answer. */
  readonly client: BraidClient;
}

export class Fleet {
  readonly #options: FleetOptions;
  readonly #directory: string;
  readonly #keyspace: string;
  readonly #engine: CassandraEngine;
  readonly #processes: BraidProcess[] = [];

  private constructor(
    options: FleetOptions,
    directory: string,
    keyspace: string,
    engine: CassandraEngine,
  ) {
    this.#options = options;
    this.#directory = directory;
    this.#keyspace = keyspace;
    this.#engine = engine;
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const keyspace = uniqueName("f");
    const engine = await openCassandraEngine({
      contactPoints: [...options.cassandra],
      datacenter: "datacenter1",
      replication: { datacenter1: 1 },
      keyspace,
      clock: systemClock,
      random: systemRandom,
      viewMaxAgeMs: options.viewMaxAgeMs,
      writeMaxMs: 10_000,
    });
    const directory = await mkdtemp(join(tmpdir(), "braid-fleet-"));
    return new Fleet(options, directory, keyspace, engine);
  }

  /** The stored state that the processes share. */
  get catalog(): Catalog {
    return this.#engine.catalog;
  }

  async serve(name: string, env: Readonly<Record<string, string>> = {}): Promise<Server> {
    const process = await this.#start("serve", name, env);
    const client = connect(process.url, { retries: { attemptsMax: 1 } });
    return Object.assign(process, { client });
  }

  work(name: string): Promise<BraidProcess> {
    return this.#start("worker", name, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop("SIGKILL")));
    await this.#engine.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #start(
    command: "serve" | "worker",
    name: string,
    env: Readonly<Record<string, string>>,
  ): Promise<BraidProcess> {
    const { cassandra, kafka, viewMaxAgeMs } = this.#options;
    const process = await startBraid({
      command,
      name,
      directory: this.#directory,
      flags: ["--engine", "cassandra", "--log-level", "warn"],
      env: {
        BRAID_CASSANDRA_CONTACT_POINTS: cassandra.join(","),
        BRAID_CASSANDRA_KEYSPACE: this.#keyspace,
        BRAID_VIEW_MAX_AGE: `${viewMaxAgeMs}ms`,
        // No machine is paused: the monotonic clock of a stopped process keeps running.
        BRAID_PAUSE_MAX: "1s",
        ...(kafka !== undefined && {
          BRAID_QUEUE: "kafka",
          BRAID_KAFKA_BROKERS: kafka.join(","),
          BRAID_KAFKA_PREFIX: `${this.#keyspace}.`,
        }),
        ...this.#options.env,
        ...env,
      },
    });
    this.#processes.push(process);
    return process;
  }
}
