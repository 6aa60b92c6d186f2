/**
 * What every EventStore guarantees on any storage. Each engine's test calls this with a factory.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ServiceError } from "../../src/lib/errors.ts";
import type { Code } from "../../src/lib/errors.ts";
import { compareListedIds } from "../../src/model/listed-ids.ts";
import type { PartitionKey, SliceRef } from "../../src/model/partition.ts";
import type { EventStore, PlacedEvent, ScanRange } from "../../src/ports/event-store.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import { comparePositions, eventsOfRun, positionOf } from "../../src/wire/frames.ts";
import type { Position, Run } from "../../src/wire/frames.ts";
import { partitionWalkClaims } from "./partition-walk.ts";
import { storedBlockClaims } from "./stored-blocks.ts";

/** An empty store. `reopen` closes it and opens the same data again, as a restart does. */
export interface StoreUnderTest {
  readonly store: EventStore;
  reopen(): Promise<EventStore>;
  dispose(): Promise<void>;
}

const SLICE: SliceRef = { namespaceId: "ns1", slice: "data_20260328" };
const START = 1_774_656_000_000_000;
const ALL: ScanRange = {
  from: 0,
  to: Number.MAX_SAFE_INTEGER,
  order: "OLDEST_FIRST",
  after: undefined,
  runEventsMax: 1000,
  runBytesMax: 1 << 20,
};
const never = new AbortController().signal;

export function placed(
  series: string,
  time: number,
  id: string,
  payload = `${series} ${time} ${id}`,
  [timeBucket, eventBucket]: readonly [number, number] = [0, 0],
): PlacedEvent {
  const items = [{ key: Buffer.from("payload"), value: Buffer.from(payload) }];
  const event = encodeEvent(Buffer.from(series), time, Buffer.from(id), items);
  return { event, timeBucket, eventBucket };
}

function partition(seriesId: string, timeBucket = 0, eventBucket = 0): PartitionKey {
  return { ...SLICE, seriesId, timeBucket, eventBucket };
}

async function runs(
  store: EventStore,
  key: PartitionKey,
  range: Partial<ScanRange>,
): Promise<Run[]> {
  return Array.fromAsync(store.scan(key, { ...ALL, ...range }, never));
}

/** Events as text, for comparison: location and bytes. */
async function read(
  store: EventStore,
  key: PartitionKey,
  range: Partial<ScanRange> = {},
): Promise<string[]> {
  return (await runs(store, key, range)).flatMap((run) => [...eventsOfRun(run)].map(asText));
}

function asText(event: PlacedEvent["event"]): string {
  return Buffer.from(event.bytes.subarray(event.start, event.end)).toString("latin1");
}

function inOrder(events: readonly PlacedEvent[]): string[] {
  return events
    .toSorted((a, b) => comparePositions(positionOf(a.event), positionOf(b.event)))
    .map(({ event }) => asText(event));
}

function failsWith(...codes: Code[]): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && codes.includes(error.code);
}

export function eventStoreSuite(engine: string, make: () => Promise<StoreUnderTest>): void {
  const claim = (
    name: string,
    work: (store: EventStore, under: StoreUnderTest) => Promise<void>,
  ): void => {
    void test(`${engine}: ${name}`, async () => {
      const under = await make();
      try {
        await under.store.createSlice(SLICE);
        await work(under.store, under);
      } finally {
        await under.dispose();
      }
    });
  };

  claim(
    "events come back in order of time and id, both ways, as they were written",
    async (store) => {
      const events = [5, 1, 4, 1, 3].map((time, i) => placed("a", START + time, `e${i}`));
      await store.append(SLICE, events);
      assert.deepEqual(await read(store, partition("a")), inOrder(events));
      assert.deepEqual(
        await read(store, partition("a"), { order: "NEWEST_FIRST" }),
        inOrder(events).toReversed(),
      );
    },
  );

  claim("ids are ordered as UTF-8 bytes, not as JavaScript strings", async (store) => {
    const ids = ["\u{1f600}", "�", "a\u0000b", "a", "a\u0000", "é", "z", "\u0000"];
    const events = ids.map((id) => placed("s", START, id));
    await store.append(SLICE, events);
    const sorted = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const found = (await runs(store, partition("s"), {})).flatMap((run) =>
      [...eventsOfRun(run)].map((event) => Buffer.from(positionOf(event).id).toString()),
    );
    assert.deepEqual(found, sorted);
  });

  claim("partitions are not mixed up, whatever their names", async (store) => {
    const names = ["a", "ab", "a\u0000", "a\u0000b", "b", "\u{10ffff}", "A".repeat(512)];
    const all: { key: PartitionKey; event: PlacedEvent }[] = [];
    for (const name of names) {
      for (const [timeBucket, eventBucket] of [
        [0, 0],
        [0, 1],
        [1, 0],
        [256, 255],
      ] as const) {
        const event = placed(name, START + timeBucket, "id", undefined, [timeBucket, eventBucket]);
        all.push({ key: partition(name, timeBucket, eventBucket), event });
      }
    }
    await store.append(
      SLICE,
      all.map(({ event }) => event),
    );
    for (const { key, event } of all) assert.deepEqual(await read(store, key), inOrder([event]));
  });

  claim("the range includes its start and excludes its end", async (store) => {
    const events = [0, 1, 2, 3, 4].map((time) => placed("a", START + time, "e"));
    await store.append(SLICE, events);
    const middle = inOrder(events.slice(1, 3));
    const range = { from: START + 1, to: START + 3 };
    assert.deepEqual(await read(store, partition("a"), range), middle);
    const newest = { ...range, order: "NEWEST_FIRST" } as const;
    assert.deepEqual(await read(store, partition("a"), newest), middle.toReversed());
    assert.deepEqual(await read(store, partition("a"), { from: START + 3, to: START + 3 }), []);
    assert.deepEqual(await read(store, partition("a"), { from: START + 3, to: START }), []);
  });

  claim(
    "a scan continues behind a position, existing or not, and never leaves its range",
    async (store) => {
      const events = [0, 1, 2, 3].flatMap((time) =>
        ["b", "d"].map((id) => placed("a", START + time, id)),
      );
      await store.append(SLICE, events);
      for (const order of ["OLDEST_FIRST", "NEWEST_FIRST"] as const) {
        for (const time of [-1, 0, 1, 2, 3, 4]) {
          for (const id of ["a", "b", "c", "d", "e"]) {
            const after: Position = { time: START + time, id: Buffer.from(id) };
            const range = { from: START + 1, to: START + 3, after, order };
            const wanted = events.filter(({ event }) => {
              const behind = comparePositions(positionOf(event), after);
              return (
                event.time >= range.from &&
                event.time < range.to &&
                (order === "OLDEST_FIRST" ? behind > 0 : behind < 0)
              );
            });
            const ordered =
              order === "OLDEST_FIRST" ? inOrder(wanted) : inOrder(wanted).toReversed();
            assert.deepEqual(
              await read(store, partition("a"), range),
              ordered,
              `${order} ${time}${id}`,
            );
          }
        }
      }
    },
  );

  claim(
    "runs keep to their limits; only a single larger event exceeds the bytes",
    async (store) => {
      const sizes = [10, 20_000, 10, 10, 300, 9_000, 50_000, 10, 10];
      const events = sizes.map((size, i) => placed("a", START + i, "e", "x".repeat(size)));
      await store.append(SLICE, events);
      for (const runBytesMax of [1, 500, 10_000, 1 << 20]) {
        for (const runEventsMax of [1, 2, 1000]) {
          const found = await runs(store, partition("a"), { runBytesMax, runEventsMax });
          for (const run of found) {
            const inside = [...eventsOfRun(run)];
            assert.equal(run.count, inside.length);
            assert.equal(
              run.bytes,
              run.chunks.reduce((sum, chunk) => sum + chunk.length, 0),
            );
            assert.ok(run.count > 0 && run.count <= runEventsMax);
            assert.ok(run.bytes <= runBytesMax || run.count === 1);
            const [first, last] = [inside.at(0), inside.at(-1)];
            assert.ok(first !== undefined && last !== undefined);
            assert.equal(comparePositions(run.first, positionOf(first)), 0);
            assert.equal(comparePositions(run.last, positionOf(last)), 0);
          }
          assert.deepEqual(
            found.flatMap((run) => [...eventsOfRun(run)].map(asText)),
            inOrder(events),
          );
        }
      }
    },
  );

  claim(
    "W3: the same identity again is one event, and one version survives whole",
    async (store) => {
      await store.append(SLICE, [placed("a", START, "e", "first")]);
      await store.append(SLICE, [placed("a", START, "e", "first")]);
      assert.deepEqual(
        await read(store, partition("a")),
        inOrder([placed("a", START, "e", "first")]),
      );
      await store.append(SLICE, [placed("a", START, "e", "second"), placed("a", START, "f")]);
      const [survivor, other] = await read(store, partition("a"));
      const versions = ["first", "second"].flatMap((text) =>
        inOrder([placed("a", START, "e", text)]),
      );
      assert.ok(survivor !== undefined && versions.includes(survivor));
      assert.deepEqual([other], inOrder([placed("a", START, "f")]));
    },
  );

  claim(
    "W4: of one identity sent with different bytes one version survives whole, for good",
    async (store, under) => {
      // Different lengths, so that a mixture would show.
      const versions = Array.from({ length: 12 }, (_, i) =>
        placed("a", START, "e", `version ${i} `.repeat(1 + i * 50)),
      );
      // Some in one append, some in appends of their own, all at once.
      await Promise.all([
        store.append(SLICE, versions.slice(0, 4)),
        ...versions.slice(4).map((version) => store.append(SLICE, [version])),
      ]);
      const found = await read(store, partition("a"));
      assert.equal(found.length, 1);
      assert.ok(versions.some((version) => asText(version.event) === found[0]));
      assert.deepEqual(await read(store, partition("a"), { order: "NEWEST_FIRST" }), found);
      assert.deepEqual(await read(await under.reopen(), partition("a")), found);
    },
  );

  claim(
    "W12, CP5: a slice that is made several times at once is one slice",
    async (store, under) => {
      const made = { ...SLICE, slice: "data_20260329" };
      const key = { ...partition("a"), slice: made.slice };
      const events = [0, 1, 2, 3, 4].map((i) => placed("a", START + i, "e"));
      // Each creator writes as soon as it has its answer, while others are still creating.
      await Promise.all(
        events.map(async (event) => {
          await store.createSlice(made);
          await store.append(made, [event]);
        }),
      );
      assert.deepEqual(await read(store, key), inOrder(events));
      assert.equal((await store.sliceStats(made)).events, events.length);
      const again = await under.reopen();
      await Promise.all([again.createSlice(made), again.createSlice(made)]);
      assert.deepEqual(await read(again, key), inOrder(events));
    },
  );

  claim(
    "ids are listed by their beginnings, each once, in pages that continue each other",
    async (store) => {
      const { listIds } = store;
      if (listIds === undefined) return;
      const list = async (prefix: string, idsMax = 100, slice = SLICE): Promise<string[]> => {
        const all: string[] = [];
        for (let after: string | undefined; ;) {
          const search = { prefix, after, idsMax, msMax: 60_000 };
          const page = await listIds.call(store, slice, search, never);
          all.push(...page.ids);
          assert.ok(page.ids.length <= idsMax);
          if (page.ended) return all;
          assert.ok(page.ids.length > 0, "a page that is not the last makes progress");
          after = page.ids.at(-1);
        }
      };
      assert.deepEqual(await list(""), []);
      const ids = ["a", "ab", "abc", "b", "b/1", "é", "\u{10ffff}", "a b"];
      await store.append(
        SLICE,
        ids.flatMap((id) => [0, 1, 900].map((at) => placed(id, START + at, "e", "p", [at, at]))),
      );
      const expected = ids.toSorted(compareListedIds);
      assert.deepEqual(expected.slice(0, 4), ["a b", "abc", "ab", "a"]);
      for (const idsMax of [1, 2, 100]) {
        assert.deepEqual(await list("", idsMax), expected);
        assert.deepEqual(await list("ab", idsMax), ["abc", "ab"]);
        assert.deepEqual(await list("b", idsMax), ["b/1", "b"]);
        assert.deepEqual(await list("é", idsMax), ["é"]);
        assert.deepEqual(await list("c", idsMax), []);
      }
      const behind = { prefix: "ab", after: "b", idsMax: 9, msMax: 60_000 };
      assert.deepEqual(await listIds.call(store, SLICE, behind, never), { ids: [], ended: true });
      assert.deepEqual(await list("", 9, { ...SLICE, slice: "data_20200101" }), []);
      const hurried = { prefix: "", after: undefined, idsMax: 100, msMax: 0 };
      const first = await listIds.call(store, SLICE, hurried, never);
      assert.deepEqual(first, { ids: ["a b"], ended: false });
    },
  );

  claim(
    "a search finds the nearest time bucket with an event of the series, in either order",
    async (store) => {
      const { findTimeBucket } = store;
      if (findTimeBucket === undefined) return;
      const find = (
        seriesId: string,
        first: number,
        last: number,
        order: ScanRange["order"],
        slice = SLICE,
      ): Promise<number | undefined> =>
        findTimeBucket.call(store, { ...slice, seriesId }, { first, last, order }, never);
      assert.equal(await find("s", 0, 100, "OLDEST_FIRST"), undefined);
      const at = (series: string, bucket: number, eventBucket = 0): PlacedEvent =>
        placed(series, START + bucket, "e", "p", [bucket, eventBucket]);
      const events = [at("s", 3), at("s", 3, 7), at("s", 900, 2), at("s", 70_000)];
      // Series whose keys lie on either side of it.
      await store.append(SLICE, [...events, at("r", 5), at("s ", 6), at("sé", 8), at("t", 9)]);
      const cases: [number, number, number | undefined, number | undefined][] = [
        [0, 100_000, 3, 70_000],
        [3, 3, 3, 3],
        [4, 899, undefined, undefined],
        [4, 900, 900, 900],
        [4, 69_999, 900, 900],
        [901, 4_294_967_294, 70_000, 70_000],
      ];
      for (const [first, last, oldest, newest] of cases) {
        assert.equal(await find("s", first, last, "OLDEST_FIRST"), oldest, `${first} to ${last}`);
        assert.equal(await find("s", first, last, "NEWEST_FIRST"), newest, `${first} to ${last}`);
      }
      assert.equal(await find("q", 0, 100_000, "OLDEST_FIRST"), undefined);
      const other = { ...SLICE, slice: "data_20200101" };
      assert.equal(await find("s", 0, 100_000, "OLDEST_FIRST", other), undefined);
    },
  );

  claim("a partition or a slice that does not exist is empty", async (store) => {
    assert.deepEqual(await read(store, partition("nobody")), []);
    assert.deepEqual(await read(store, { ...partition("a"), slice: "data_none" }), []);
    assert.deepEqual(await read(store, { ...partition("a"), namespaceId: "other" }), []);
  });

  claim(
    "a slice with an event is never said to be empty, also after a restart",
    async (store, under) => {
      await store.append(SLICE, [placed("a", START, "e")]);
      assert.equal(await store.isEmpty(SLICE), false);
      assert.equal(await (await under.reopen()).isEmpty(SLICE), false);
    },
  );

  claim("an append to a slice that does not exist stores nothing", async (store) => {
    const missing = { ...SLICE, slice: "data_none" };
    await assert.rejects(
      store.append(missing, [placed("a", START, "e")]),
      failsWith("STORAGE_UNAVAILABLE"),
    );
  });

  claim("returned bytes stay valid, and the caller may reuse its arguments", async (store) => {
    const given = placed("a", START, "e", "mine");
    const wanted = inOrder([given]);
    await store.append(SLICE, [given]);
    given.event.bytes.fill(0);
    const kept = await runs(store, partition("a"), {});
    await store.append(SLICE, [placed("b", START, "e", "other")]);
    await read(store, partition("b"));
    assert.deepEqual(
      kept.flatMap((run) => [...eventsOfRun(run)].map(asText)),
      wanted,
    );
  });

  claim(
    "scans see every event whose append had resolved, while others are written",
    async (store) => {
      const written: PlacedEvent[] = [];
      const writer = async (name: string): Promise<void> => {
        for (let i = 0; i < 40; i++) {
          const events = [0, 1, 2].map((n) => placed("a", START + i * 7 + n, `${name}${i}`));
          await store.append(SLICE, events);
          written.push(...events);
        }
      };
      const writing = Promise.all(["x", "y", "z"].map(writer));
      let done = false;
      void writing.then(() => (done = true));
      do {
        const before = inOrder(written);
        const found = await read(store, partition("a"), { runEventsMax: 7 });
        const seen = new Set(found);
        assert.ok(before.every((event) => seen.has(event)));
        assert.equal(seen.size, found.length);
      } while (!done);
      await writing;
      assert.deepEqual(await read(store, partition("a")), inOrder(written));
    },
  );

  claim(
    "a scan ends when its signal aborts, with the reason, and can be left early",
    async (store) => {
      await store.append(
        SLICE,
        Array.from({ length: 500 }, (_, i) => placed("a", START + i, "e")),
      );
      const leaving = new AbortController();
      const reason = new Error("enough");
      let count = 0;
      await assert.rejects(
        async () => {
          for await (const run of store.scan(
            partition("a"),
            { ...ALL, runEventsMax: 10 },
            leaving.signal,
          )) {
            count += run.count;
            leaving.abort(reason);
          }
        },
        (error) => error === reason,
      );
      assert.ok(count > 0 && count < 500);
      for await (const run of store.scan(partition("a"), { ...ALL, runEventsMax: 10 }, never)) {
        assert.equal(run.count, 10);
        break;
      }
    },
  );

  claim(
    "creating and dropping can be repeated; a dropped slice is gone for good",
    async (store, under) => {
      await store.append(SLICE, [placed("a", START, "e")]);
      await store.createSlice(SLICE);
      assert.equal((await read(store, partition("a"))).length, 1);
      await store.dropSlice(SLICE);
      await store.dropSlice(SLICE);
      assert.deepEqual(await read(store, partition("a")), []);
      await assert.rejects(
        store.append(SLICE, [placed("a", START, "e")]),
        failsWith("STORAGE_UNAVAILABLE"),
      );
      await assert.rejects(store.createSlice(SLICE), failsWith("CONFLICT"));
      const again = await under.reopen();
      await assert.rejects(again.createSlice(SLICE), failsWith("CONFLICT"));
      await again.createSlice({ ...SLICE, namespaceId: "ns2" });
      assert.deepEqual(await again.sliceStats(SLICE), { bytes: 0, events: 0 });
    },
  );

  claim("dropping a namespace leaves the others alone", async (store, under) => {
    const other = { ...SLICE, namespaceId: "ns2" };
    await store.createSlice(other);
    await store.append(other, [placed("a", START, "e")]);
    await store.dropSlice(SLICE);
    await store.dropNamespace(SLICE.namespaceId);
    await store.dropNamespace(SLICE.namespaceId);
    await store.dropNamespace("never-there");
    const again = await under.reopen();
    assert.deepEqual(await read(again, partition("a")), []);
    assert.equal((await read(again, { ...partition("a"), namespaceId: "ns2" })).length, 1);
  });

  claim(
    "E1, E10: a drop does not wait for scans: they end, or fail as unavailable",
    async (store) => {
      const events = Array.from({ length: 3000 }, (_, i) => placed("a", START + i, "e"));
      await store.append(SLICE, events);
      const scan = store
        .scan(partition("a"), { ...ALL, runEventsMax: 50 }, never)
        [Symbol.asyncIterator]();
      assert.equal((await scan.next()).done, false);
      await store.dropSlice(SLICE);
      await assert.doesNotReject(async () => {
        try {
          while ((await scan.next()).done !== true);
        } catch (error) {
          if (!failsWith("STORAGE_UNAVAILABLE")(error)) throw error;
        }
      });
    },
  );

  claim("appends that race with a drop are stored or refused, and the drop ends", async (store) => {
    const appends = Array.from({ length: 20 }, (_, i) =>
      store.append(SLICE, [placed("a", START + i, "e")]),
    );
    const drop = store.dropSlice(SLICE);
    for (const outcome of await Promise.allSettled(appends)) {
      if (outcome.status === "rejected") {
        assert.ok(failsWith("STORAGE_UNAVAILABLE", "OUTCOME_UNKNOWN")(outcome.reason));
      }
    }
    await drop;
    assert.deepEqual(await read(store, partition("a")), []);
  });

  claim("events, slices and counts survive a restart", async (store, under) => {
    const events = Array.from({ length: 300 }, (_, i) => placed("a", START + i, "e"));
    await Promise.all(events.map((event) => store.append(SLICE, [event])));
    assert.equal((await store.sliceStats(SLICE)).events, 300);
    const again = await under.reopen();
    assert.equal((await again.sliceStats(SLICE)).events, 300);
    assert.deepEqual(await read(again, partition("a")), inOrder(events));
    assert.ok((await again.sliceStats(SLICE)).bytes > 0);
    const more = placed("a", START + 1000, "e");
    await again.append(SLICE, [more]);
    assert.equal((await again.sliceStats(SLICE)).events, 301);
    assert.deepEqual(await read(await under.reopen(), partition("a")), inOrder([...events, more]));
  });

  claim("a closed store refuses, and closing can be repeated", async (store, under) => {
    await store.append(SLICE, [placed("a", START, "e")]);
    await under.dispose();
    await store.close();
    await assert.rejects(
      store.append(SLICE, [placed("a", START, "f")]),
      failsWith("STORAGE_UNAVAILABLE"),
    );
    await assert.rejects(read(store, partition("a")), failsWith("STORAGE_UNAVAILABLE"));
  });

  claim("any mix of appends reads back as a sorted map would", async (store) => {
    const anyEvent = fc.record({
      series: fc.constantFrom("s", "s1", "t"),
      time: fc.integer({ min: START, max: START + 20 }),
      id: fc.string({ unit: "binary", minLength: 1, maxLength: 3 }).filter(isWellFormed),
      payload: fc.string({ maxLength: 40 }),
    });
    let round = 0;
    const property = fc.asyncProperty(
      fc.array(fc.array(anyEvent, { minLength: 1, maxLength: 20 }), { maxLength: 6 }),
      fc.record({
        from: fc.integer({ min: START, max: START + 20 }),
        width: fc.integer({ min: 0, max: 20 }),
        order: fc.constantFrom("OLDEST_FIRST" as const, "NEWEST_FIRST" as const),
        runEventsMax: fc.integer({ min: 1, max: 30 }),
        runBytesMax: fc.integer({ min: 1, max: 2000 }),
      }),
      async (batches, { from, width, order, ...limits }) => {
        const bucket = round++;
        const model = new Map<string, PlacedEvent>();
        for (const batch of batches) {
          const events = batch.map((e) => placed(e.series, e.time, e.id, e.payload, [bucket, 0]));
          await store.append(SLICE, events);
          batch.forEach((e, i) =>
            model.set(`${e.series} ${e.time} ${e.id}`, events[i] as PlacedEvent),
          );
        }
        for (const series of ["s", "s1", "t"]) {
          const wanted = inOrder(
            [...model.entries()]
              .filter(([name]) => name.startsWith(`${series} `))
              .map(([, event]) => event)
              .filter(({ event }) => event.time >= from && event.time < from + width),
          );
          const range = { from, to: from + width, order, ...limits };
          const found = await read(store, partition(series, bucket), range);
          assert.deepEqual(found, order === "OLDEST_FIRST" ? wanted : wanted.toReversed());
        }
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  storedBlockClaims(claim, SLICE);
  partitionWalkClaims(claim, SLICE);
}

function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}
