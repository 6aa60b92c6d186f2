import { deepEqual, equal, match, notEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { createEventTable, createKeyspace } from "./schema.ts";

test("a keyspace is named after its namespace, and cut before the unique suffix", () => {
  equal(keyspaceOf("braid", "plays-0123456789abcdef"), "braid_plays_0123456789abcdef");
  const long = keyspaceOf("a_long_prefix_16", `${"n".repeat(40)}-0123456789abcdef`);
  equal(long.length, 48);
  match(long, /^a_long_prefix_16_n+_0123456789abcdef$/);
});

test("different namespaces have different keyspaces", () => {
  const ids = ["a-1", "a-2", "a_1", "b-1", "ns1", "ns2", "ns", "ns-"];
  const names = ids.map((id) => keyspaceOf("braid", id));
  equal(new Set(names).size, ids.length, names.join(" "));
});

test("Z6: only a plain name becomes part of a statement", () => {
  throws(() => keyspaceOf("braid", "x; DROP KEYSPACE y"));
  throws(() => keyspaceOf("Braid", "x"));
  throws(() => tableOf("data_1; --"));
});

test("CP5: the id of a table follows from its name alone", () => {
  const idIn = (statement: string): string => /id = (\S+)/.exec(statement)?.[1] ?? "";
  const id = idIn(createEventTable("braid_a_1", "data_20260328"));
  match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  equal(idIn(createEventTable("braid_a_1", "data_20260328")), id);
  notEqual(idIn(createEventTable("braid_a_2", "data_20260328")), id);
  notEqual(idIn(createEventTable("braid_a_1", "data_20260329")), id);
});

test("C21: everything but an event's identity is one cell, so that of two versions one survives whole", () => {
  const table = createEventTable("braid_a_1", "data_20260328");
  const columns = [...table.matchAll(/(\w+) (?:text|int|bigint|blob)\b/g)].map(([, name]) => name);
  const [, key = ""] = /PRIMARY KEY \((.+)\)\)/.exec(table) ?? [];
  deepEqual(
    columns.filter((name = "") => !key.includes(name)),
    ["items"],
  );
});

test("replicas are given for each data centre", () => {
  match(
    createKeyspace("braid", { east: 3, "we'st": 2 }),
    /'NetworkTopologyStrategy', 'east': 3, 'we''st': 2\}$/,
  );
});
