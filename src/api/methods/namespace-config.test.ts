import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import { defaultFields } from "./namespace-config.ts";

test("the fields that have their default value are named as the API names them", () => {
  const all = defaultFields(DEFAULT_NAMESPACE_CONFIG);
  for (const field of ["acceptLimit", "slos.read.max", "timePartition.eventBuckets"]) {
    ok(all.includes(field), field);
  }
  const { slos, timePartition } = DEFAULT_NAMESPACE_CONFIG;
  const changed = defaultFields({
    ...DEFAULT_NAMESPACE_CONFIG,
    slos: { ...slos, read: { ...slos.read, maxMs: 2_000 } },
    timePartition: { ...timePartition, eventBuckets: 2 },
  });
  deepEqual(
    all.filter((field) => !changed.includes(field)),
    ["timePartition.eventBuckets", "slos.read.max"],
  );
});
