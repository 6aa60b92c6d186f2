import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { placed } from "../../../tests/conformance/event-store.ts";
import { until } from "../../../tests/support/conditions.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { EventStore } from "../../ports/event-store.ts";
import { openEmbeddedEngine } from "./index.ts";
import { VERIFY_AGAIN_MS, VERIFY_LOOK_MS } from "./table-verifier.ts";

const SLICE = { namespaceId: "ns1", slice: "data_1" };
const never = new AbortController().signal;

test("C22: a table that was verified a day ago is read again, and damage makes its slice fail", async () => {
  await using fixture = await Fixture.open();
  equal(await fixture.count("a"), 100);
  equal(await fixture.count("z"), 100);
  await fixture.day();
  await until(() => fixture.verifiedBytes > 0);
  equal(fixture.damaged, 0);
  equal(await fixture.count("a"), 100);

  const before = fixture.verifiedBytes;
  await fixture.day();
  await until(() => fixture.verifiedBytes > before);

  await fixture.flip();
  await fixture.day();
  await until(() => fixture.damaged === 1);
  // All of the slice, whichever table it needs, and until the files are whole again.
  for (const series of ["a", "z"]) await rejects(fixture.count(series), isDataLoss);
  await fixture.clock.advance(60_000);
  await rejects(fixture.count("a"), isDataLoss);
  deepEqual(fixture.warnings, [
    "the background verification found that slice ns1/data_1 is damaged",
  ]);
});

test("C22: a table that is gone by then is not missed", async () => {
  await using fixture = await Fixture.open();
  equal(await fixture.count("a"), 100);
  await fixture.store.dropSlice(SLICE);
  await fixture.day();
  equal(fixture.damaged, 0);
  deepEqual(fixture.warnings, []);
});

function isDataLoss(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "DATA_LOSS";
}

class Fixture {
  readonly clock = new VirtualClock(0);
  readonly warnings: string[] = [];
  verifiedBytes = 0;
  damaged = 0;
  readonly #directory: string;
  #engine: Awaited<ReturnType<typeof openEmbeddedEngine>> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** A slice whose events are in tables, in an engine that has just been opened. */
  static async open(): Promise<Fixture> {
    const fixture = new Fixture(await mkdtemp(join(tmpdir(), "braid-table-verifier-")));
    await fixture.#start();
    await fixture.store.createSlice(SLICE);
    for (const series of ["a", "z"]) {
      const events = Array.from({ length: 100 }, (_, n) => placed(series, n, `e-${n}`));
      await fixture.store.append(SLICE, events);
    }
    // LevelDB turns its log into a table when it opens.
    for (let restarts = 0; restarts < 2; restarts++) {
      await fixture.#engine?.close();
      await fixture.#start();
      await fixture.count("a");
    }
    ok((await fixture.#tables()).length > 0);
    return fixture;
  }

  async #start(): Promise<void> {
    this.#engine = await openEmbeddedEngine({
      directory: this.#directory,
      clock: this.clock,
      observer: {
        committed: () => undefined,
        openStoresChanged: () => undefined,
        tableVerified: (bytes) => (this.verifiedBytes += bytes),
        tableDamaged: () => this.damaged++,
      },
      warn: (message) => void this.warnings.push(message),
    });
  }

  get store(): EventStore {
    ok(this.#engine !== undefined);
    return this.#engine.store;
  }

  async count(seriesId: string): Promise<number> {
    const partition: PartitionKey = { ...SLICE, seriesId, timeBucket: 0, eventBucket: 0 };
    const range = { from: 0, to: 1_000, order: "OLDEST_FIRST", after: undefined } as const;
    const limits = { runEventsMax: 1_000, runBytesMax: 1 << 20 };
    let count = 0;
    for await (const run of this.store.scan(partition, { ...range, ...limits }, never)) {
      count += run.count;
    }
    return count;
  }

  /** A day passes, and a little more. */
  async day(): Promise<void> {
    await this.clock.advance(VERIFY_AGAIN_MS + 2 * VERIFY_LOOK_MS);
  }

  async flip(): Promise<void> {
    const [table] = await this.#tables();
    ok(table !== undefined);
    const file = await open(table, "r+");
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, 100);
    byte.writeUInt8(byte.readUInt8(0) ^ 1, 0);
    await file.write(byte, 0, 1, 100);
    await file.close();
  }

  async #tables(): Promise<string[]> {
    const folder = join(this.#directory, "events", "ns1", "data_1", "level");
    return (await readdir(folder))
      .filter((name) => name.endsWith(".ldb"))
      .map((name) => join(folder, name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine?.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
