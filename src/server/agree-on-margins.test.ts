import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { timeMargins } from "../model/time-margins.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { ProcessRecord } from "../records/process-records.ts";
import { removeOwnProcess, writeProcess } from "../records/process-records.ts";
import { readSharedMargins } from "../records/shared-margins.ts";
import { agreeOnMargins } from "./agree-on-margins.ts";
import { SILENT_MS } from "./process-announcer.ts";

const ANNOUNCE_MS = 10_000;

function marginsOf(change: { viewMaxAgeMs?: number; pauseMaxMs?: number } = {}): TimeMargins {
  return timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000, ...change });
}

const USUAL = marginsOf();
const LONGER = marginsOf({ viewMaxAgeMs: 60_000 });

class Fixture {
  readonly clock = new VirtualClock(1_790_000_000_000_000);
  readonly catalog = new MemoryCatalog({ shared: true });
  readonly waited: string[] = [];

  /** Whether a process with these margins may run. */
  async start(margins: TimeMargins): Promise<"runs" | Error> {
    const started = agreeOnMargins(this, margins, (why) => void this.waited.push(why)).then(
      () => "runs" as const,
      (error: unknown) => error as Error,
    );
    for (let passed = 0; passed < 3 * SILENT_MS; passed += 1_000) await this.clock.advance(1_000);
    return started;
  }

  /** A process that runs announces itself until the returned function is called. */
  runs(name: string): () => void {
    let running = true;
    const announce = async (): Promise<void> => {
      for (let views = 0; running; views++) {
        await writeProcess(this.catalog, { ...PROCESS, name, views });
        await this.clock.sleep(ANNOUNCE_MS);
      }
    };
    void announce();
    return () => (running = false);
  }

  async viewMaxAge(): Promise<number | undefined> {
    return (await readSharedMargins(this.catalog))?.margins.view_max_age;
  }
}

const PROCESS: ProcessRecord = {
  name: "",
  role: "SERVER",
  version: "0.1.0",
  build: "",
  nodeVersion: "",
  engine: "cassandra",
  queue: "kafka",
  host: "",
  startedAt: 0,
  announcedAt: 0,
  views: 0,
  oldestViewMs: 0,
  oldestFilterMs: null,
  clockInDoubt: false,
  draining: false,
};

test("G5: processes with the same margins start beside one another, without a wait", async () => {
  const fixture = new Fixture();
  fixture.runs("one");
  for (let starts = 1; starts <= 3; starts++) {
    equal(await fixture.start(USUAL), "runs");
    equal((await readSharedMargins(fixture.catalog))?.starts, starts);
  }
  deepEqual(fixture.waited, []);
});

test("G5: a process with other margins does not start while another one runs", async () => {
  const fixture = new Fixture();
  await fixture.start(USUAL);
  fixture.runs("one");
  for (const margins of [
    LONGER,
    marginsOf({ viewMaxAgeMs: 9_999 }),
    marginsOf({ pauseMaxMs: 1 }),
  ]) {
    const refused = await fixture.start(margins);
    ok(refused instanceof Error);
    await rejects(Promise.reject(refused), { code: "CONFIG_INVALID", message: /running: one$/ });
    equal(await fixture.viewMaxAge(), 10_000);
  }
  deepEqual(fixture.waited[0], "view_max_age is 1m here and 10s there");
});

test("G5: new margins hold when all processes have stopped, or are dead", async () => {
  const fixture = new Fixture();
  await fixture.start(USUAL);
  const stop = fixture.runs("stopped");
  const die = fixture.runs("dead");
  await fixture.clock.advance(2 * ANNOUNCE_MS);
  stop();
  die();
  await fixture.clock.advance(ANNOUNCE_MS);
  await removeOwnProcess(fixture.catalog, "stopped");
  equal(await fixture.start(LONGER), "runs");
  equal(await fixture.viewMaxAge(), 60_000);
  fixture.runs("new");
  ok((await fixture.start(USUAL)) instanceof Error);
});

test("G5: of processes with different margins that start at once, those with one of them run", async () => {
  for (const stored of [undefined, marginsOf({ viewMaxAgeMs: 5_000 })]) {
    const fixture = new Fixture();
    if (stored !== undefined) await fixture.start(stored);
    const started: string[] = [];
    const starting = [USUAL, LONGER, USUAL, LONGER].map(async (margins, nth) => {
      await agreeOnMargins(fixture, margins, () => undefined);
      fixture.runs(`process ${nth}`);
      started.push(margins === USUAL ? "usual" : "longer");
    });
    const ended = Promise.allSettled(starting);
    for (let passed = 0; passed < 5 * SILENT_MS; passed += 1_000)
      await fixture.clock.advance(1_000);
    await ended;
    equal(new Set(started).size, 1, started.join(" "));
    equal(started.length, 2);
  }
});

test("where the catalog is not shared nothing is stored", async () => {
  const catalog = new MemoryCatalog();
  await agreeOnMargins({ catalog, clock: new VirtualClock(0) }, USUAL, () => undefined);
  deepEqual(catalog.dump(), []);
});
