/** What an operator does to a namespace and its splits, at random times. */
import { READ_MODES } from "../../src/model/read-mode.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { SplitLocation } from "../../src/splits/use-cases.ts";
import { BLOCKED_SERIES } from "./callers.ts";
import { SECOND, wideOf } from "./kinds.ts";
import { MARGINS } from "./processes.ts";
import type { SimServer } from "./processes.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimNamespace, SimWorld } from "./world.ts";

const ACCEPT_SECONDS = [15, 30, 60];
const BY = { by: "operator", reason: "why not" };

type Act = (
  world: SimWorld,
  random: SeededRandom,
  namespace: SimNamespace,
  server: SimServer,
) => Promise<void>;

export async function operate(world: SimWorld, random: SeededRandom): Promise<void> {
  const namespace = world.someNamespace(random);
  const server = random.one(world.servers);
  const act = random.one(world.settings.kind === "plain" ? PLAIN_ACTS : FULL_ACTS);
  if (namespace === undefined || !world.has("operators")) return;
  await act(world, random, namespace, server);
}

const pause: Act = async (world, random, { name }, server) => {
  await world.call(() => server.splits.pause(name, BY));
  world.trouble("splits paused", `the operator pauses the splits of ${name}`);
  await world.clock.sleep(random.below(10_000));
  await world.call(() => server.splits.resume(name));
};

const setMode: Act = async (world, random, { name, id }, server) => {
  const mode = random.one(READ_MODES);
  const { promises } = world.shared;
  const options = { force: true, autoAdvance: true };
  const { state } = await world.call(() => server.modes.set(name, mode, options, BY));
  world.trouble("mode set", `the operator sets the read mode of ${name} to ${mode}`);
  if (state.mode !== "SERVE") promises.modeIsSet(world.servers, id, state.round);
};

const setAcceptLimit: Act = async (world, random, namespace, server) => {
  const { name, generation } = namespace;
  const { promises, catalog } = world.shared;
  const acceptLimitMicros = random.one(ACCEPT_SECONDS) * SECOND;
  const before = await readNamespace(catalog, name);
  promises.forgetRaise(name);
  await world.call(() => server.namespaces.update(name, { acceptLimitMicros }, []));
  world.trouble("limit set", `acceptLimit of ${name} is set to ${acceptLimitMicros / SECOND} s`);
  await promises.isReopened(world.servers, name, await world.records(namespace));
  if (generation !== namespace.generation) return;
  if (before !== undefined && acceptLimitMicros > before.config.acceptLimitMicros) {
    promises.isRaised(world.servers, name);
    void probeLater(world, random, namespace, acceptLimitMicros).catch(() => undefined);
  }
};

async function probeLater(
  world: SimWorld,
  random: SeededRandom,
  namespace: SimNamespace,
  acceptLimitMicros: number,
): Promise<void> {
  await world.clock.sleep(MARGINS.viewMaxAge.ms + 500);
  if (namespace.changing || world.over.signal.aborted) return;
  await world.callers?.probeRaise(namespace, world.ready(random), acceptLimitMicros);
}

const replayQueue: Act = async (world) => {
  world.trouble("queue replayed", "every detection comes again");
  world.shared.queue.replay();
};

const setKillSwitch: Act = async (world, random, _, server) => {
  const on = random.chance(0.3);
  const { promises } = world.shared;
  promises.forgetKillSwitch();
  await world.call(() => server.modes.setKillSwitch(on, BY));
  world.trouble("kill switch", `the operator sets the kill switch ${on ? "on" : "off"}`);
  if (on) promises.killSwitchIsOn(world.servers);
};

const meddle: Act = async (world, random, namespace, server) => {
  const records = await world.records(namespace);
  if (records.length === 0) return;
  const place = locationOf(namespace, random.one(records));
  const text = `${place.seriesId} bucket ${place.timeBucket}.${place.eventBucket} of ${place.timeSlice}`;
  if (random.chance(0.4)) {
    const { record } = await world.call(() => server.splits.rollback(place, BY));
    world.trouble("rollback", `the operator rolls back the split of ${text}`);
    world.shared.promises.isRolledBack(world.servers, record);
    return;
  }
  const again = random.chance(0.5) ? "retry" : "request";
  await world.call(() => server.splits[again](place, BY));
  world.trouble("split again", `the operator asks for the split of ${text} (${again})`);
};

const block: Act = async (world, random, namespace, server) => {
  const { name, generation } = namespace;
  const { promises } = world.shared;
  const ids = [{ seriesId: BLOCKED_SERIES, reason: "test", expiresAt: undefined }];
  promises.forgetBlock(name, BLOCKED_SERIES);
  if (random.chance(0.5)) {
    await world.call(() => server.namespaces.blockIds(name, ids));
    world.trouble("id blocked", `the operator blocks ${BLOCKED_SERIES} in ${name}`);
    if (generation !== namespace.generation) return;
    promises.isBlocked(world.servers, name, BLOCKED_SERIES);
  } else {
    await world.call(() => server.namespaces.unblockIds(name, [BLOCKED_SERIES]));
    world.trouble("id unblocked", `the operator unblocks ${BLOCKED_SERIES} in ${name}`);
  }
};

/** How the next splits are laid out; parts that exist stay as they are. */
const setLayout: Act = async (world, random, { name }, server) => {
  const widePartition = wideOf(random);
  await world.call(() => server.namespaces.update(name, { widePartition }, []));
  const { layout, strategy } = widePartition;
  world.trouble("layout set", `splits of ${name} are ${layout} by ${strategy} from now on`);
};

/** Of slices that do not exist yet. */
const setPartitioning: Act = async (world, random, { name, settings }, server) => {
  const was = settings.config.timePartition?.secondsPerTimeSlice ?? 120;
  const timePartition = {
    secondsPerTimeSlice: random.one([was, 2 * was]),
    secondsPerTimeBucket: random.one([was / 2, was]),
    eventBuckets: random.one([1, 2]),
  };
  await world.call(() => server.namespaces.update(name, { timePartition }, []));
  world.trouble("partitioning set", `future slices of ${name} are partitioned otherwise`);
};

const undrop: Act = async (world, _, { name, id }, server) => {
  const slices = await readSlices(world.shared.catalog, id);
  const dropping = slices.find(({ state }) => state === "DROPPING");
  if (dropping === undefined) return;
  await world.call(() => server.namespaces.undropTimeSlice(name, dropping.name));
  world.trouble("slice restored", `the operator restores slice ${dropping.name} of ${name}`);
};

const PLAIN_ACTS = [
  pause,
  setMode,
  setAcceptLimit,
  setAcceptLimit,
  replayQueue,
  setKillSwitch,
  meddle,
  meddle,
];

const FULL_ACTS = [...PLAIN_ACTS, block, block, setLayout, setPartitioning, undrop];

function locationOf({ name }: SimNamespace, { partition }: SplitRecord): SplitLocation {
  const { slice, seriesId, timeBucket, eventBucket } = partition;
  return { namespace: name, timeSlice: slice, seriesId, timeBucket, eventBucket };
}
