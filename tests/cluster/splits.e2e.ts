/**
 * Several workers split on a real Cassandra and Kafka under constant load. The test kills and
 * freezes workers during copies, makes them race for the same splits, replays the queue, and
 * re-opens time that is split. No read is ever wrong, and in the end every split is complete.
 * @needs cassandra
 * @needs kafka
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { Producer } from "@platformatic/kafka";
import { connect } from "../../client/connect.ts";
import type { BraidClient, Split } from "../../client/connect.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import type { BraidProcess } from "../support/braid-processes.ts";
import { testCassandra, testKafka, uniqueName } from "../support/services.ts";
import { braid } from "../support/started-server.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  eventually,
  isServable,
  shortBuckets,
} from "../e2e/splits-support.ts";
import { readWholeTopic } from "../queues/read-topic.ts";
import type { TopicMessage } from "../queues/read-topic.ts";
import { Fleet } from "./several-servers-fleet.ts";
import type { Server } from "./several-servers-fleet.ts";
import { SplitLoad } from "./splits-load.ts";
import { metricsOf, sumIn, sumOf } from "./splits-metrics.ts";
import { sleepOverSplit } from "./splits-sleepers.ts";

const VIEW_MAX_AGE_MS = 2_000;
const KILLS = 8;
const SLEEPS = 2;
/** A worker may be between two splits when the test freezes it. */
const SLEEP_ATTEMPTS_MAX = 5;
/** While the test looks for a busy worker, how often it requests more work. */
const LOOKS_FOR_WORK = 5;
const SECOND = 1_000_000;
const BUCKET_SECONDS = 30;
const SETTLED = ["settled-0", "settled-1", "settled-2", "settled-3"];
/** Of each: about 30 parts. */
const SETTLED_EVENTS = { count: 2_400, bytes: 800 };
const LIVE = ["live-0", "live-1"];
const NAME = "splits";
/**
 * The last bucket has to end, to be sealed, and to be triaged twice: more than a minute on an idle
 * machine.
 */
const REST_MS_MAX = 240_000;
/** How far the test re-opens time, beyond the newest split. */
const OPENED_SECONDS = 60;

let fleet: Fleet;
let servers: readonly [Server, Server];
let workers: readonly BraidProcess[] = [];
let clients: readonly BraidClient[];
const topicPrefix = `${uniqueName("k")}.`;

before(async () => {
  fleet = await Fleet.open({
    cassandra: testCassandra().contactPoints,
    kafka: testKafka(),
    viewMaxAgeMs: VIEW_MAX_AGE_MS,
    env: {
      BRAID_KAFKA_PREFIX: topicPrefix,
      BRAID_WRITE_MAX: "8s",
      BRAID_CLOCK_SKEW: "0ms",
      BRAID_SPLITS_SWEEP_EVERY: "300ms",
      BRAID_SPLITS_CONCURRENCY: "1",
      BRAID_SPLITS_SERVE_SAMPLE: "4",
    },
  });
  servers = [await fleet.serve("a"), await fleet.serve("b")];
  clients = servers.map(({ client }) => client);
});

after(() => fleet[Symbol.asyncDispose]());

test("workers die, freeze, race and get messages again, time re-opens, and no read is ever wrong", async (t) => {
  const [a, b] = servers;
  const partition = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: BUCKET_SECONDS };
  await a.client.createNamespace(NAME, {
    ...shortBuckets(BUCKET_SECONDS),
    timePartition: partition,
    retention: {},
  });
  await a.client.splits.setReadMode(NAME, "SERVE", { force: true, reason: "a test" });
  const ledger = new Ledger();
  const reopened = new Set<string>();
  const from = bucketBefore(BUCKET_SECONDS, 5);
  const bucket = { from, to: from + BUCKET_SECONDS * SECOND };
  const patient = connect(a.url);
  for (const series of SETTLED) {
    const events = eventsOver(ledger, series, from, bucket.to, SETTLED_EVENTS);
    await ledger.write(patient, NAME, events);
  }
  await b.client.updateNamespace(NAME, { acceptLimit: "3s" });
  const settled = SETTLED.map((series) => ({ series, ...bucket }));
  const load = new SplitLoad({ clients, namespace: NAME, ledger, live: LIVE, settled });
  try {
    // Workers that have seen no earlier floor wait for this one, and triage nothing too early.
    await eventually("sealed", floor, (sealed) => sealed >= bucket.to);
    workers = await Promise.all(["u", "v", "w"].map((name) => fleet.work(name)));
    // Before any is killed: then the one stopped heartbeat is that of the frozen worker.
    for (let sleeps = 0; sleeps < SLEEPS; sleeps++) {
      t.diagnostic(`a worker was frozen over ${await freezeBusyWorker()}`);
    }
    await killBusyWorkers();
    t.diagnostic(`${KILLS} workers killed while they copied`);

    const replayed = await replayQueue();
    t.diagnostic(`${replayed.length} messages of the queue sent again`);

    // Sealed time re-opens, and late events arrive in time that was split.
    const newest = Math.max(...(await listed()).map(coveredTo));
    const openedSeconds = Math.ceil(Date.now() / 1_000 - newest / SECOND) + OPENED_SECONDS;
    await b.client.updateNamespace(NAME, { acceptLimit: `${openedSeconds}s` });
    const lowest = await floor();
    const opened = (await listed()).filter((split) => coveredTo(split) > lowest).map(nameOf);
    ok(opened.length > 0, "some split time is open again");
    for (const split of opened) reopened.add(split);
    t.diagnostic(`${await replayOlderEpoch()} messages of an older epoch sent again`);
    load.lateMicros = (openedSeconds - 10) * SECOND;
    await eventually(
      "late events are accepted",
      () => load.lateAcknowledged,
      (count) => count >= 20,
    );
    load.lateMicros = 0;
    await a.client.updateNamespace(NAME, { acceptLimit: "3s" });
    t.diagnostic(`${opened.length} splits re-opened`);
    const judged = ledger.readsJudged;
    await eventually(
      "reads continue",
      () => ledger.readsJudged - judged,
      (count) => count >= 10,
    );
  } finally {
    await load.stop();
  }
  deepEqual(ledger.wrong, []);

  // A re-opening changes no record: the splits of that time begin again when it is sealed.
  const { epoch = 0 } = (await readNamespace(fleet.catalog, NAME)) ?? {};
  const isAgain = (split: Split): boolean =>
    !reopened.has(nameOf(split)) || Number(split.epoch) === epoch;
  await eventually(
    "every split has ended",
    async () =>
      (await listed()).filter((split) => !isAtRest(split) || !isAgain(split)).map(summary),
    (restless) => restless.length === 0,
    REST_MS_MAX,
  );
  const splits = await Promise.all(
    (await listed()).map(({ preSplitData }) => a.client.splits.get(NAME, preSplitData)),
  );
  const ids = new Set(splits.map(({ preSplitData }) => preSplitData.timeSeriesId));
  for (const series of [...SETTLED, ...LIVE]) ok(ids.has(series), `${series} was split`);
  const by = new Set(splits.flatMap(({ history }) => history.map((move) => move.by)));
  for (const split of splits) isWhole(split);

  const verified = await braid(["verify", NAME, "--json"], b.url);
  equal(verified.code, 0, verified.err + verified.out);
  const verify = JSON.parse(verified.out);
  deepEqual([verify.differencesFound, verify.splitsTotal], ["0", String(splits.length)]);

  const to = Date.now() * 1_000 + SECOND;
  for (const client of clients) {
    for (const series of [...SETTLED, ...LIVE]) {
      const query = { series, from, to, order: "OLDEST_FIRST", over: "stream" } as const;
      await ledger.read([client], NAME, query);
    }
  }
  deepEqual(ledger.wrong, []);
  equal(await sumOf(servers, "braid_comparisons_total", 'result="differ"'), 0);
  equal((await a.client.splits.getReadMode(NAME)).mode, "SERVE");
  const served = await sumOf(servers, "braid_read_seconds_count", 'route="split"');
  ok(served > 0, "some reads were served from splits");
  t.diagnostic(
    `${splits.length} splits by ${by.size} workers, ${verify.eventsCompared} events verified`,
  );
  t.diagnostic(`${ledger.acknowledged} events acknowledged, ${load.lateAcknowledged} batches late`);
  t.diagnostic(
    `${ledger.readsJudged} reads judged, ${served} pages from splits; ${load.summary()}`,
  );
});

/**
 * Freezes a worker in the middle of a copy until another has continued it. Returns a description of
 * the split.
 */
async function freezeBusyWorker(): Promise<string> {
  for (let attempt = 0; attempt < SLEEP_ATTEMPTS_MAX; attempt++) {
    const slept = await sleepOverSplit(fleet.catalog, NAME, await busyWorker());
    if (slept !== undefined) return slept;
  }
  throw new Error("no worker was frozen during a split");
}

/** Kills a worker in the middle of a copy and starts another, repeatedly. */
async function killBusyWorkers(): Promise<void> {
  const starting: Promise<void>[] = [];
  for (let kills = 0; kills < KILLS; kills++) {
    const busy = await busyWorker();
    await busy.stop("SIGKILL");
    starting.push(busy.start());
    // At least one worker is always alive.
    if (starting.length >= workers.length - 1) await starting.shift();
  }
  await Promise.all(starting);
}

/** A worker that has written since the last poll and is still copying. */
async function busyWorker(): Promise<BraidProcess> {
  const written = new Map<BraidProcess, number>();
  let looks = 0;
  const busy = await eventually(
    "a worker is copying",
    async () => {
      if (++looks % LOOKS_FOR_WORK === 0) await giveWork();
      const found = await Promise.all(
        workers.map(async (worker) => {
          const text = await metricsOf(worker);
          const active = sumIn(text, "braid_splits_active", "");
          const bytes = sumIn(text, "braid_split_bytes_total", 'stage="written"');
          const before = written.get(worker) ?? bytes;
          written.set(worker, bytes);
          return active > 0 && bytes > before;
        }),
      );
      return workers[found.indexOf(true)];
    },
    (worker) => worker !== undefined,
  );
  ok(busy !== undefined);
  return busy;
}

/**
 * When all settled ids are split, rolls their splits back and retries them, through both servers at
 * once.
 */
async function giveWork(): Promise<void> {
  const splits = await listed();
  const settled = splits.filter(({ preSplitData }) => SETTLED.includes(preSplitData.timeSeriesId));
  if (settled.length < SETTLED.length || !settled.every(isServable)) return;
  for (const { preSplitData } of settled) {
    await servers[0].client.splits.rollback(NAME, preSplitData, { reason: "a test" });
    // Of two retries at once, one may find the split in progress, and one may get a retryable
    // conflict.
    await Promise.allSettled(
      clients.map((client) => client.splits.retry(NAME, preSplitData, { reason: "a test" })),
    );
  }
}

/** Sends all messages of the queue so far again. Returns them. */
async function replayQueue(): Promise<readonly TopicMessage[]> {
  const topic = `${topicPrefix}braid.detections`;
  const messages = await readWholeTopic(testKafka(), topic);
  // Each recorded split had a message.
  ok(messages.length >= (await listed()).length, `${messages.length} messages`);
  const before = await handled();
  const producer = new Producer({ clientId: "braid-test", bootstrapBrokers: testKafka() });
  try {
    const again = messages.map(({ key, value }) => {
      return { topic, key: Buffer.from(key), value: Buffer.from(value) };
    });
    await producer.send({ messages: again });
  } finally {
    await producer.close();
  }
  await eventually("all messages are handled", handled, (now) => now >= before + messages.length);
  return messages;
}

/**
 * The same after time was re-opened: messages of an older epoch start no split. Returns their
 * number.
 */
async function replayOlderEpoch(): Promise<number> {
  const { epoch = 0 } = (await readNamespace(fleet.catalog, NAME)) ?? {};
  const before = new Map((await listed()).map((split) => [nameOf(split), Number(split.epoch)]));
  const ignored = () => handled('outcome="other_epoch"');
  const ignoredBefore = await ignored();
  const messages = await replayQueue();
  const older = messages.filter(({ value }) => Number(JSON.parse(value).version) < epoch);
  ok(older.length >= SETTLED.length);
  await eventually(
    "the older messages are ignored",
    ignored,
    (now) => now >= ignoredBefore + older.length,
  );
  for (const split of await listed()) {
    ok(Number(split.epoch) >= (before.get(nameOf(split)) ?? 0), nameOf(split));
  }
  return older.length;
}

/** Summed over all live workers. */
function handled(label = ""): Promise<number> {
  return sumOf(workers, "braid_detections_handled_total", label);
}

function nameOf({ preSplitData }: Split): string {
  const { timeSlice, timeSeriesId, timeBucket, eventBucket } = preSplitData;
  return [timeSlice, timeSeriesId, timeBucket, eventBucket].join("/");
}

function isAtRest(split: Split): boolean {
  return isServable(split) && split.dueTime === undefined;
}

/** The fields that show why a split has not ended. */
function summary(split: Split): object {
  const segments = split.segments.map(({ from, to, state, confirmed }) => {
    return `${from} to ${to} ${state}${confirmed ? ", confirmed" : ""}`;
  });
  const { state, dueTime } = split;
  return { name: nameOf(split), state, dueTime, segments, latest: split.history.slice(-4) };
}

/** Event time in microseconds; 0 if it has no segment. */
function coveredTo({ segments }: Split): number {
  return Date.parse(segments.at(-1)?.to ?? new Date(0).toISOString()) * 1_000;
}

/** Its segments are contiguous, and no part is listed twice. */
function isWhole({ segments, preSplitData }: Split): void {
  const parts = new Set<number>();
  let listed = 0;
  for (const [i, { from, postSplitData }] of segments.entries()) {
    if (i > 0) equal(from, segments[i - 1]?.to, preSplitData.timeSeriesId);
    for (const { eventBucket } of postSplitData.parts) parts.add(eventBucket);
    listed += postSplitData.parts.length;
  }
  equal(parts.size, listed, preSplitData.timeSeriesId);
}

/** Without their parts. */
async function listed(): Promise<Split[]> {
  const found: Split[] = [];
  for await (const split of servers[0].client.splits.list(NAME)) found.push(split);
  return found;
}

/** The stored floor. */
async function floor(): Promise<number> {
  return (await readNamespace(fleet.catalog, NAME))?.floor ?? 0;
}
