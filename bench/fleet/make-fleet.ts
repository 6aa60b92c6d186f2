/**
 * Fills a catalog with a fleet: namespaces with their slices, and completed splits with their routes,
 * as a server and a worker would have left them. One namespace and one split are made by the real
 * code; the others are copies under other names.
 */
import { forEachBounded } from "../../src/lib/for-each-bounded.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import { markSplitsChanged } from "../../src/records/changed-splits.ts";
import { keyOf, spaceOf } from "../../src/records/split-spaces.ts";
import { addSegment } from "../../tests/property/split-building.ts";
import { ControlFixture } from "../../tests/support/control-fixture.ts";

const SPLITS_PER_NAMESPACE = 100;
/** The embedded catalog commits what is written at the same time with one fsync. */
const WRITES_AT_ONCE = 1_000;

export interface Fleet {
  readonly namespaces: readonly string[];
  /** The n-th split of the fleet. */
  readonly partition: (nth: number) => PartitionKey;
}

export async function makeFleet(catalog: Catalog, splits: number): Promise<Fleet> {
  const count = Math.max(1, Math.ceil(splits / SPLITS_PER_NAMESPACE));
  const namespaces = Array.from({ length: count }, (_, nth) => `n${String(nth).padStart(6, "0")}`);
  const made = await template();
  const partition = (nth: number): PartitionKey => {
    const name = namespaces[Math.floor(nth / SPLITS_PER_NAMESPACE)] ?? "";
    const seriesId = `profile:${nth}`;
    return { namespaceId: `${name}-1`, slice: made.slice, seriesId, timeBucket: 0, eventBucket: 0 };
  };
  const write = (space: string, key: string, value: string): Promise<unknown> =>
    catalog.write(space, key, value, 0);
  const writeNamespace = async (name: string): Promise<void> => {
    const id = `${name}-1`;
    await write("namespaces", name, JSON.stringify({ ...made.namespace, id }));
    for (const { key, value } of made.slices) await write(`slices/${id}`, key, value);
    await write(`split-slices/${id}`, made.slice, made.note);
    await markSplitsChanged(catalog, id);
  };
  await forEachBounded(namespaces, writeNamespace, WRITES_AT_ONCE);
  // In portions, so that the bench does not hold a promise for each split.
  for (let from = 0; from < splits; from += WRITES_AT_ONCE) {
    const nths = Array.from(
      { length: Math.min(WRITES_AT_ONCE, splits - from) },
      (_, n) => from + n,
    );
    await Promise.all(
      nths.flatMap((nth) => {
        const at = partition(nth);
        return [
          write(spaceOf("splits", at), keyOf(at), made.split),
          write(spaceOf("routes", at), keyOf(at), made.route),
        ];
      }),
    );
  }
  return { namespaces, partition };
}

/** One namespace with one split, as stored. */
async function template() {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const { id } = await namespaces.create("one", {});
  const [first] = await namespaces.listTimeSlices("one");
  const slice = first?.name ?? "";
  const partition = { namespaceId: id, slice, seriesId: "a", timeBucket: 0, eventBucket: 0 };
  const { catalog, store, clock } = fixture;
  const [from, to] = [first?.start ?? 0, first?.end ?? 0];
  await addSegment(
    { catalog, store, clock },
    partition,
    { from, to, cuts: [], hashParts: 0, layout: "PACKED", confirmed: true },
    0,
  );
  const valueOf = (space: string): string => catalog.peek(space)[0]?.value ?? "";
  const stored = JSON.parse(valueOf("namespaces")) as { readMode: object };
  return {
    slice,
    namespace: { ...stored, readMode: { ...stored.readMode, mode: "SERVE", kinds: null } },
    slices: catalog.peek(`slices/${id}`),
    note: valueOf(`split-slices/${id}`),
    split: valueOf(spaceOf("splits", partition)),
    route: valueOf(spaceOf("routes", partition)),
  };
}
