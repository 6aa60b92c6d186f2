/**
 * The Catalog on Cassandra: every change is a lightweight transaction, and nothing else writes to
 * its table (rule C19).
 *
 * A space is spread over shards by the hash of the key, so that a large one is not a wide partition
 * and changes of different records seldom conflict. `last`, one for each shard, is compared and
 * raised with every new version, so that no version is used twice, also not after a removal.
 *
 * A transaction whose answer is lost is looked up by its writer's mark: it is done, not done, or,
 * if another process has changed the record since, OUTCOME_UNKNOWN.
 */
import cassandra from "cassandra-driver";
import { LRUCache } from "lru-cache";
import { compareBytes, utf8 } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";
import { KeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Random } from "../../lib/random.ts";
import type { Catalog, CatalogRecord, CatalogVersion } from "../../ports/catalog.ts";
import { isRefusedTransaction, unavailable } from "./driver-errors.ts";
import type { QueryOptions, Result, Row, Session } from "./session.ts";

const { consistencies } = cassandra.types;
const { FallthroughRetryPolicy } = cassandra.policies.retry;

const SHARDS = 8;
const SHARD_SEED = 0x5d;
const READ_MS = 2_000;
const READ_TRIES = 2;
/** A frozen node must not make views old: long before that, another node is asked as well. */
const ASK_ANOTHER_MS = 500;
const CHANGE_MS = 5_000;
const ATTEMPTS_MAX = 20;
const RETRY_MS = 20;
const GUESSES_MAX = 10_000;

/** What it needs of a session. */
export type CatalogSession = Pick<Session, "execute" | "speculation" | "spansDatacenters">;

export interface CassandraCatalogOptions {
  readonly session: CatalogSession;
  readonly keyspace: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** A record as the transactions left it: null where there is none. */
interface Found {
  readonly version: number | null;
  readonly writer: string | undefined;
  readonly last: number | null;
}

/** Where a record is. */
interface CatalogKey {
  readonly space: string;
  readonly shard: number;
  readonly key: string;
}

export class CassandraCatalog implements Catalog {
  readonly shared = true;
  readonly #session: CatalogSession;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #reading: QueryOptions;
  readonly #readingLatest: QueryOptions;
  readonly #changing: QueryOptions;
  readonly #cql: ReturnType<typeof statements>;
  /** This process makes one change of a shard at a time: Cassandra would make them wait longer. */
  readonly #shards = new KeyedMutex();
  /** The last known version of a shard: a guess, which the transaction checks. */
  readonly #last = new LRUCache<string, number>({ max: GUESSES_MAX });

  constructor({ session, keyspace, clock, random }: CassandraCatalogOptions) {
    this.#session = session;
    this.#clock = clock;
    this.#random = random;
    this.#cql = statements(keyspace);
    // With several data centres, a local quorum of one does not see what another has changed.
    const wide = session.spansDatacenters;
    const consistency = wide ? consistencies.quorum : consistencies.localQuorum;
    const serial = wide ? consistencies.serial : consistencies.localSerial;
    this.#reading = { consistency, readTimeout: READ_MS };
    this.#readingLatest = { consistency: serial, readTimeout: CHANGE_MS };
    // A second attempt could find the effect of the first and take it for another process's change.
    this.#changing = {
      consistency,
      serialConsistency: serial,
      isIdempotent: false,
      // The driver would also repeat after "unavailable".
      retry: new FallthroughRetryPolicy(),
      readTimeout: CHANGE_MS,
    };
  }

  async read(space: string, key: string): Promise<CatalogRecord | undefined> {
    const { rows } = await this.#ask(this.#cql.read, [space, shardOf(key), key]);
    return recordOf(rows[0]);
  }

  list(space: string, after: string, limit: number): Promise<readonly CatalogRecord[]> {
    return this.#list(this.#cql.list, space, after, limit, recordOf);
  }

  versions(space: string, after: string, limit: number): Promise<readonly CatalogVersion[]> {
    return this.#list(this.#cql.versions, space, after, limit, versionOf);
  }

  async #list<T extends CatalogVersion>(
    query: string,
    space: string,
    after: string,
    limit: number,
    decode: (row: Row | undefined) => T | undefined,
  ): Promise<readonly T[]> {
    if (limit <= 0) return [];
    const shards = await Promise.all(
      Array.from({ length: SHARDS }, (_, shard) => this.#ask(query, [space, shard, after, limit])),
    );
    const records = shards.flatMap(({ rows }) => rows.map(decode));
    return records
      .filter((record) => record !== undefined)
      .map((record) => ({ record, bytes: utf8(record.key) }))
      .sort((a, b) => compareBytes(a.bytes, b.bytes))
      .slice(0, limit)
      .map(({ record }) => record);
  }

  async write(
    space: string,
    key: string,
    value: string,
    expected: number,
  ): Promise<number | undefined> {
    const at = { space, shard: shardOf(key), key };
    return this.#shards.run(shardName(at), () => this.#write(at, value, expected));
  }

  async remove(space: string, key: string, expected: number): Promise<boolean> {
    const at = { space, shard: shardOf(key), key };
    return this.#shards.run(shardName(at), () => this.#remove(at, expected));
  }

  async #write(at: CatalogKey, value: string, expected: number): Promise<number | undefined> {
    const shardKey = shardName(at);
    const writer = Buffer.from(this.#random.bytes(9)).toString("base64url");
    const { space, shard, key } = at;
    const before = expected === 0 ? null : expected;
    /** The first version that was tried without an answer: it may still take effect later. */
    let outcomeUnknown: number | undefined;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const last = this.#last.get(shardKey) ?? null;
      const version = (last ?? 0) + 1;
      const set = [value, version, writer, version, space, shard, key, last, before];
      const answer = await this.#change(this.#cql.write, set);
      if (answer === "done") {
        this.#guess(shardKey, version);
        return version;
      }
      if (answer !== "lost") {
        this.#guess(shardKey, numberOf(answer["last"]));
        // Only another record of the shard has changed: repeat with the next version.
        if (numberOf(answer["version"]) === before) continue;
        if (outcomeUnknown === undefined) return undefined;
      }
      outcomeUnknown ??= version;
      const found = await this.#lookUp(at);
      if (found.writer === writer && found.version !== null) return found.version;
      // A record that did not exist may have been created by us and removed since, unless no
      // version was used.
      const untouched = before === null ? (found.last ?? 0) < outcomeUnknown : true;
      if (found.version !== before || !untouched) throw unknown(at);
      this.#guess(shardKey, found.last);
    }
    throw outcomeUnknown === undefined ? busy(at) : unknown(at);
  }

  async #remove(at: CatalogKey, expected: number): Promise<boolean> {
    if (expected === 0) return false;
    const { space, shard, key } = at;
    let outcomeUnknown = false;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const answer = await this.#change(this.#cql.remove, [space, shard, key, expected]);
      if (answer === "done") return true;
      if (answer !== "lost" && !outcomeUnknown) return false;
      outcomeUnknown = true;
      const { version } = await this.#lookUp(at);
      if (version === null) return true;
      if (version !== expected) throw unknown(at);
    }
    throw unknown(at);
  }

  #guess(shardKey: string, last: number | null): void {
    if (last === null) this.#last.delete(shardKey);
    else this.#last.set(shardKey, last);
  }

  /** Done, or what it found instead; "lost" if no answer is conclusive. */
  async #change(query: string, params: unknown[]): Promise<"done" | "lost" | Row> {
    try {
      const { rows } = await this.#session.execute("catalog_change", query, params, this.#changing);
      const [row] = rows;
      return row?.["[applied]"] === true ? "done" : (row ?? {});
    } catch (error) {
      if (isRefusedTransaction(error)) throw catalogUnavailable(error);
      await this.#clock.sleep(RETRY_MS);
      return "lost";
    }
  }

  /** The record after a lost answer: a serial read first completes transactions under way. */
  async #lookUp(at: CatalogKey): Promise<Found> {
    const { space, shard, key } = at;
    let rows: readonly Row[];
    try {
      ({ rows } = await this.#ask(this.#cql.lookUp, [space, shard, key], this.#readingLatest));
      // A row that does not exist returns no static column: the shard itself is asked.
      if (rows.length === 0) {
        ({ rows } = await this.#ask(this.#cql.lookUpShard, [space, shard], this.#readingLatest));
      }
    } catch {
      throw unknown(at);
    }
    const [row] = rows;
    const writer = row?.["writer"];
    return {
      version: numberOf(row?.["version"]),
      writer: typeof writer === "string" ? writer : undefined,
      last: numberOf(row?.["last"]),
    };
  }

  async #ask(
    query: string,
    params: unknown[],
    options: QueryOptions = this.#reading,
  ): Promise<Result> {
    this.#session.speculation.setDelay(query, ASK_ANOTHER_MS);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#session.execute("catalog_read", query, params, options);
      } catch (error) {
        if (attempt === READ_TRIES) throw catalogUnavailable(error);
        await this.#clock.sleep(RETRY_MS * attempt);
      }
    }
  }
}

function statements(keyspace: string) {
  const where = "WHERE space = ? AND shard = ?";
  const table = `${keyspace}.catalog`;
  return {
    read: `SELECT key, value, version FROM ${table} ${where} AND key = ?`,
    list: `SELECT key, value, version FROM ${table} ${where} AND key > ? LIMIT ?`,
    versions: `SELECT key, version FROM ${table} ${where} AND key > ? LIMIT ?`,
    lookUp: `SELECT key, version, writer, last FROM ${table} ${where} AND key = ?`,
    lookUpShard: `SELECT DISTINCT last FROM ${table} ${where}`,
    write:
      `UPDATE ${table} SET value = ?, version = ?, writer = ?, last = ? ${where} AND key = ? ` +
      "IF last = ? AND version = ?",
    remove: `DELETE FROM ${table} ${where} AND key = ? IF version = ?`,
  };
}

function recordOf(row: Row | undefined): CatalogRecord | undefined {
  const found = versionOf(row);
  // The column is text.
  return found === undefined ? undefined : { ...found, value: row?.["value"] as string };
}

/** Undefined also for the remains of a record, when only its shard's `last` is left. */
function versionOf(row: Row | undefined): CatalogVersion | undefined {
  const version = numberOf(row?.["version"]);
  if (row === undefined || version === null) return undefined;
  // The column is text.
  return { key: row["key"] as string, version };
}

/** A 64-bit number of the driver; versions stay far below the limit of a JavaScript number. */
function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function shardOf(key: string): number {
  return hash32(utf8(key), SHARD_SEED) % SHARDS;
}

function shardName({ space, shard }: CatalogKey): string {
  return `${shard} ${space}`;
}

function catalogUnavailable(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return unavailable(`the catalog cannot be reached: ${reason}`, error);
}

function unknown({ space, key }: CatalogKey): ServiceError {
  return new ServiceError(
    "OUTCOME_UNKNOWN",
    "a change of the catalog may or may not have been made; check it and try again",
    { details: { space, key }, retryAfterMs: 1_000 },
  );
}

function busy({ space, key }: CatalogKey): ServiceError {
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    "too many processes change this record of the catalog at once; try again",
    { details: { space, key }, retryAfterMs: 1_000 },
  );
}
