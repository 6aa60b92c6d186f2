/** The faults of a world: each is one actor, and each begins and ends at times of its own. */
import { readNamespace } from "../../src/records/namespace-records.ts";
import { BLOCKED_SERIES } from "./callers.ts";
import type { Callers } from "./callers.ts";
import { CALM } from "./faulty-parts.ts";
import { SECOND } from "./kinds.ts";
import type { Fault } from "./kinds.ts";
import {
  BELIEVE_MAX_MS,
  isExpected,
  PAUSE_MAX_MS,
  PAUSES_APART_MS,
  VIEW_MAX_AGE_MS,
} from "./processes.ts";
import type { SimServer, SimWorker } from "./processes.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Standstill } from "./sim-machine.ts";
import type { SimWorld } from "./world.ts";

/** Of one change; each lasts seconds. */
const TRIES_MAX = 40;

type Trouble = (world: SimWorld, random: SeededRandom, callers: Callers) => Promise<void>;

/** Those that the world has, each begun. */
export function troubles(world: SimWorld, callers: Callers): Promise<void>[] {
  const { everyMs } = world.settings;
  const actors: readonly (readonly [Fault | "stand", number, Trouble])[] = [
    ["kills", everyMs.crash, crash],
    ["stand", everyMs.stand, standStill],
    ["clock-steps", everyMs.step, stepClock],
    ["busy-workers", everyMs.step, slowWorkers],
    ["dead-catalog-calls", everyMs.store, failCatalogCalls],
    ["replicas", everyMs.store, hurtReplica],
    ["lost-blocks", everyMs.step, loseBlock],
    ["namespaces-made-again", everyMs.remake, makeAgain],
  ];
  hurtBlocks(world);
  if (world.has("replicas")) {
    world.replicas.faults = { slow: 0.05, hintLost: 0.1, hintMsMax: 30_000 };
  }
  return actors.map(([fault, meanMs, trouble]) => {
    return world.often(meanMs, async (random) => {
      if (fault === "stand" || world.has(fault)) await trouble(world, random, callers);
    });
  });
}

const crash: Trouble = async (world, random) => {
  const worker = random.chance(0.8);
  const among: { readonly name: string; kill(): void }[] = worker ? world.workers : world.servers;
  const [victim] = among.splice(random.below(among.length), 1);
  victim?.kill();
  world.trouble(worker ? "worker killed" : "server killed", `${victim?.name ?? ""} is killed`);
  if (among.length > 0) await world.clock.sleep(random.below(10_000));
  if (worker) world.startWorker(world.chaos);
  else world.startServer(world.chaos);
};

const STANDS = [
  ["paused-machines", "paused"],
  ["frozen-machines", "frozen"],
  ["stopped-processes", "stopped"],
] as const satisfies readonly (readonly [Fault, Standstill])[];

/** While a machine is paused its monotonic clock stands still (rule C24). */
const standStill: Trouble = async (world, random, callers) => {
  const possible = STANDS.filter(([fault]) => world.has(fault));
  const server = random.one(world.servers);
  const process = random.chance(0.8) ? server : random.one(world.workers);
  const [, still] = possible.length === 0 ? STANDS[0] : random.one(possible);
  const { machine, name } = process;
  const namespace = world.someNamespace(random);
  const record = namespace && (await readNamespace(world.shared.catalog, namespace.name));
  // It is stored after the standstill, when the floor has passed it.
  const late = (record?.config.acceptLimitMicros ?? 0) - random.below(SECOND);
  const events = callers.eventsAt(world.nowMicros() - late);
  if (possible.length === 0 || machine.standstill !== undefined) return;
  const writing =
    namespace === undefined || namespace.changing
      ? Promise.resolve()
      : callers.store(namespace, server, events);
  // It is awaited at the end.
  writing.catch(() => undefined);
  machine.stand(still);
  world.trouble(`process ${still}`, `${name} stands still (${still})`);
  // Workers look at every split meanwhile, and copy what they may.
  if (random.chance(0.5)) world.shared.queue.replay();
  const stoodMs = PAUSE_MAX_MS / 2 + random.below(PAUSE_MAX_MS / 2);
  await world.clock.sleep(stoodMs);
  machine.resume();
  world.history.happened(`${name} runs again after ${Math.round(stoodMs / 1_000)} s`);
  // Then its clock is set right.
  await world.clock.sleep(still === "frozen" ? random.below(10_000) : 0);
  if (still === "frozen") machine.stepWall(stoodMs * 1_000);
  await world.clock.sleep(PAUSES_APART_MS);
  await writing;
};

/** The wall clock is wrong by hours or days for a while, in either direction. */
const stepClock: Trouble = async (world, random) => {
  const { machine, name } = random.one([...world.servers, ...world.workers]);
  const leap = 2 * BELIEVE_MAX_MS * 1_000 + random.below(3 * 86_400) * SECOND;
  const micros = random.chance(0.5) ? leap : -leap;
  machine.stepWall(micros);
  world.trouble("clock stepped", `the clock of ${name} leaps by ${Math.round(micros / 6e7)} min`);
  await world.clock.sleep(5_000 + random.below(40_000));
  machine.stepWall(-micros);
  world.history.happened(`the clock of ${name} is right again`);
};

/** Every worker is busy with slow storage: what is promised holds without them (rule C23). */
const slowWorkers: Trouble = async (world, random) => {
  const busy: readonly SimWorker[] = random.chance(0.5)
    ? [...world.workers]
    : [random.one(world.workers)];
  for (const { way } of busy) way.storeDelayMs = 8_000;
  world.trouble("workers busy", `the storage is slow for ${busy.map((w) => w.name).join(", ")}`);
  await world.clock.sleep(10_000 + random.below(30_000));
  for (const { way } of busy) way.storeDelayMs = 0;
};

const SPACES = [
  "namespaces",
  "splits/",
  "routes/",
  "parts/",
  "split-publish",
  "split-work",
  "split-changes",
  "splits-changed",
  "evidence/",
  "slices/",
  "leases",
  "service",
  "id-strategies/",
  "deleted",
];

/** Calls for one kind of record fail; all others work. */
const failCatalogCalls: Trouble = async (world, random) => {
  const { network } = world.shared;
  network.deadSpace = random.one(SPACES);
  world.trouble("catalog calls fail", `catalog calls for ${network.deadSpace} fail`);
  await world.clock.sleep(1_000 + random.below(12_000));
  network.deadSpace = undefined;
};

const hurtReplica: Trouble = async (world, random) => {
  const { replicas } = world;
  const replica = random.below(3);
  const both = random.chance(0.25);
  if (random.chance(0.4)) {
    replicas.setLagging(replica);
    world.trouble("replica lags", `replica ${replica} takes its writes late`);
    await world.clock.sleep(5_000 + random.below(30_000));
    replicas.setLagging(undefined);
    return;
  }
  const down = both ? [replica, (replica + 1) % 3] : [replica];
  for (const each of down) replicas.setDown(each, true);
  const words = both ? "no majority is up" : "replica down";
  world.trouble(words, `replica ${down.join(" and ")} down`);
  await world.clock.sleep(2_000 + random.below(both ? 8_000 : 30_000));
  for (const each of down) replicas.setDown(each, false);
  world.history.happened(`replica ${down.join(" and ")} up again`);
};

/** A block comes back damaged, or does not come, on one read in many. */
function hurtBlocks(world: SimWorld): void {
  if (!world.has("damaged-blocks")) return;
  const random = world.random.fork();
  world.shared.store.blockFault = () => {
    if (world.over.signal.aborted || !random.chance(0.01)) return undefined;
    const fault = random.one(["damaged", "missing"] as const);
    world.count(`fault: block ${fault}`);
    return fault;
  };
}

/** No replica has the block any more: the split is useless there, the original is not. */
const loseBlock: Trouble = async (world, random) => {
  if (!world.shared.store.loseBlock((count) => random.below(count))) return;
  world.trouble("block lost", "a block of a part is lost on every replica");
};

/** Deletes a namespace and makes it again, or restores it. */
const makeAgain: Trouble = async (world, random, callers) => {
  const namespace = world.namespaces.find(({ settings }) => settings.madeAgain);
  const restored = random.chance(0.4);
  const purge = !restored && random.chance(0.5);
  if (namespace === undefined || namespace.changing) return;
  namespace.changing = true;
  namespace.generation++;
  const request = { by: "operator", reason: "made again", purge };
  const { name, id } = namespace;
  const { promises } = world.shared;
  await untilDone(world, async (server) => {
    await server.namespaces.delete(name, request);
  });
  promises.isDeleted(world.servers, name);
  world.trouble("namespace deleted", `${name} is deleted${purge ? " and purged" : ""}`);
  await world.clock.sleep(VIEW_MAX_AGE_MS + 500 + random.below(8_000));
  const ready = world.servers.find(({ machine }) => machine.ranForMs >= VIEW_MAX_AGE_MS);
  if (ready !== undefined) await callers.probeDeleted(namespace, ready);
  promises.forgetDeletion(name);
  let made = await readNamespace(world.shared.catalog, name);
  for (let tries = 0; made?.phase !== "READY"; tries++) {
    if (tries > TRIES_MAX) return world.fail(`${name} cannot be made again`);
    await untilDone(world, async (server) => {
      // Its grace may be over.
      if (restored && tries === 0) await server.namespaces.undelete({ id }, "");
      else await server.namespaces.create(name, namespace.settings.config);
    });
    made = await readNamespace(world.shared.catalog, name);
    // Another try may still be at it.
    if (made?.phase !== "READY") await world.clock.sleep(3_000);
  }
  if (made.id !== id) promises.forgetNamespace(name, [BLOCKED_SERIES]);
  namespace.id = made.id;
  namespace.generation++;
  world.trouble(
    made.id === id ? "namespace restored" : "namespace made again",
    made.id === id ? `${name} is restored` : `${name} is made again, as ${namespace.id}`,
  );
  // Until then a server may follow the one before; a paused one even later.
  await world.clock.sleep(PAUSE_MAX_MS + 2 * VIEW_MAX_AGE_MS + 40_000, world.over.signal);
  namespace.changing = false;
};

/** Repeats a change at one server after another, as an operator would whose request failed. */
async function untilDone(
  world: SimWorld,
  change: (server: SimServer) => Promise<void>,
): Promise<void> {
  for (let nth = 0; ; nth++) {
    try {
      const server = world.servers[nth % world.servers.length];
      if (server !== undefined) return await world.call(() => change(server));
    } catch (error) {
      if (isDone(error)) return;
      if (!isExpected(error) || nth > TRIES_MAX) throw error;
    }
    await world.clock.sleep(3_000);
  }
}

/** An earlier try, whose answer was lost, has deleted it or made it. */
function isDone(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return error.code === "NAMESPACE_NOT_FOUND" || error.code === "NAMESPACE_EXISTS";
}

/** Ends every fault. */
export function calmAll(world: SimWorld): void {
  for (const { way, machine } of [...world.servers, ...world.workers]) {
    way.chaos = CALM;
    way.storeDelayMs = 0;
    machine.resume();
  }
  world.shared.network.deadSpace = undefined;
  world.replicas.faults = { slow: 0, hintLost: 0, hintMsMax: 1 };
  world.replicas.setLagging(undefined);
  for (const replica of [0, 1, 2]) world.replicas.setDown(replica, false);
}
