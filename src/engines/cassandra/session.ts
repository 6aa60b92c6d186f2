/**
 * The connection to a cluster: one driver client with the settings that all statements share.
 *
 * Statements are prepared, sent to a replica, and safe to repeat unless they compare before they
 * set. A repeat by the driver carries the timestamp of the first attempt, so it writes the same
 * event.
 */
import cassandra from "cassandra-driver";
import type { Client, Host, QueryOptions } from "cassandra-driver";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { ClusterOptions } from "./cluster-options.ts";
import { cannotConnect } from "./driver-errors.ts";
import type { Replication } from "./schema.ts";
import { Speculation } from "./speculation.ts";

const { auth, policies, types } = cassandra;

export type StatementKind =
  "read" | "write" | "catalog_read" | "catalog_change" | "counts" | "sizes" | "walk";

export type ObserveStatement = (kind: StatementKind, ms: number, outcome: "ok" | "failed") => void;

export interface SessionObserver {
  readonly observe: ObserveStatement;
  readonly warn: (message: string) => void;
}

export type { Host, QueryOptions } from "cassandra-driver";

export interface Row {
  readonly [column: string]: unknown;
}

export interface Result {
  readonly rows: readonly Row[];
  /** Whether there are more rows behind these. */
  readonly more: boolean;
  /** The driver's cursor to those rows. */
  readonly next?: string | undefined;
}

/** Enough for the variants of every slice in use; the driver forgets the others. */
const PREPARED_MAX = 10_000;
const CONNECT_MS = 5_000;
const ANSWER_MS = 2_000;
/** A node with this many unanswered requests in a row counts as dead. */
const UNANSWERED_MAX = 16;
const HEARTBEAT_MS = 5_000;
const SCHEMA_ASK_MS = 100;
const SCHEMA_ASK_MS_MAX = 2_000;
/** After this many silent answers about its schema a node is not waited for. */
const SILENT_MAX = 2;
const SCHEMA_MS_MAX = 10_000;

export class Session {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #observe: ObserveStatement;
  readonly speculation: Speculation;
  readonly options: ClusterOptions;
  /** One schema change at a time: Cassandra does not handle concurrent ones well. */
  #changing: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(
    client: Client,
    clock: Clock,
    options: ClusterOptions,
    speculation: Speculation,
    observe: ObserveStatement,
  ) {
    this.#client = client;
    this.#clock = clock;
    this.#observe = observe;
    this.options = options;
    this.speculation = speculation;
  }

  /** Rejects with STORAGE_UNAVAILABLE and a sentence if no node answers. */
  static async connect(
    options: ClusterOptions,
    clock: Clock,
    { observe, warn }: SessionObserver,
  ): Promise<Session> {
    const speculation = new Speculation();
    const { username, password } = options;
    const client = new cassandra.Client({
      contactPoints: [...options.contactPoints],
      localDataCenter: options.datacenter,
      ...(username === undefined
        ? {}
        : { authProvider: new auth.PlainTextAuthProvider(username, password ?? "") }),
      // Large answers delay those behind them on the same connection.
      pooling: {
        coreConnectionsPerHost: { [types.distance.local]: 2, [types.distance.remote]: 1 },
        heartBeatInterval: HEARTBEAT_MS,
      },
      socketOptions: {
        connectTimeout: CONNECT_MS,
        // For requests without a time limit of their own, such as preparing a statement.
        readTimeout: ANSWER_MS,
        defunctReadTimeoutThreshold: UNANSWERED_MAX,
        coalescingThreshold: 64 << 10,
      },
      queryOptions: { prepare: true, isIdempotent: true, fetchSize: 0 },
      // A value is a view of the answer it came in: code that keeps it copies it.
      encoding: { copyBuffer: false },
      maxPrepared: PREPARED_MAX,
      // A node that does not answer would delay the first use of every statement.
      prepareOnAllHosts: false,
      policies: {
        reconnection: new policies.reconnection.ExponentialReconnectionPolicy(200, 5_000),
        speculativeExecution: speculation,
      },
      // Waited for below, by the nodes that are up.
      protocolOptions: { maxSchemaAgreementWaitSeconds: 0 },
    });
    client.on("log", (level: string, _where: string, message: string) => {
      if (level === "error") warn(message);
    });
    try {
      await client.connect();
    } catch (error) {
      await client.shutdown();
      throw cannotConnect(error, options);
    }
    return new Session(client, clock, options, speculation, observe);
  }

  /** True where a change must reach more than one data centre before it counts. */
  get spansDatacenters(): boolean {
    return Object.keys(this.options.replication).length > 1;
  }

  /** All nodes of our data centre, including those that are down. */
  get localHosts(): readonly Host[] {
    const { datacenter } = this.options;
    return this.#client.hosts.values().filter((host) => host.datacenter === datacenter);
  }

  /**
   * Nodes of our data centre that are up, according to the driver, which does not watch other data
   * centres.
   */
  get hostsUp(): readonly Host[] {
    return this.localHosts.filter((host) => host.isUp());
  }

  /** The replication of an existing keyspace. */
  async replicationOf(keyspace: string): Promise<Replication> {
    const query = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    const { rows } = await this.#client.execute(query, [keyspace], {
      consistency: types.consistencies.one,
    });
    // A map of text, including the class.
    const { class: _, ...copies } = (rows[0]?.["replication"] ?? {}) as Record<string, string>;
    return Object.fromEntries(
      Object.entries(copies).map(([datacenter, count]) => [datacenter, Number(count)]),
    );
  }

  async execute(
    kind: StatementKind,
    query: string,
    params: unknown[],
    options: QueryOptions,
  ): Promise<Result> {
    return this.#measured(kind, () => this.#client.execute(query, params, options));
  }

  /** One statement with several rows of parameters, applied together: all of one partition. */
  batch(
    kind: StatementKind,
    query: string,
    rows: readonly unknown[][],
    options: QueryOptions,
  ): Promise<Result> {
    const queries = rows.map((params) => ({ query, params }));
    return this.#measured(kind, () => this.#client.batch(queries, { ...options, logged: false }));
  }

  async #measured(
    kind: StatementKind,
    send: () => Promise<cassandra.types.ResultSet>,
  ): Promise<Result> {
    if (this.#closed) throw closed();
    const startedMs = this.#clock.monotonicMs();
    let outcome: "ok" | "failed" = "failed";
    try {
      const { rows, pageState } = await send();
      outcome = "ok";
      // A statement without result rows has none, whatever the types say.
      const next = typeof pageState === "string" ? pageState : undefined;
      return { rows: rows ?? [], more: next !== undefined, next };
    } finally {
      this.#observe(kind, this.#clock.monotonicMs() - startedMs, outcome);
    }
  }

  /** Changes the schema and waits until every node of our data centre that is up has seen it. */
  changeSchema(statement: string): Promise<void> {
    const change = this.#changing.then(async () => {
      if (this.#closed) throw closed();
      await this.#client.execute(statement, [], {
        prepare: false,
        readTimeout: SCHEMA_MS_MAX,
        consistency: types.consistencies.quorum,
      });
      await this.#agree();
    });
    this.#changing = change.catch(() => undefined);
    return change;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#changing;
    await this.#client.shutdown();
  }

  /**
   * The driver would also wait for nodes that are down, possibly for ever. A node that is silent
   * twice is left out too: a frozen node counts as up for a while. It learns from the others what
   * it has missed some time after it wakes.
   */
  async #agree(): Promise<void> {
    const give = this.#clock.monotonicMs() + SCHEMA_MS_MAX;
    const silent = new Map<Host, number>();
    for (;;) {
      const asked = this.hostsUp.filter((host) => (silent.get(host) ?? 0) < SILENT_MAX);
      const answers = await Promise.all(asked.map((host) => this.#schemaVersionOf(host)));
      asked.forEach((host, i) => {
        if (answers[i] === undefined) silent.set(host, (silent.get(host) ?? 0) + 1);
      });
      const versions = new Set(answers.filter((version) => version !== undefined));
      const heard = asked.every((host, i) => answers[i] !== undefined || !host.isUp());
      if (versions.size === 1 && heard) return;
      if (this.#clock.monotonicMs() > give) {
        throw new ServiceError(
          "STORAGE_UNAVAILABLE",
          "the nodes of the cluster do not agree on the schema; check `nodetool describecluster`",
          { retryAfterMs: 1_000 },
        );
      }
      await this.#clock.sleep(SCHEMA_ASK_MS);
    }
  }

  /** Undefined if it does not answer. */
  async #schemaVersionOf(host: Host): Promise<string | undefined> {
    try {
      const { rows } = await this.#client.execute("SELECT schema_version FROM system.local", [], {
        host,
        prepare: false,
        readTimeout: SCHEMA_ASK_MS_MAX,
        consistency: types.consistencies.one,
      });
      return String(rows[0]?.["schema_version"]);
    } catch {
      return undefined; // Down, frozen or busy: the caller decides how often to ask again.
    }
  }
}

function closed(): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", "the connection to Cassandra is closed");
}
