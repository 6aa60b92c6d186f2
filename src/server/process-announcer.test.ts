import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { until } from "../../tests/support/conditions.ts";
import { readProcesses, writeProcess } from "../records/process-records.ts";
import { FORGET_MS, ProcessAnnouncer, SILENT_MS } from "./process-announcer.ts";

const NOW = Date.UTC(2026, 10, 15, 10) * 1000;

const FIGURES = {
  role: "SERVER",
  version: "0.1.0",
  build: "source",
  nodeVersion: "v24.0.0",
  engine: "cassandra",
  queue: "kafka",
  host: "a",
  startedAt: NOW,
  views: 2,
  oldestViewMs: 1_200,
  oldestFilterMs: null,
  clockInDoubt: false,
} as const;

interface Started {
  readonly announcer: ProcessAnnouncer;
  readonly failures: unknown[];
  stop(): Promise<void>;
}

/** A process with a clock of its own, or that of the test. */
function start(catalog: MemoryCatalog, clock: VirtualClock, name: string): Started {
  const failures: unknown[] = [];
  const announcer = announcerOf(catalog, clock, name, failures);
  const ending = new AbortController();
  const running = announcer.run(ending.signal);
  return {
    announcer,
    failures,
    stop: () => {
      ending.abort();
      return running;
    },
  };
}

function announcerOf(
  catalog: MemoryCatalog,
  clock: VirtualClock,
  name: string,
  failures: unknown[] = [],
): ProcessAnnouncer {
  return new ProcessAnnouncer({
    catalog,
    clock,
    viewMaxAgeMs: 10_000,
    onFailed: (error) => failures.push(error),
    self: () => ({ ...FIGURES, name }),
  });
}

async function stored(catalog: MemoryCatalog): Promise<string[]> {
  return (await readProcesses(catalog)).map(({ key }) => key);
}

async function shown(announcer: ProcessAnnouncer): Promise<Record<string, string>> {
  const { servers } = await announcer.list();
  return Object.fromEntries(
    servers.map(({ name, silent, draining }) => [
      name,
      silent ? "silent" : draining ? "draining" : "live",
    ]),
  );
}

test("processes see each other; one that drains says so, and one that has stopped is gone", async () => {
  const [catalog, clock] = [new MemoryCatalog({ shared: true }), new VirtualClock(NOW)];
  const [a, b] = [start(catalog, clock, "a"), start(catalog, clock, "b")];
  await until(() => clock.sleepers === 2);
  deepEqual(await shown(a.announcer), { a: "live", b: "live" });
  await b.stop();
  deepEqual(await shown(a.announcer), { a: "live", b: "draining" });
  await b.announcer.withdraw();
  deepEqual(await shown(a.announcer), { a: "live" });
  await a.stop();
});

test("a process that died is silent, and its record is removed later", async () => {
  const [catalog, clock] = [new MemoryCatalog({ shared: true }), new VirtualClock(NOW)];
  const [a, b] = [start(catalog, clock, "a"), start(catalog, clock, "b")];
  await until(() => clock.sleepers === 2);
  await b.stop();
  await a.announcer.list();
  await clock.advance(SILENT_MS - 1);
  equal((await shown(a.announcer))["b"], "draining");
  await clock.advance(1);
  equal((await shown(a.announcer))["b"], "silent");
  await a.announcer.forgetGone();
  deepEqual(await stored(catalog), ["a", "b"]);
  await clock.advance(FORGET_MS);
  await a.announcer.forgetGone();
  deepEqual(await stored(catalog), ["a"]);
  await a.stop();
});

test("a process whose clock is an hour behind is live as soon as its record changes", async () => {
  const catalog = new MemoryCatalog({ shared: true });
  const [ours, theirs] = [new VirtualClock(NOW), new VirtualClock(NOW - 3_600_000_000)];
  const b = start(catalog, theirs, "b");
  await until(() => theirs.sleepers === 1);
  const a = announcerOf(catalog, ours, "a");
  equal((await shown(a))["b"], "silent");
  await theirs.advance(10_000);
  await until(() => theirs.sleepers === 1);
  equal((await shown(a))["b"], "live");
  await b.stop();
});

test("a process that cannot reach the catalog says so and announces itself later", async () => {
  const [catalog, clock] = [new MemoryCatalog({ shared: true }), new VirtualClock(NOW)];
  catalog.before = () => {
    throw new Error("down");
  };
  const a = start(catalog, clock, "a");
  await until(() => clock.sleepers === 1);
  equal(a.failures.length, 2);
  catalog.before = () => undefined;
  await clock.advance(10_000);
  await until(() => clock.sleepers === 1);
  deepEqual(await stored(catalog), ["a"]);
  await a.stop();
});

test("records of a newer version are counted and left alone", async () => {
  const [catalog, clock] = [new MemoryCatalog({ shared: true }), new VirtualClock(NOW)];
  await catalog.write("processes", "newer", '{"format":99}', 0);
  const a = announcerOf(catalog, clock, "a");
  equal((await a.list()).unreadable, 1);
  await clock.advance(FORGET_MS);
  await a.forgetGone();
  deepEqual(await stored(catalog), ["newer"]);
});

test("of more records than a thousand the oldest go at once", async () => {
  const [catalog, clock] = [new MemoryCatalog({ shared: true }), new VirtualClock(NOW)];
  for (let n = 0; n < 1_003; n++) {
    const name = `server-${String(n).padStart(4, "0")}`;
    const own = { ...FIGURES, name, announcedAt: NOW + n, draining: false };
    await writeProcess(catalog, own);
  }
  await announcerOf(catalog, clock, "a").forgetGone();
  const left = await stored(catalog);
  equal(left.length, 1_000);
  equal(left[0], "server-0003");
});

test("where the catalog is not shared nothing is stored", async () => {
  const [catalog, clock] = [new MemoryCatalog(), new VirtualClock(NOW)];
  const a = start(catalog, clock, "a");
  deepEqual(await shown(a.announcer), { a: "live" });
  await a.stop();
  await a.announcer.withdraw();
  deepEqual(await stored(catalog), []);
});
