import { equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { location, OnePartition } from "../../../tests/property/one-partition.ts";
import { readRoute } from "../../records/route-records.ts";
import { readDeleted, writeDeleted } from "../../records/deleted-records.ts";
import { readNamespace, removeNamespace } from "../../records/namespace-records.ts";
import { readSlice, removeSlice } from "../../records/slice-records.ts";
import { ServiceError } from "../../lib/errors.ts";
import { ComparisonReaders } from "./comparison-readers.ts";
import { isServed, recheckDifference } from "./recheck-difference.ts";
import { comparisonOf } from "./comparison-of.ts";

test("C14: a difference belongs to one copy: another generation of the same time is not acted on for it", async () => {
  const fixture = await OnePartition.open();
  await fixture.split({});
  const segment = (await readRoute(fixture.catalog, location))?.segments[0];
  ok(segment !== undefined);
  const differenceIn = (generation: number) => {
    const { from, to } = segment;
    const copy = { ...segment, generation };
    return comparisonOf({
      namespace: "plays",
      partition: location,
      round: 0,
      segment: copy,
      from,
      to,
    });
  };
  equal(await isServed(fixture.catalog, differenceIn(segment.generation)), true);
  equal(await isServed(fixture.catalog, differenceIn(segment.generation + 1)), false);
});

test("C14: a catalog that does not answer says nothing of the split, and missing parts do", async () => {
  const fixture = await OnePartition.open();
  const { catalog, store, clock } = fixture;
  await fixture.split({});
  const segment = (await readRoute(catalog, location))?.segments[0];
  ok(segment !== undefined);
  const { from, to } = segment;
  const found = { namespace: "plays", partition: location, round: 0, segment, from, to };
  const recheck = (code: "STORAGE_UNAVAILABLE" | "DATA_LOSS") => {
    const readers = new ComparisonReaders(store, clock, async () => {
      throw new ServiceError(code, "planted");
    });
    const { signal } = new AbortController();
    return recheckDifference(catalog, readers, comparisonOf(found), signal);
  };
  await rejects(recheck("STORAGE_UNAVAILABLE"), { code: "STORAGE_UNAVAILABLE" });
  equal((await recheck("DATA_LOSS")).verdict, "UNREADABLE");
});

test("C14: a difference in a slice whose record is gone belongs to no copy that servers follow", async () => {
  const fixture = await OnePartition.open();
  await fixture.split({});
  const segment = (await readRoute(fixture.catalog, location))?.segments[0];
  const slice = await readSlice(fixture.catalog, location.namespaceId, location.slice);
  ok(segment !== undefined && slice !== undefined);
  const { from, to } = segment;
  const found = { namespace: "plays", partition: location, round: 0, segment, from, to };
  equal(await isServed(fixture.catalog, comparisonOf(found)), true);
  await removeSlice(fixture.catalog, location.namespaceId, slice);
  equal(await isServed(fixture.catalog, comparisonOf(found)), false);
});

test("C26: a difference in a deleted namespace stays unsettled until the namespace is purged", async () => {
  const fixture = await OnePartition.open();
  await fixture.split({});
  const { catalog } = fixture;
  const segment = (await readRoute(catalog, location))?.segments[0];
  const namespace = await readNamespace(catalog, "plays");
  ok(segment !== undefined && namespace !== undefined);
  const { from, to } = segment;
  const found = { namespace: "plays", partition: location, round: 0, segment, from, to };
  const deletion = { at: 0, inDoubt: false, by: "", reason: "", purge: false };
  await writeDeleted(catalog, {
    id: namespace.id,
    phase: "DELETED",
    namespace,
    deletion,
    graceFrom: 0,
    size: null,
    restoredOf: null,
    version: 0,
  });
  await removeNamespace(catalog, namespace);
  equal(await isServed(catalog, comparisonOf(found)), true);
  const deleted = await readDeleted(catalog, namespace.id);
  ok(deleted !== undefined);
  await writeDeleted(catalog, { ...deleted, phase: "PURGING" });
  equal(await isServed(catalog, comparisonOf(found)), false);
});
