/** What every EventStore guarantees for walks over its partitions: part of its suite. */
import assert from "node:assert/strict";
import { frameLength } from "../../src/wire/frames.ts";
import type { PartitionKey, SliceRef } from "../../src/model/partition.ts";
import type { EventStore, PlacedEvent } from "../../src/ports/event-store.ts";
import type { WalkedPartition, WalkPage, WalkRequest } from "../../src/ports/partition-walk.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { StoreUnderTest } from "./event-store.ts";

type Claim = (
  name: string,
  work: (store: EventStore, under: StoreUnderTest) => Promise<void>,
) => void;

const START = 1_774_656_000_000_000;
const WHOLE: WalkRequest = {
  after: undefined,
  partitionsMax: 1_000,
  bytesMax: 1 << 30,
  msMax: 60_000,
  countBytesMax: 1 << 30,
  counts: () => true,
};
const never = new AbortController().signal;

interface Written {
  readonly key: Pick<PartitionKey, "seriesId" | "timeBucket" | "eventBucket">;
  readonly events: readonly PlacedEvent[];
}

function partitionOf(
  seriesId: string,
  timeBucket: number,
  eventBucket: number,
  count: number,
  payload = 20,
): Written {
  const events = Array.from({ length: count }, (_, nth) => {
    const items = [{ key: Buffer.from("p"), value: Buffer.alloc(payload, "x") }];
    const id = Buffer.from(`e${nth}`);
    const event = encodeEvent(Buffer.from(seriesId), START + nth * 1_000, id, items);
    return { event, timeBucket, eventBucket };
  });
  return { key: { seriesId, timeBucket, eventBucket }, events };
}

function bytesOf({ events }: Written): number {
  return events.reduce((sum, { event }) => sum + frameLength(event.end - event.start), 0);
}

async function write(store: EventStore, slice: SliceRef, all: readonly Written[]): Promise<void> {
  for (const { events } of all) await store.append(slice, events);
}

/** Page by page to the end; `reopened` replaces the store between two pages. */
async function pagesOf(
  store: EventStore,
  slice: SliceRef,
  walk: Partial<WalkRequest>,
  between: () => Promise<EventStore> = () => Promise.resolve(store),
): Promise<WalkPage[]> {
  const pages: WalkPage[] = [];
  let open = store;
  for (let after: string | undefined; ;) {
    const page = await open.walkPartitions(slice, { ...WHOLE, ...walk, after }, never);
    pages.push(page);
    if (page.next === undefined) return pages;
    assert.ok(page.partitions.length > 0, "a page that is not the last one makes progress");
    assert.ok(pages.length < 1_000, "a walk ends");
    after = page.next;
    open = await between();
  }
}

function asText({ seriesId, timeBucket, eventBucket, size }: WalkedPartition): string {
  const text =
    size.kind === "counted" ? `${size.bytes} ${size.events} ${String(size.exact)}` : size.kind;
  return `${seriesId}/${timeBucket}/${eventBucket} ${text}`;
}

function expected(all: readonly Written[]): string[] {
  return all
    .map((each) => {
      const size = {
        kind: "counted",
        bytes: bytesOf(each),
        events: each.events.length,
        exact: true,
      } as const;
      return asText({ ...each.key, size });
    })
    .toSorted();
}

function found(pages: readonly WalkPage[]): string[] {
  return pages.flatMap(({ partitions }) => partitions.map(asText)).toSorted();
}

const NAMES = ["a", "ab", "a\u0000", "a\u0000b", "é", "\u{10ffff}", "A".repeat(512)];
const MANY: readonly Written[] = NAMES.flatMap((name, nth) => [
  partitionOf(name, 0, 0, nth + 1),
  partitionOf(name, 0, 255, 1),
  partitionOf(name, 256, 0, 2),
  partitionOf(name, 257, 1, 3),
]);

export function partitionWalkClaims(claim: Claim, slice: SliceRef): void {
  claim(
    "a walk has every partition once, with its exact size in bytes of events",
    async (store) => {
      await write(store, slice, MANY);
      const pages = await pagesOf(store, slice, {});
      assert.deepEqual(found(pages), expected(MANY));
      if (pages.every(({ idsTogether }) => idsTogether)) {
        const ids = pages.flatMap(({ partitions }) => partitions.map(({ seriesId }) => seriesId));
        const changes = ids.filter((id, nth) => id !== ids[nth - 1]);
        assert.equal(changes.length, NAMES.length, "the partitions of an id come together");
      }
      const bytes = MANY.reduce((sum, each) => sum + bytesOf(each), 0);
      assert.equal(
        pages.reduce((sum, page) => sum + page.bytesRead, 0),
        bytes,
      );
    },
  );

  claim("a walk continues from its position, however small its pages are", async (store, under) => {
    await write(store, slice, MANY);
    for (const partitionsMax of [1, 2, 5, MANY.length]) {
      assert.deepEqual(found(await pagesOf(store, slice, { partitionsMax })), expected(MANY));
    }
    // A budget that one partition exceeds still makes progress.
    for (const budget of [{ bytesMax: 0 }, { msMax: 0 }]) {
      assert.deepEqual(found(await pagesOf(store, slice, budget)), expected(MANY));
    }
    const again = pagesOf(store, slice, { partitionsMax: 9 }, () => under.reopen());
    assert.deepEqual(found(await again), expected(MANY));
  });

  claim("a walk lists what it is not asked to count, without its size", async (store) => {
    await write(store, slice, MANY);
    const counts: WalkRequest["counts"] = ({ timeBucket }) => timeBucket === 0;
    for (const partitionsMax of [3, 1_000]) {
      const walked = found(await pagesOf(store, slice, { counts, partitionsMax }));
      const wanted = MANY.map((each) => {
        const [text = ""] = expected([each]);
        return counts(each.key) ? text : text.replace(/ \d+ \d+ true$/, " not counted");
      });
      assert.deepEqual(walked, wanted.toSorted());
    }
  });

  claim("a partition above the limit of a count is estimated and marked so", async (store) => {
    // Several fetches of each engine.
    const wide = partitionOf("wide", 0, 0, 6_000, 100);
    const all = [partitionOf("a", 0, 0, 1), wide, partitionOf("z", 0, 0, 2)];
    await write(store, slice, all);
    const [page] = await pagesOf(store, slice, { countBytesMax: 100_000 });
    const walked = page?.partitions.find(({ seriesId }) => seriesId === "wide");
    assert.ok(walked?.size.kind === "counted");
    assert.equal(walked.size.exact, false);
    // The events are evenly spread, so the estimate is close.
    assert.ok(Math.abs(walked.size.bytes / bytesOf(wide) - 1) < 0.05, `${walked.size.bytes}`);
    assert.ok(Math.abs(walked.size.events / 6_000 - 1) < 0.05, `${walked.size.events}`);
    assert.ok((page?.bytesRead ?? 0) < bytesOf(wide) / 2, "it reads only a part");
    const others = all.filter(({ key }) => key.seriesId !== "wide");
    const exact = page?.partitions.filter(({ seriesId }) => seriesId !== "wide") ?? [];
    assert.deepEqual(exact.map(asText).toSorted(), expected(others));
  });

  claim(
    "repeats of an event count once, and events in flight do not break a walk",
    async (store) => {
      const first = partitionOf("a", 0, 0, 5);
      await write(store, slice, [first, first]);
      assert.deepEqual(found(await pagesOf(store, slice, {})), expected([first]));
      const late = Array.from({ length: 30 }, (_, nth) => partitionOf(`s${nth}`, 0, 0, 1));
      const writing = write(store, slice, late);
      const walked = found(await pagesOf(store, slice, { partitionsMax: 2 }));
      assert.equal(new Set(walked).size, walked.length, "no partition comes twice");
      assert.ok(walked.includes(expected([first])[0] ?? ""));
      await writing;
    },
  );

  claim("a slice without events, without a table or dropped has no partitions", async (store) => {
    const isEmpty = async (which: SliceRef): Promise<void> => {
      const { partitions, next } = await store.walkPartitions(which, WHOLE, never);
      assert.deepEqual({ partitions, next }, { partitions: [], next: undefined });
    };
    await isEmpty(slice);
    await isEmpty({ ...slice, slice: "data_none" });
    await write(store, slice, [partitionOf("a", 0, 0, 1)]);
    await store.dropSlice(slice);
    await isEmpty(slice);
  });

  claim("a walk ends when its signal aborts, with the reason", async (store) => {
    await write(store, slice, MANY.slice(0, 4));
    const leaving = new AbortController();
    const reason = new Error("enough");
    const counts = (): boolean => {
      leaving.abort(reason);
      return true;
    };
    const walking = store.walkPartitions(slice, { ...WHOLE, counts }, leaving.signal);
    await assert.rejects(walking, (error) => error === reason);
    await assert.rejects(
      store.walkPartitions(slice, WHOLE, leaving.signal),
      (error) => error === reason,
    );
  });
}
