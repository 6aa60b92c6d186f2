import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { mergeConfig } from "./merge-config.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "./namespace-config.ts";

const changed = mergeConfig(
  DEFAULT_NAMESPACE_CONFIG,
  { slos: { read: { targetMs: 1, maxMs: 2 }, write: { maxMs: 3 } }, acceptLimitMicros: 4 },
  [],
).config;

test("given values replace and the rest stays, field by field", () => {
  deepEqual(changed.slos, { read: { targetMs: 1, maxMs: 2 }, write: { targetMs: 50, maxMs: 3 } });
  equal(changed.acceptLimitMicros, 4);
  deepEqual(changed.retention, DEFAULT_NAMESPACE_CONFIG.retention);
});

test("a field that is present but undefined counts as absent", () => {
  const patch = { acceptLimitMicros: undefined, slos: { read: { targetMs: undefined } } };
  deepEqual(mergeConfig(changed, patch, []).config, changed);
});

test("reset restores the default: of a group, of a field, in either spelling", () => {
  const { config, problems } = mergeConfig(changed, {}, ["slos.read", "accept_limit"]);
  deepEqual(problems, []);
  deepEqual(config.slos.read, DEFAULT_NAMESPACE_CONFIG.slos.read);
  equal(config.slos.write.maxMs, 3);
  equal(config.acceptLimitMicros, DEFAULT_NAMESPACE_CONFIG.acceptLimitMicros);
  equal(mergeConfig(changed, {}, ["slos.write.max"]).config.slos.write.maxMs, 500);
  deepEqual(mergeConfig(changed, {}, ["slos", "acceptLimit"]).config, DEFAULT_NAMESPACE_CONFIG);
});

test("a field that is both reset and given has the given value", () => {
  const { config } = mergeConfig(changed, { slos: { read: { maxMs: 9_000 } } }, ["slos"]);
  deepEqual(config.slos.read, { targetMs: 500, maxMs: 9_000 });
  deepEqual(config.slos.write, DEFAULT_NAMESPACE_CONFIG.slos.write);
});

test("a path that names nothing is a problem and changes nothing", () => {
  const { config, problems } = mergeConfig(changed, {}, [
    "slos.reed",
    "",
    "__proto__",
    "acceptLimitMicros",
  ]);
  equal(problems.length, 4);
  match(problems[0]?.problem ?? "", /"slos.reed" is not a field/);
  deepEqual(config, changed);
});
