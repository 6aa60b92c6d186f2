/**
 * The end of a world: the faults stop, and everything must come right by itself. No call is stuck,
 * every split comes to rest without a message, everything that was acknowledged is read on every
 * server, no split differs from its original, and of what was dropped nothing is left.
 */
import { readSlices } from "../../src/records/slice-records.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { VerifyProgress } from "../../src/splits/use-cases.ts";
import { Verifier } from "../../src/splits/verify/verifier.ts";
import type { Callers } from "./callers.ts";
import { SECOND } from "./kinds.ts";
import { calmAll } from "./troubles.ts";
import { CALL_MS_MAX, START, textOf } from "./world.ts";
import type { SimNamespace, SimWorld } from "./world.ts";

/** Requests may wait for work that began among the faults. */
const CALM_SECONDS_MAX = 120;
const QUIET_SECONDS_MAX = 1_200;
const VERIFY_SECONDS_MAX = 300;
const VERIFY_ROUNDS_MAX = 4;

export async function endCalmly(world: SimWorld, callers: Callers): Promise<void> {
  await quieten(world);
  await everyCallEnds(world);
  world.shared.store.repair();
  callers.repaired = true;
  await restOfAll(world);
  await judgeAll(world, callers);
  await verifyAll(world);
  await nothingLeft(world);
}

async function quieten(world: SimWorld): Promise<void> {
  calmAll(world);
  // The machines whose clocks were wrong are set right by the actors that made them so.
  const [server] = world.servers;
  const request = { by: "operator", reason: "the end" };
  const options = { force: true, autoAdvance: true };
  world.shared.promises.forgetAll();
  const calm = async (): Promise<void> => {
    await server?.modes.setKillSwitch(false, request);
    for (const { name } of world.namespaces) {
      await server?.splits.resume(name);
      await server?.modes.set(name, "SERVE", options, request);
    }
  };
  let isCalm = false;
  const calming = calm().then(() => (isCalm = true));
  const passing = async (): Promise<void> => {
    await world.pass(20);
    for (let seconds = 0; !isCalm && seconds < CALM_SECONDS_MAX; seconds++) await world.pass(1);
    if (!isCalm) world.fail("STUCK: a request of the operator does not end");
    world.mustBeRight();
  };
  await Promise.all([calming, passing()]);
}

/** A caller gives up after a while, so every call has an end. */
async function everyCallEnds(world: SimWorld): Promise<void> {
  await world.pass(CALL_MS_MAX / 1_000);
  const stuck = world.checker.stuck(world.clock.monotonicMs() - CALL_MS_MAX - 1_000);
  if (stuck !== undefined) world.fail(`${stuck.kind}: ${stuck.what}`);
  await world.pass(1);
}

/** Without any message, every split ends (rule C16). */
async function restOfAll(world: SimWorld): Promise<void> {
  for (let seconds = 0; seconds < QUIET_SECONDS_MAX; seconds += 15) {
    await world.pass(15);
    const records = (await recordsOfAll(world)).flat();
    if (!records.every(isAtRest)) continue;
    world.splits = {};
    for (const { state } of records) world.splits[state] = (world.splits[state] ?? 0) + 1;
    return;
  }
  const stuck = (await recordsOfAll(world)).flat().filter((record) => !isAtRest(record));
  const told = stuck.map(({ state, partition, history }) => {
    return `${state} ${partition.seriesId}/${partition.timeBucket}: ${history.at(-1)?.reason ?? ""}`;
  });
  world.fail(`STUCK: splits do not end: ${told.join("; ")}`);
  world.mustBeRight();
}

function recordsOfAll(world: SimWorld): Promise<SplitRecord[][]> {
  return Promise.all(world.namespaces.map((namespace) => world.records(namespace)));
}

async function judgeAll(world: SimWorld, callers: Callers): Promise<void> {
  const end = world.nowMicros() + 60 * SECOND;
  // Twice: the first read of each split is compared, the second is served from it.
  for (let round = 0; round < 2; round++) {
    for (const server of world.servers) {
      const reads = world.namespaces.flatMap((namespace) =>
        seriesOf(namespace).map(async (series) => {
          const start = START - 60 * SECOND;
          const asked = { series, start, end, newestFirst: round === 0, limit: 0 };
          try {
            await callers.judge(world.random, namespace, server, asked);
          } catch (error) {
            if (!isBlocked(error)) world.fail(`the last read of ${series}: ${textOf(error)}`);
          }
        }),
      );
      await Promise.all([Promise.all(reads), world.pass(15)]);
    }
  }
}

function seriesOf({ name }: SimNamespace): string[] {
  const many = Array.from({ length: 8 }, (_, nth) => `id-${nth}`);
  return name === "many" ? many : ["hot", "warm", "cold", "shunned"];
}

function isBlocked(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ID_BLOCKED";
}

/**
 * Event by event, by code that has no part in splitting and serving. An event that nobody promised
 * may have surfaced in an original after its copy: the comparison finds it, the split is copied
 * again, and the next comparison finds nothing.
 */
async function verifyAll(world: SimWorld): Promise<void> {
  const { catalog, store, clock } = world.shared;
  const random = world.random.fork();
  const [server] = world.servers;
  const recheck: NonNullable<ConstructorParameters<typeof Verifier>[0]["recheck"]> = async (
    reported,
    signal,
  ) => (await server?.recheck(reported, signal)) ?? false;
  const verifier = new Verifier({ catalog, store, clock, random, by: "verifier", recheck });
  const stop = new AbortController();
  const running = verifier.run(stop.signal);
  for (const { name } of world.namespaces) {
    let progress = await verify(world, verifier, name);
    for (let round = 1; progress.differences.length > 0 && round < VERIFY_ROUNDS_MAX; round++) {
      world.count("verify found a difference");
      await restOfAll(world);
      progress = await verify(world, verifier, name);
    }
    const [first] = progress.differences;
    if (first !== undefined) {
      world.fail(`a split is not its original, and stays so: ${JSON.stringify(first)}`);
    }
    world.verified += progress.eventsCompared;
    world.mustBeRight();
  }
  stop.abort();
  await running;
}

async function verify(world: SimWorld, verifier: Verifier, name: string): Promise<VerifyProgress> {
  const id = await verifier.start(name, {});
  let progress = await verifier.get(name, id);
  for (let passed = 0; progress.state === "RUNNING" && passed < VERIFY_SECONDS_MAX; passed++) {
    await world.pass(1);
    progress = await verifier.get(name, id);
  }
  const { state, reason } = progress;
  if (state !== "DONE") world.fail(`splits of ${name} cannot be compared: ${state} ${reason}`);
  world.mustBeRight();
  return progress;
}

/** Storage of a slice exists only where a record says so. */
async function nothingLeft(world: SimWorld): Promise<void> {
  const { catalog, store } = world.shared;
  // What was marked last is dropped after every server has seen the mark.
  await world.pass(60);
  const known = new Set<string>();
  for (const { name } of world.namespaces) {
    const found = await readNamespace(catalog, name);
    if (found === undefined) continue;
    for (const slice of await readSlices(catalog, found.id)) {
      if (slice.state !== "DROPPED") known.add(`${found.id}/${slice.name}`);
    }
  }
  const restorable = new Set((await catalog.list("deleted", "", 1_000)).map(({ key }) => key));
  for (const stored of store.sliceNames()) {
    const [id = "", slice = ""] = stored.split("/");
    const original = `${id}/${slice.replace(/^wide_/, "")}`;
    const isKnown = [...known].some((name) => original.startsWith(name) || name === stored);
    if (!isKnown && !restorable.has(id)) world.count("storage left of a dropped slice");
  }
}

/** Nothing is left to do, or only what time or an operator has to trigger. */
function isAtRest({ state, dueAt, segments }: SplitRecord): boolean {
  // An unconfirmed split is never served.
  if (state === "COMPLETED") return segments.every(({ confirmedAt }) => confirmedAt !== null);
  if (state === "REFUSED") return true;
  return dueAt === null && (state === "FAILED" || state === "INVALIDATED");
}
