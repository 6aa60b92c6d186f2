/**
 * Measures one fleet in a process of its own, by processor time: `SPLITS memory|DIRECTORY`. Prints one
 * line of JSON. The catalog is in memory or on LevelDB; events and clock are simulated, because only
 * the work that grows with the fleet is measured.
 */
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import { partitionText } from "../../src/model/partition.ts";
import { BelievedTime } from "../../src/namespaces/believed-time.ts";
import { NamespaceViews } from "../../src/namespaces/namespace-views.ts";
import { Namespaces } from "../../src/namespaces/namespaces.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { SliceReconciler } from "../../src/namespaces/slice-reconciler.ts";
import { readSlice, writeSlice } from "../../src/records/slice-records.ts";
import { SplitCounts } from "../../src/splits/operate/split-counts.ts";
import { ReadModeReconciler } from "../../src/splits/promote/read-mode-reconciler.ts";
import { SliceFilters } from "../../src/splits/serve/slice-filters.ts";
import { TrustStates } from "../../src/splits/compare/trust-states.ts";
import { NOON } from "../../tests/support/control-fixture.ts";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { settle, VirtualClock } from "../../tests/support/virtual-clock.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import { makeFleet } from "./make-fleet.ts";
import { SortedCatalog } from "./sorted-catalog.ts";

export interface FleetFigures {
  readonly splits: number;
  readonly namespaces: number;
  readonly startSeconds: number;
  readonly memoryMiB: number;
  readonly servedShare: number;
  readonly viewRefreshMs: number;
  readonly freshViewsShare: number;
  readonly floorsRaisedShare: number;
  readonly floorsMs: number;
  readonly idleShare: number;
  /** What the idle share consists of: shares of a core. */
  readonly idleParts: Readonly<Record<string, number>>;
  readonly raiseCalls: number;
  readonly dropCalls: number;
}

const MARGINS = { clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000, dropGraceMs: 0 };
const GENERATION = 1;
const never = new AbortController().signal;

const [splits = "1000", where = "memory"] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await measure(Number(splits), where))}\n`);

async function measure(count: number, place: string): Promise<FleetFigures> {
  const clock = new VirtualClock(NOON);
  const engine =
    place === "memory"
      ? undefined
      : await openEmbeddedEngine({ directory: place, clock: systemClock });
  const inner: Catalog = engine?.catalog ?? new SortedCatalog();
  let calls = 0;
  const catalog = counted(inner, () => calls++);
  const fleet = await makeFleet(catalog, count);
  const { gc } = globalThis as { gc?: () => void };
  gc?.();
  const seeded = place === "memory" ? process.memoryUsage() : { rss: 0, heapUsed: 0, external: 0 };
  const store = new MemoryStore();
  const margins = timeMargins(MARGINS);
  const views = new NamespaceViews({ catalog, clock, viewMaxAgeMs: MARGINS.viewMaxAgeMs });
  const changed = (name: string): Promise<void> => views.refresh(name);
  const time = new BelievedTime({ catalog, clock, margins, observe: () => undefined });
  const ownership = new SliceOwnership({ catalog, clock });
  const shared = { catalog, store, ownership, clock, margins, time, changed };
  const reconciler = new SliceReconciler({ ...shared, observe: () => undefined });
  const filters = new SliceFilters({
    catalog,
    clock,
    margins,
    onChange: () => undefined,
    trouble: () => undefined,
  });
  const trust = new TrustStates();
  const counts = new SplitCounts({ catalog, store, clock });
  const modes = new ReadModeReconciler({ catalog, clock, by: "bench" });

  const start = await cpuMs(async () => {
    await reconciler.runOnce(never);
    for (const name of fleet.namespaces) await views.get(name);
    for (let nth = 0; nth < count; nth++) filters.check(fleet.partition(nth));
    while (filters.check(fleet.partition(count - 1)) === "NOT_LOADED") await settle();
    await counts.runOnce(never);
    await modes.runOnce(never);
  });

  let served = 0;
  const copy = { generation: GENERATION, from: 0 };
  for (let nth = 0; nth < count; nth++) trust.prove(partitionText(fleet.partition(nth)), copy);
  for (let nth = 0; nth < count; nth++) {
    const partition = fleet.partition(nth);
    const isProven = trust.of(partitionText(partition), copy) === "PROVEN";
    if (filters.check(partition) === "HIT" && isProven) served++;
  }

  const stop = new AbortController();
  const refreshing = views.run(stop.signal);
  // The first refresh loads what the first run of the reconciler has changed.
  await advance(clock, MARGINS.viewMaxAgeMs / 3);
  const viewRefreshMs = await cpuMs(() => advance(clock, MARGINS.viewMaxAgeMs / 3));
  const fresh = fleet.namespaces.filter((name) => views.current(name) !== undefined).length;
  stop.abort();
  await refreshing;

  await filters.refresh();
  const filtersMs = await cpuMs(() => filters.refresh());
  const quietRunMs = await cpuMs(() => reconciler.runOnce(never));
  const countMs = await cpuMs(() => counts.runOnce(never));
  const modesMs = await cpuMs(() => modes.runOnce(never));
  // Each floor rises once in a minute; a run looks every 5 s.
  await clock.advance(60_000);
  const floorsBefore = await floors(views, fleet.namespaces);
  const floorsMs = await cpuMs(() => reconciler.runOnce(never));
  const floorsAfter = await floors(views, fleet.namespaces);
  const raised = floorsAfter.filter((floor, nth) => floor > (floorsBefore[nth] ?? 0)).length;
  const third = MARGINS.viewMaxAgeMs / 3;
  const idleParts = {
    views: viewRefreshMs / third,
    filters: filtersMs / third,
    slices: quietRunMs / 5_000,
    floors: floorsMs / 60_000,
    modes: modesMs / 10_000,
    counts: countMs / 60_000,
  };
  const idleShare = Object.values(idleParts).reduce((sum, share) => sum + share, 0);

  const namespaces = new Namespaces({
    ...shared,
    random: systemRandom,
    configuredBlocks: new Map(),
    blockedIdsMax: 1_000,
  });
  calls = 0;
  const [first = ""] = fleet.namespaces;
  const raising = namespaces.update(first, { acceptLimitMicros: 86_400_000_000 }, []);
  let isRaised = false;
  void raising.finally(() => (isRaised = true));
  while (!isRaised) await clock.advance(1_000);
  await raising;
  const raiseCalls = calls;

  gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  // The process may have given back meanwhile what writing the fleet took: then its heap tells more.
  const heapBytes = heapUsed + external - seeded.heapUsed - seeded.external;
  const memoryMiB = Math.max(rss - seeded.rss, heapBytes) / 2 ** 20;
  await engine?.close();
  const dropCalls = await callsToDrop(count);
  return {
    splits: count,
    namespaces: fleet.namespaces.length,
    startSeconds: start / 1_000,
    memoryMiB,
    servedShare: served / count,
    viewRefreshMs,
    freshViewsShare: fresh / fleet.namespaces.length,
    floorsRaisedShare: raised / fleet.namespaces.length,
    floorsMs,
    idleShare,
    idleParts,
    raiseCalls,
    dropCalls,
  };
}

async function floors(views: NamespaceViews, names: readonly string[]): Promise<number[]> {
  const found: number[] = [];
  for (const name of names) {
    await views.refresh(name);
    found.push(views.current(name)?.namespace.floor ?? 0);
  }
  return found;
}

/** Processor time of all threads of this process. */
async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function advance(clock: VirtualClock, ms: number): Promise<void> {
  await clock.advance(ms);
  // The refresh under way ends on the real event loop, and then sleeps again.
  while (clock.sleepers === 0) await settle();
}

/** The most calls of the catalog in one run, while a slice with so many parts is dropped. */
async function callsToDrop(parts: number): Promise<number> {
  const clock = new VirtualClock(NOON);
  let calls = 0;
  const catalog = counted(new SortedCatalog(), () => calls++);
  const fleet = await makeFleet(catalog, 1);
  const { namespaceId, slice } = fleet.partition(0);
  for (let nth = 0; nth < parts; nth++) {
    await catalog.write(`parts/${namespaceId}/${slice}/${nth % 16}`, `a|0|0|${nth}`, "{}", 0);
  }
  const stored = await readSlice(catalog, namespaceId, slice);
  if (stored !== undefined) {
    await writeSlice(catalog, namespaceId, { ...stored, state: "DROPPED" });
  }
  const margins = timeMargins(MARGINS);
  const time = new BelievedTime({ catalog, clock, margins, observe: () => undefined });
  const ownership = new SliceOwnership({ catalog, clock });
  const store = new MemoryStore();
  const changed = async (): Promise<void> => undefined;
  const shared = { catalog, store, ownership, clock, margins, time, changed };
  const reconciler = new SliceReconciler({ ...shared, observe: () => undefined });
  let most = 0;
  for (let run = 0; run < 4; run++) {
    calls = 0;
    await reconciler.runOnce(never);
    most = Math.max(most, calls);
    await clock.advance(MARGINS.viewMaxAgeMs);
  }
  return most;
}

function counted(catalog: Catalog, count: () => void): Catalog {
  const through = <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => {
      count();
      return call(...args);
    };
  };
  return {
    shared: catalog.shared,
    read: through((space, key) => catalog.read(space, key)),
    list: through((space, after, limit) => catalog.list(space, after, limit)),
    versions: through((space, after, limit) => catalog.versions(space, after, limit)),
    write: through((space, key, value, expected) => catalog.write(space, key, value, expected)),
    remove: through((space, key, expected) => catalog.remove(space, key, expected)),
  };
}
