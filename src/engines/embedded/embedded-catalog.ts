/**
 * The Catalog of one machine: a LevelDB store of its own that syncs every change.
 *
 * One process owns the data directory, so a mutex for each record implements compare-and-set.
 * Versions come from one counter, written in the same batch as the change, so that no version is
 * used twice.
 */
import { ServiceError } from "../../lib/errors.ts";
import { KeyedMutex } from "../../lib/keyed-mutex.ts";
import { hash32 } from "../../lib/hash.ts";
import type { Catalog, CatalogRecord, CatalogVersion } from "../../ports/catalog.ts";
import type { CheckedLevel } from "./checked-level.ts";
import type { LevelBatch } from "./level.ts";
import { decodeCount, encodeCount, systemKey } from "./system-keys.ts";
import { VersionIndex } from "./version-index.ts";

const VERSION_KEY = systemKey("v");
const SEPARATOR = Buffer.from([0xff]);
const CHECKSUM_BYTES = 4;
const HEAD_BYTES = CHECKSUM_BYTES + 8;
/** Two spaces are asked for versions, each with a record for each namespace. */
const INDEXES_MAX = 4;

export class EmbeddedCatalog implements Catalog {
  readonly shared = false;
  readonly #level: CheckedLevel;
  #version: number;
  readonly #records = new KeyedMutex();
  /** Of the spaces whose versions were asked for. */
  readonly #indexes = new Map<string, VersionIndex>();

  private constructor(level: CheckedLevel, version: number) {
    this.#level = level;
    this.#version = version;
  }

  static async open(level: CheckedLevel): Promise<EmbeddedCatalog> {
    const stored = await level.get(VERSION_KEY);
    return new EmbeddedCatalog(level, stored === undefined ? 0 : decodeCount(VERSION_KEY, stored));
  }

  async read(space: string, key: string): Promise<CatalogRecord | undefined> {
    const recordKey = keyOf(space, key);
    const value = await this.#level.get(recordKey);
    return value === undefined ? undefined : decodeRecord(space, key, recordKey, value);
  }

  list(space: string, after: string, limit: number): Promise<readonly CatalogRecord[]> {
    return this.#list(space, after, limit, decodeRecord);
  }

  async versions(space: string, after: string, limit: number): Promise<readonly CatalogVersion[]> {
    if (limit <= 0) return [];
    const index = this.#indexOf(space);
    if (index === undefined) return this.#list(space, after, limit, decodeVersion);
    try {
      return await index.versions(after, limit);
    } catch (error) {
      if (this.#indexes.get(space) === index) this.#indexes.delete(space);
      throw error;
    }
  }

  #indexOf(space: string): VersionIndex | undefined {
    const known = this.#indexes.get(space);
    if (known !== undefined || this.#indexes.size >= INDEXES_MAX) return known;
    const index = new VersionIndex(() => this.#list(space, "", Infinity, decodeVersion));
    this.#indexes.set(space, index);
    return index;
  }

  async #list<T>(
    space: string,
    after: string,
    limit: number,
    decode: (space: string, key: string, recordKey: Buffer, value: Buffer) => T,
  ): Promise<readonly T[]> {
    if (limit <= 0) return [];
    const prefix = Buffer.concat([Buffer.from(space), SEPARATOR]);
    const iterator = await this.#level.iterate({
      gt: keyOf(space, after),
      lt: Buffer.concat([prefix, SEPARATOR]),
      limit,
    });
    try {
      const records: T[] = [];
      for (;;) {
        const entries = await iterator.nextv(Math.min(limit, 1000));
        if (entries.length === 0) return records;
        for (const [key, value] of entries) {
          records.push(decode(space, key.toString("utf8", prefix.length), key, value));
        }
      }
    } catch (error) {
      throw this.#level.readError(error);
    } finally {
      await iterator.close();
    }
  }

  async write(
    space: string,
    key: string,
    value: string,
    expected: number,
  ): Promise<number | undefined> {
    let version: number | undefined;
    const versionOf = (): number => version ?? 0;
    await this.#change(space, key, expected, versionOf, (batch, recordKey) => {
      // A repeated write keeps its version; the counter may have advanced meanwhile.
      version ??= ++this.#version;
      const stored = encodeRecord(recordKey, version, value);
      batch.put(recordKey, stored);
      batch.put(VERSION_KEY, encodeCount(VERSION_KEY, this.#version));
      return recordKey.length + stored.length;
    });
    return version;
  }

  remove(space: string, key: string, expected: number): Promise<boolean> {
    return this.#change(
      space,
      key,
      expected,
      () => 0,
      (batch, recordKey) => {
        batch.del(recordKey);
        return recordKey.length;
      },
    );
  }

  /** `versionOf`: the version of the record once it is stored; 0 if it is removed. */
  async #change(
    space: string,
    key: string,
    expected: number,
    versionOf: () => number,
    fill: (batch: LevelBatch, recordKey: Buffer) => number,
  ): Promise<boolean> {
    const recordKey = keyOf(space, key);
    return this.#records.run(recordKey.toString("latin1"), async () => {
      const found = await this.read(space, key);
      if ((found?.version ?? 0) !== expected) return false;
      if (found === undefined && expected !== 0) return false;
      try {
        await this.#level.writeAgain((batch) => fill(batch, recordKey));
      } catch (error) {
        // It may be stored all the same.
        this.#indexes.delete(space);
        throw error;
      }
      this.#indexes.get(space)?.stored(key, versionOf());
      return true;
    });
  }
}

function keyOf(space: string, key: string): Buffer {
  return Buffer.concat([Buffer.from(space), SEPARATOR, Buffer.from(key)]);
}

function encodeRecord(key: Buffer, version: number, text: string): Buffer {
  const value = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(text));
  value.writeBigUInt64BE(BigInt(version), CHECKSUM_BYTES);
  value.write(text, HEAD_BYTES);
  value.writeUInt32BE(hash32(value.subarray(CHECKSUM_BYTES), hash32(key, 0)), 0);
  return value;
}

function decodeRecord(space: string, key: string, recordKey: Buffer, value: Buffer): CatalogRecord {
  const { version } = decodeVersion(space, key, recordKey, value);
  return { key, value: value.toString("utf8", HEAD_BYTES), version };
}

function decodeVersion(
  space: string,
  key: string,
  recordKey: Buffer,
  value: Buffer,
): CatalogVersion {
  if (
    value.length < HEAD_BYTES ||
    value.readUInt32BE(0) !== hash32(value.subarray(CHECKSUM_BYTES), hash32(recordKey, 0))
  ) {
    throw new ServiceError("DATA_LOSS", "a record of the catalog does not match its checksum", {
      details: { space },
    });
  }
  return { key, version: Number(value.readBigUInt64BE(CHECKSUM_BYTES)) };
}
