import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Namespace } from "../../../client/connect.ts";
import { NAMESPACE } from "../../../tests/support/namespace-json.ts";
import { fieldsOf, originOf } from "./origins.ts";

const namespace: Namespace = { ...NAMESPACE, defaultFields: ["acceptLimit", "slos.read.max"] };

test("a value is the default, or an operator gave it", () => {
  equal(originOf("acceptLimit", namespace, []), "default");
  equal(originOf("slos.read.target", namespace, []), "given");
});

test("the partitioning comes from the tuning in force", () => {
  const to = namespace.config.timePartition;
  const tuning = { to, state: "EFFECTIVE" } as Parameters<typeof originOf>[2][number];
  equal(originOf("timePartition.eventBuckets", namespace, [tuning]), "tuning");
  const other = { ...tuning, to: { ...to, eventBuckets: 7 } };
  equal(originOf("timePartition.eventBuckets", namespace, [other]), "given");
});

test("fields are named as the API names them", () => {
  deepEqual(fieldsOf({ a: "1", b: { c: 2, d: { e: true } } }), [
    ["a", "1"],
    ["b.c", "2"],
    ["b.d.e", "true"],
  ]);
});
