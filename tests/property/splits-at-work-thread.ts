/**
 * The worlds of `splits-at-work.ts` in a thread of their own: the test runner tracks every promise
 * of its own thread, and these have so many that they would take three times as long there.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Engine } from "../support/busy-engine.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { readsDuringSplitsEqualTheModel } from "./splits-at-work.ts";
import type { Tally } from "./splits-at-work.ts";

interface Worlds {
  readonly engine: "memory" | "embedded";
  readonly numRuns: number;
  /** A new one each time unless given; a failure prints it. */
  readonly seed?: number;
}

/** Rejects with the failure of one of them. */
export function liveWorlds(worlds: Worlds): Promise<Tally> {
  const thread = new Worker(new URL(import.meta.url), { workerData: worlds });
  return new Promise((resolve, reject) => {
    thread.once("message", resolve).once("error", reject);
    thread.once("exit", () => reject(new Error("the worlds did not end")));
  });
}

async function openMemory(): Promise<Engine> {
  const catalog = new MemoryCatalog({ shared: true });
  return { catalog, store: new MemoryStore(), close: async () => undefined };
}

async function openEmbedded(): Promise<Engine> {
  const directory = await mkdtemp(join(tmpdir(), "braid-property-"));
  const engine = await openEmbeddedEngine({ directory, clock: systemClock });
  const close = async (): Promise<void> => {
    await engine.close();
    await rm(directory, { recursive: true });
  };
  return { ...engine, close };
}

if (!isMainThread) {
  // As `liveWorlds` has passed it.
  const { engine, ...runs } = workerData as Worlds;
  const open = engine === "memory" ? openMemory : openEmbedded;
  const tally = await readsDuringSplitsEqualTheModel(open, runs);
  parentPort?.postMessage(tally, []);
}
