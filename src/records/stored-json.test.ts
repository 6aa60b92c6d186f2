import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { readNamespace, updateNamespace } from "./namespace-records.ts";
import { readSlices, writeSlice } from "./slice-records.ts";

/** The record as a later version of Braid would write it. */
async function rewrite(
  catalog: ControlFixture["catalog"],
  space: string,
  key: string,
  change: (fields: Record<string, Record<string, unknown>>) => object,
): Promise<void> {
  const stored = await catalog.read(space, key);
  const fields: Record<string, Record<string, unknown>> = JSON.parse(stored?.value ?? "{}");
  await catalog.write(space, key, JSON.stringify(change(fields)), stored?.version ?? 0);
}

async function storedFields(catalog: ControlFixture["catalog"], space: string, key: string) {
  const stored = await catalog.read(space, key);
  const fields: Record<string, Record<string, unknown>> = JSON.parse(stored?.value ?? "{}");
  return fields;
}

test("M5, C28: unknown fields of a later version survive a rewrite, including nested ones", async () => {
  const fixture = new ControlFixture();
  const { catalog } = fixture;
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  await rewrite(catalog, "namespaces", "plays", (fields) => ({
    ...fields,
    colour: "red",
    config: {
      ...fields["config"],
      shape: "round",
      widePartition: { ...(fields["config"]?.["widePartition"] as object), depth: 3 },
    },
  }));
  await updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: 7 }));
  await namespaces.update("plays", { futureLimitMicros: 30_000_000 }, []);
  const fields = await storedFields(catalog, "namespaces", "plays");
  deepEqual([fields["format"], fields["epoch"], fields["colour"]], [1, 7, "red"]);
  equal(fields["config"]?.["shape"], "round");
  equal(fields["config"]?.["futureLimitMicros"], 30_000_000);
  equal(Object(fields["config"]?.["widePartition"]).depth, 3);
});

test("C28: unknown fields of a slice survive too", async () => {
  const fixture = new ControlFixture();
  const { catalog } = fixture;
  await fixture.start().namespaces.create("plays", {});
  const id = (await readNamespace(catalog, "plays"))?.id ?? "";
  const [first] = await readSlices(catalog, id);
  await rewrite(catalog, `slices/${id}`, first?.name ?? "", (fields) => ({
    ...fields,
    timePartition: { ...fields["timePartition"], skew: 2 },
  }));
  const [slice] = await readSlices(catalog, id);
  if (slice !== undefined) await writeSlice(catalog, id, { ...slice, state: "CLOSED" });
  const fields = await storedFields(catalog, `slices/${id}`, first?.name ?? "");
  deepEqual([fields["state"], fields["timePartition"]?.["skew"]], ["CLOSED", 2]);
});

test("M5, C28: a record of a newer format fails its readers, and nothing rewrites it", async () => {
  const fixture = new ControlFixture();
  const { catalog } = fixture;
  await fixture.start().namespaces.create("plays", {});
  await rewrite(catalog, "namespaces", "plays", (fields) => ({
    ...fields,
    format: 2,
    formatSince: "0.4.0",
  }));
  const before = await catalog.read("namespaces", "plays");
  const needed = { code: "STORAGE_UNAVAILABLE", message: /format 2.*Braid 0\.4\.0 or later/ };
  await rejects(readNamespace(catalog, "plays"), needed);
  await rejects(
    updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: 9 })),
    needed,
  );
  deepEqual(await catalog.read("namespaces", "plays"), before);
});
