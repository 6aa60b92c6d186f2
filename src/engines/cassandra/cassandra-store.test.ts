import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { utf8 } from "../../lib/bytes.ts";
import type { PlacedEvent, ScanRange } from "../../ports/event-store.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { CassandraStore } from "./cassandra-store.ts";
import type { StoreSession } from "./cassandra-store.ts";
import { SliceRegister } from "./slice-register.ts";
import { Speculation } from "./speculation.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };
const PARTITION = { ...SLICE, seriesId: "a", timeBucket: 0, eventBucket: 0 };
const never = new AbortController().signal;

interface Told {
  /** The schema changes, abbreviated. */
  readonly schema: string[];
  /** Called before a change of the schema is made. */
  changing: (statement: string) => void | Promise<void>;
  /** Called before a statement is answered, without any row. */
  executing: (kind: string, params: readonly unknown[]) => void | Promise<void>;
}

/**
 * A store on a cluster that accepts everything and holds nothing, and another process's register of
 * its slices.
 */
function storeOn() {
  const told: Told = { schema: [], changing: () => undefined, executing: () => undefined };
  const session: StoreSession = {
    options: { contactPoints: [], datacenter: "east", replication: { east: 3 } },
    speculation: new Speculation(),
    changeSchema: async (statement) => {
      told.schema.push(/^(?:CREATE|DROP) (?:KEYSPACE|TABLE)/.exec(statement)?.[0] ?? statement);
      await told.changing(statement);
    },
    execute: async (kind, _query, params) => {
      await told.executing(kind, params);
      return { rows: [], more: false };
    },
    batch: async (kind, _query, rows) => {
      await told.executing(kind, rows.flat());
      return { rows: [], more: false };
    },
  };
  const clock = new VirtualClock(0);
  const catalog = new MemoryCatalog();
  const [register, other] = [1, 2].map(() => new SliceRegister(catalog, clock, 10_000));
  if (register === undefined || other === undefined) throw new Error("both stores exist");
  const histogramTable = { removeNamespace: async () => undefined };
  const options = {
    session,
    register,
    clock,
    prefix: "braid",
    writeMaxMs: 10_000,
    histogramTable,
  };
  return { told, other, store: new CassandraStore(options) };
}

function eventOf(bytes: number): PlacedEvent {
  const items = [{ key: utf8("k"), value: new Uint8Array(bytes) }];
  const event = encodeEvent(utf8("a"), 1, utf8("e"), items);
  return { event, timeBucket: 0, eventBucket: 0 };
}

test("E8, C18: a dropped slice is not made again, and no table of it", async () => {
  const { told, store } = storeOn();
  await store.createSlice(SLICE);
  await store.dropSlice(SLICE);
  deepEqual(told.schema.splice(0), ["CREATE KEYSPACE", "CREATE TABLE", "DROP TABLE"]);
  await rejects(store.createSlice(SLICE), { code: "CONFLICT" });
  deepEqual(told.schema, []);
});

test("CP5, C18: a process that makes a slice while another drops it leaves no table behind", async () => {
  const { told, other, store } = storeOn();
  told.changing = async (statement) => {
    if (statement.startsWith("CREATE TABLE")) await other.move(SLICE, "DROPPED");
  };
  await rejects(store.createSlice(SLICE), { code: "CONFLICT" });
  deepEqual(told.schema, ["CREATE KEYSPACE", "CREATE TABLE", "DROP TABLE"]);
});

test("C18: a slice is dropped for all processes before its table is", async () => {
  const { told, other, store } = storeOn();
  await store.createSlice(SLICE);
  const states: (string | undefined)[] = [];
  told.changing = async () => void states.push((await other.read(SLICE))?.state);
  await store.dropSlice(SLICE);
  deepEqual(states, ["DROPPED"]);
});

test("C20: readers learn of a larger event before it is written", async () => {
  const { told, other, store } = storeOn();
  await store.createSlice(SLICE);
  const allowed: (number | undefined)[] = [];
  told.executing = async (kind) => {
    if (kind === "write") allowed.push((await other.read(SLICE))?.eventBytesMax);
  };
  await store.append(SLICE, [eventOf(10), eventOf(5_000)]);
  deepEqual(allowed, [8_192]);
  await store.close();
});

test("C20: a fetch asks for at most as many of the slice's largest events as fit, twice as many at first", async () => {
  const { told, store } = storeOn();
  await store.createSlice(SLICE);
  await store.append(SLICE, [eventOf(5_000)]);
  const limits: unknown[] = [];
  told.executing = (kind, params) => void (kind === "read" && limits.push(params.at(-1)));
  const range: ScanRange = {
    from: 0,
    to: 100,
    order: "NEWEST_FIRST",
    after: undefined,
    runEventsMax: 1_000,
    runBytesMax: 10 * 8_192,
  };
  for await (const _ of store.scan(PARTITION, range, never));
  equal(limits[0], 20);
  await store.close();
});
