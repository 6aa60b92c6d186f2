import { deepEqual, doesNotMatch, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { ServiceError } from "../lib/errors.ts";
import { Metrics, NAMESPACE } from "../lib/metrics.ts";
import { updateNamespace } from "../records/namespace-records.ts";
import { setReadMode } from "../splits/record/set-read-mode.ts";
import { KnownNamespaces } from "./known-namespaces.ts";

function start() {
  const fixture = new ControlFixture();
  const metrics = new Metrics();
  const counter = metrics.counter("a_total", "Help.", [NAMESPACE]);
  const known = new KnownNamespaces({ catalog: fixture.catalog, clock: fixture.clock, metrics });
  return { fixture, metrics, counter, known, ...fixture.start() };
}

function modesOf(known: KnownNamespaces): string[] {
  return [...known.readModes()]
    .filter(({ value }) => value === 1)
    .map(({ labels: [name, mode] }) => `${name} ${mode}`);
}

test("every namespace of the catalog has its counters, a deleted one has none", async () => {
  const { metrics, known, namespaces } = start();
  await namespaces.create("plays", {});
  await known.refresh();
  match(await metrics.text(), /a_total\{namespace="plays"\} 0/);
  deepEqual(modesOf(known), ["plays SHADOW"]);

  await namespaces.delete("plays");
  await known.refresh();
  doesNotMatch(await metrics.text(), /plays/);
  deepEqual(modesOf(known), []);
});

test("the next listing shows a read mode that another process changed", async () => {
  const { fixture, known, namespaces } = start();
  await namespaces.create("plays", {});
  await setReadMode(fixture.catalog, "plays", ({ readMode }) => ({ ...readMode, mode: "SERVE" }));
  await known.refresh();
  deepEqual(modesOf(known), ["plays SERVE"]);
  deepEqual(
    [...known.readModes()].map(({ value, labels: [, mode] }) => `${mode} ${value}`),
    ["OFF 0", "SHADOW 0", "COMPARE 0", "SERVE 1"],
  );
});

test("a listing shows whose splits are paused, and how fast reads should be", async () => {
  const { fixture, known, namespaces } = start();
  await namespaces.create("plays", { slos: { read: { targetMs: 20, maxMs: 300 } } });
  await known.refresh();
  deepEqual([...known.paused()], [{ value: 0, labels: ["plays"] }]);
  deepEqual(
    [...known.readSlos()],
    [
      { value: 0.02, labels: ["plays", "target"] },
      { value: 0.3, labels: ["plays", "max"] },
    ],
  );
  const pause = { at: 1, by: "somebody", reason: "a test" };
  await updateNamespace(fixture.catalog, "plays", (stored) =>
    stored === undefined ? undefined : { ...stored, splitsPaused: pause },
  );
  await known.refresh();
  deepEqual([...known.paused()], [{ value: 1, labels: ["plays"] }]);
});

test("a namespace created during a listing keeps its series", async () => {
  const { fixture, metrics, counter, known } = start();
  fixture.catalog.before = (call) => {
    if (call === "versions") counter.add(1, "fresh");
  };
  await known.refresh();
  match(await metrics.text(), /a_total\{namespace="fresh"\} 1/);
});

test("a listing does not overwrite a read mode that this process changes meanwhile", async () => {
  const { fixture, known, namespaces, views } = start();
  const namespace = await namespaces.create("plays", {});
  const view = await views.get("plays");
  const readMode = { ...namespace.readMode, mode: "OFF" as const };
  fixture.catalog.before = (call) => {
    if (call === "versions") known.changed({ ...view, namespace: { ...namespace, readMode } });
  };
  await known.refresh();
  deepEqual(modesOf(known), ["plays OFF"]);
});

test("while the catalog does not answer, the last listing stays", async () => {
  const { fixture, metrics, known, namespaces } = start();
  await namespaces.create("plays", {});
  await known.refresh();
  fixture.catalog.before = () => {
    throw new ServiceError("STORAGE_UNAVAILABLE", "away");
  };
  await rejects(known.refresh());
  match(await metrics.text(), /a_total\{namespace="plays"\} 0/);
  deepEqual(modesOf(known), ["plays SHADOW"]);
});
