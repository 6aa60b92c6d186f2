/**
 * Whatever is written, and however it is split: reads that begin and continue while workers are in
 * the middle of it answer as a plain sorted list does.
 *
 * Real workers make the splits. They stop before and after each of their calls until they are let
 * through. In between, or at the same time, pages are read, with the tokens of earlier pages, from
 * one of two servers that learn of changes at different times; workers die and are taken over,
 * splits are rolled back and retried, sealed time is re-opened, and late events are written into
 * it.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { utf8 } from "../../src/lib/bytes.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { ReadMode } from "../../src/model/read-mode.ts";
import { SPLIT_LAYOUTS } from "../../src/model/layouts.ts";
import { SPLIT_STRATEGIES } from "../../src/model/strategies/strategies.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { ReadPage } from "../../src/read/read-page.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import type { Engine } from "../support/busy-engine.ts";
import { LiveSplits, NAME, locationOf, SETTLE_MS } from "../support/live-splits.ts";
import type { LiveServer, LiveWorker } from "../support/live-splits.ts";
import * as reads from "./reads.ts";
import type { ModelEvent } from "./reads.ts";
import { Turnstile } from "./turnstile.ts";

const { SECOND } = reads;
const START = Date.UTC(2026, 2, 28, 12) * 1_000;
const SLICE_SECONDS = 1_200;
/** The event time in use, from START on. */
const USED_SECONDS = 600;
const ACCEPT_SECONDS = [30, 30, 90, 400];
/** From START on: some of the time is sealed, some is open. */
const NOW_SECONDS = [150, 200, 330, 400];
const PAGE_SIZE_DEFAULT = 5;
const SERIES = "s";

/** Microseconds from START; often the same one, or at or next to an edge of a bucket or a part. */
const offset = fc.oneof(
  fc.nat({ max: USED_SECONDS * SECOND - 1 }),
  fc.nat({ max: 20 }).map((nth) => nth * 30 * SECOND),
  fc
    .tuple(fc.constantFrom(0, 100, 300, 599), fc.constantFrom(0, 0, 1, 2, 999_999))
    .map(([second, micros]) => second * SECOND + micros),
  // Where a floor is likely to be: the accept limit and the clock skew before now.
  fc
    .tuple(fc.constantFrom(...NOW_SECONDS), fc.nat({ max: 2 }), fc.constantFrom(-1, 0, 0, 1))
    .map(([now, steps, micros]) => (now - 30.5 + 5 * steps) * SECOND + micros),
);

/** Any character except half of a surrogate pair. */
const character = fc
  .oneof(
    fc.nat({ max: 0x7f }),
    fc.nat({ max: 0xd7_ff }),
    fc.integer({ min: 0xe0_00, max: 0x10_ff_ff }),
  )
  .map((code) => String.fromCodePoint(code));

const id = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...reads.EVENT_IDS) },
  {
    weight: 1,
    arbitrary: fc.array(character, { minLength: 1, maxLength: 12 }).map((each) => each.join("")),
  },
);

const event = fc.record({
  offset,
  id,
  device: fc.constantFrom("ios", "tv", ""),
  padding: fc.oneof(
    { weight: 12, arbitrary: fc.nat(40) },
    { weight: 2, arbitrary: fc.nat(3_000) },
    { weight: 1, arbitrary: fc.nat(70_000) },
  ),
});

const query = fc.record({
  // Mostly the whole range; ranges that cut off the edges are tried too.
  range: fc.oneof(
    { weight: 2, arbitrary: fc.constant([0, USED_SECONDS * SECOND + 1] as const) },
    { weight: 1, arbitrary: fc.tuple(offset, fc.integer({ min: 1, max: 400 * SECOND })) },
  ),
  order: fc.constantFrom<ReadQuery["order"]>("NEWEST_FIRST", "OLDEST_FIRST"),
  pageSize: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constant(1_000)),
  totalLimit: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(60)),
  filter: fc.constantFrom(undefined, undefined, "ios", "tv", "none"),
  streamed: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
});

const WHATS = [
  ["begin", 12],
  ["go on", 60],
  ["end", 6],
  ["roll back", 1],
  ["retry", 3],
  ["accept", 2],
  ["open again", 2],
  ["write", 6],
  ["hear", 6],
  ["wait", 3],
  ["kill", 2],
  ["add a worker", 2],
] as const;

const action = fc.record({
  what: fc.oneof(...WHATS.map(([what, weight]) => ({ weight, arbitrary: fc.constant(what) }))),
  /** How many calls and answers are let through first. */
  steps: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 40 })),
  which: fc.nat({ max: 1_000 }),
  query,
  event,
});

const world = fc.record({
  secondsPerTimeBucket: fc.constantFrom(300, 600),
  eventBuckets: fc.constantFrom(1, 1, 2),
  nowSeconds: fc.constantFrom(...NOW_SECONDS, 700),
  strategy: fc.constantFrom("AUTO", ...SPLIT_STRATEGIES),
  layout: fc.constantFrom(...SPLIT_LAYOUTS),
  targetBytes: fc.constantFrom(64, 64, 300, 300, 1_000, 5_000, 100_000),
  maxParts: fc.constantFrom(1, 2, 5, 4_096, 4_096, 4_096),
  /** Whether the time that is sealed at first is split and served before anything else happens. */
  begun: fc.boolean(),
  mode: fc.constantFrom<ReadMode>("SERVE", "SERVE", "SERVE", "SERVE", "COMPARE"),
  events: fc.array(event, { minLength: 20, maxLength: 90, size: "max" }),
  actions: fc.array(action, { minLength: 25, maxLength: 60, size: "max" }),
  pageBytesMax: fc.constantFrom(300, 2_000, 3 * 1024 * 1024),
  /** Whether workers also continue while a page is being read. */
  interleaved: fc.boolean(),
  randomness: fc.nat(),
});

type WorldInput = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;
type Query = typeof query extends fc.Arbitrary<infer T> ? T : never;

/**
 * A failure is reported after this long, whether or not a smaller one was found: a world takes a
 * second on disk.
 */
const SHRINK_MS_MAX = 120_000;

/**
 * What was done in all worlds together, and how often: a test can check that it was done at all.
 */
export type Tally = Map<string, number>;

/**
 * `openEngine` returns a fresh one each time; a failure prints the seed, a new one each time unless
 * given.
 */
export async function readsDuringSplitsEqualTheModel(
  openEngine: () => Promise<Engine>,
  runs: { readonly numRuns: number; readonly seed?: number },
): Promise<Tally> {
  const tally: Tally = new Map();
  const property = fc.asyncProperty(world, async (input) => {
    const at = await WorkingWorld.open(await openEngine(), input, tally);
    try {
      await at.live();
    } finally {
      await at.close();
    }
  });
  await fc.assert(property, { ...runs, interruptAfterTimeLimit: SHRINK_MS_MAX });
  return tally;
}

class WorkingWorld {
  readonly #input: WorldInput;
  readonly #live: LiveSplits;
  readonly #tally: Tally;
  readonly #turnstile: Turnstile;
  readonly #servers: readonly LiveServer[];
  readonly #workers: LiveWorker[] = [];
  readonly #model = new Map<string, ModelEvent>();
  readonly #open: OpenRead[] = [];
  #partitions: readonly PartitionKey[] = [];
  /** A page is being read while workers continue. */
  #inPage = false;
  /** Of the accept limit; one at a time. */
  #changing: Promise<unknown> | undefined;

  private constructor(live: LiveSplits, input: WorldInput, tally: Tally) {
    this.#live = live;
    this.#input = input;
    this.#tally = tally;
    this.#turnstile = new Turnstile(input.randomness);
    const { pageBytesMax } = input;
    const limits = {
      pageSizeDefault: PAGE_SIZE_DEFAULT,
      pageBytesMax,
      streamPageBytes: pageBytesMax,
    };
    const gate = (): void | Promise<void> => (this.#inPage ? this.#turnstile.gate() : undefined);
    this.#servers = [live.startServer(limits, gate), live.startServer(limits, gate)];
  }

  static async open(engine: Engine, input: WorldInput, tally: Tally): Promise<WorkingWorld> {
    const live = await LiveSplits.open(engine, START + input.nowSeconds * SECOND, {
      timePartition: {
        secondsPerTimeSlice: SLICE_SECONDS,
        secondsPerTimeBucket: input.secondsPerTimeBucket,
        eventBuckets: input.eventBuckets,
      },
      acceptLimitMicros: 30 * SECOND,
      futureLimitMicros: 5 * SECOND,
      retention: { closeAfterMicros: 36_000 * SECOND, deleteAfterMicros: 72_000 * SECOND },
    });
    const { targetBytes, maxParts, layout, strategy, mode } = input;
    const wide = { targetBytes, bytesMax: targetBytes, eventsMax: 20 };
    await live.tune({ ...wide, maxParts, layout, strategy }, mode);
    return new WorkingWorld(live, input, tally);
  }

  async close(): Promise<void> {
    this.#turnstile.open();
    for (const read of this.#open) await this.#pass(read.close());
    await this.#live.close();
  }

  async live(): Promise<void> {
    await this.#begin();
    for (const each of this.#input.actions) {
      for (let steps = 0; steps < each.steps; steps++) await this.#step();
      await this.#act(each);
    }
    await this.#comeToRest();
    for (const read of this.#open.splice(0)) await this.#finish(read, 0);
    await this.#readAll();
    for (const { told } of this.#servers) {
      deepEqual(
        told.filter((what) => what.startsWith("fell back")),
        [],
      );
    }
  }

  async #begin(): Promise<void> {
    for (const { offset: at, ...rest } of this.#input.events) {
      const made = { ...rest, series: SERIES, time: START + at };
      if (!this.#model.has(reads.keyOf(made))) this.#model.set(reads.keyOf(made), made);
    }
    const live = this.#live;
    this.#partitions = await live.store([...this.#model.values()].map(reads.encode));
    this.#startWorker();
    await live.advance(SETTLE_MS);
    for (const partition of this.#partitions) {
      await this.#pass(this.#server(0).splits.request(locationOf(partition), OPERATOR_REQUEST));
    }
    if (!this.#input.begun) return;
    this.#turnstile.open();
    await live.rest(this.#partitions);
    this.#turnstile.shut();
    await this.#readWhole("NEWEST_FIRST");
  }

  #startWorker(): void {
    this.#workers.push(this.#live.startWorker(this.#turnstile.gate));
  }

  /** One call or answer of a worker is let through; if none waits, time passes. */
  async #step(): Promise<void> {
    const turnstile = this.#turnstile;
    if (turnstile.waiting === 0) await this.#live.advance(IDLE_MS);
    else {
      turnstile.letThrough();
      await this.#live.engine.quiet();
      await this.#live.clock.advance(turnstile.randomness(100));
    }
    await this.#live.engine.quiet();
  }

  /** Steps until the work has ended: it may wait for a step of its own, or for time. */
  async #pass<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => void (ended = true);
    work.then(end, end);
    for (let steps = 0; ; steps++) {
      await this.#live.engine.quiet();
      if (ended) return work;
      ok(steps < WORK_STEPS_MAX, "the work ends");
      await this.#step();
    }
  }

  async #act({ what, which, query: asked, event: made }: Action): Promise<void> {
    const live = this.#live;
    const server = this.#server(which);
    const partition = this.#partitions[which % this.#partitions.length];
    const read = this.#open[which % Math.max(1, this.#open.length)];
    switch (what) {
      case "begin":
        this.#open.push(new OpenRead(asked, this.#model, server));
        break;
      case "go on":
        if (read !== undefined) await this.#goOn(read, which);
        break;
      case "end":
        if (read !== undefined) await this.#finish(read, which);
        break;
      case "roll back":
      case "retry":
        if (partition !== undefined) await this.#operatorRequest(server, partition, what);
        break;
      case "accept":
        this.#accept(ACCEPT_SECONDS[which % ACCEPT_SECONDS.length] ?? 30);
        break;
      case "open again":
        if (partition !== undefined) await this.#openAgain(server, partition, made);
        break;
      case "write":
        await this.#write(server, made, await this.#lateness());
        break;
      case "hear":
        for (const each of this.#partitions) server.serving.changed(each);
        break;
      case "wait":
        await live.advance(1_000 + 1_000 * (which % 10));
        break;
      case "kill":
        this.#workers.splice(which % this.#workers.length, 1)[0]?.kill();
        if (this.#workers.length === 0) this.#startWorker();
        break;
      case "add a worker":
        if (this.#workers.length < 3) this.#startWorker();
    }
  }

  #server(which: number): LiveServer {
    const server = this.#servers[which % this.#servers.length];
    ok(server !== undefined);
    return server;
  }

  async #operatorRequest(server: LiveServer, partition: PartitionKey, what: "roll back" | "retry") {
    const location = locationOf(partition);
    try {
      const { splits } = server;
      await this.#pass(
        what === "retry"
          ? splits.retry(location, OPERATOR_REQUEST)
          : splits.rollback(location, OPERATOR_REQUEST),
      );
      this.#count(what);
    } catch (error) {
      // There is nothing to retry.
      if (!(error instanceof ServiceError && error.code === "REQUEST_INVALID")) throw error;
    }
  }

  /** Raising it re-opens sealed time, in steps that take a while. */
  #accept(seconds: number): void {
    if (this.#changing !== undefined) return;
    const change = { acceptLimitMicros: seconds * SECOND };
    this.#changing = this.#live.namespaces.update(NAME, change, []).then(() => {
      this.#changing = undefined;
      this.#count("accept");
    });
    // It is awaited at the end.
    this.#changing.catch(() => undefined);
  }

  async #lateness(): Promise<{ readonly from: number; readonly to: number }> {
    const now = this.#live.clock.nowMicros();
    return { from: now - (await this.#live.acceptLimitMicros()), to: now };
  }

  /** Re-opens split time and writes into it. */
  async #openAgain(server: LiveServer, partition: PartitionKey, made: Action["event"]) {
    if (this.#changing !== undefined) return;
    const segment = (await this.#pass(this.#live.record(partition)))?.segments.at(-1);
    if (segment === undefined) return;
    const late = this.#live.clock.nowMicros() - segment.from;
    this.#accept(Math.ceil(late / SECOND) + 60);
    await this.#pass(this.#changing ?? Promise.resolve());
    // Until this server knows of it.
    for (let tries = 0; tries < 20; tries++) {
      if (await this.#write(server, made, segment)) {
        this.#count("written into split time");
        return;
      }
      await this.#step();
      await this.#live.advance(500);
    }
  }

  /** Somewhere in that time; false if it was refused. */
  async #write(
    { writer }: LiveServer,
    { offset: at, ...rest }: Action["event"],
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<boolean> {
    const within = Math.floor((at / (USED_SECONDS * SECOND)) * (to - from));
    const made = { ...rest, series: SERIES, time: Math.min(from + within, END - 1) };
    // The engines decide between the same identity with different bytes (rule C21).
    if (this.#model.has(reads.keyOf(made))) return true;
    const batch = { namespace: NAME, events: [reads.encode(made)], bytes: 1_000 };
    const { failures } = await this.#pass(writer.write(batch, NEVER));
    const [failure] = failures;
    if (failure === undefined) this.#model.set(reads.keyOf(made), made);
    else equal(failure.code, "EVENT_TOO_OLD");
    this.#count(failure === undefined ? "written" : "too old");
    return failure === undefined;
  }

  async #goOn(read: OpenRead, which: number): Promise<void> {
    for (const what of await this.#whatGoesOn()) this.#count(`page while ${what}`);
    this.#inPage = this.#input.interleaved;
    await this.#pass(read.next(this.#server(which)));
    this.#inPage = false;
    if (read.ended) await this.#judge(read);
  }

  async #finish(read: OpenRead, which: number): Promise<void> {
    while (!read.ended) await this.#pass(read.next(this.#server(which)));
    await this.#judge(read);
  }

  async #judge(read: OpenRead): Promise<void> {
    const at = this.#open.indexOf(read);
    if (at >= 0) this.#open.splice(at, 1);
    await this.#pass(read.close());
    read.judge(this.#model);
    this.#count("reads");
  }

  async #whatGoesOn(): Promise<Set<string>> {
    const found = new Set<string>();
    for (const partition of this.#partitions) {
      const record = await this.#pass(this.#live.record(partition));
      if (record !== undefined) found.add(stageOf(record));
    }
    return found;
  }

  async #comeToRest(): Promise<void> {
    const live = this.#live;
    this.#turnstile.open();
    if (this.#changing !== undefined) await this.#pass(this.#changing);
    // By then all used time is sealed, unless later events were accepted on the way.
    const sealed = END + (await live.acceptLimitMicros()) + SETTLE_MS * 1_000;
    const leftMs = Math.ceil((sealed - live.clock.nowMicros()) / 1_000);
    await live.advance(Math.min(Math.max(0, leftMs), REST_MS_MAX));
    await live.rest(this.#partitions);
  }

  /** The first read compares what was not compared yet, and the second is served from it. */
  async #readAll(): Promise<void> {
    await this.#readWhole("NEWEST_FIRST");
    await this.#readWhole("OLDEST_FIRST");
    for (const { reads: seen, told } of this.#servers) {
      for (const { route } of seen) this.#count(`from ${route}`);
      for (const what of told) this.#count(what);
    }
    for (const partition of this.#partitions) {
      const record = await this.#pass(this.#live.record(partition));
      this.#count(`ended ${record?.state ?? "without a record"}`);
      for (const { strategy, layout } of record?.segments ?? []) {
        this.#count(`segments ${strategy} ${layout}`);
      }
    }
  }

  /** From both servers, when they know of all changes. */
  async #readWhole(order: ReadQuery["order"]): Promise<void> {
    await this.#live.advance(VIEWS_RENEWED_MS);
    for (const server of this.#servers) {
      const read = new OpenRead({ ...WHOLE, order }, this.#model, server);
      while (!read.ended) await this.#pass(read.next(server));
      await this.#judge(read);
    }
    await this.#live.engine.quiet();
  }

  #count(what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
  }
}

/** Time that passes at once while no worker has anything to do. */
const IDLE_MS = 5_000;
const WORK_STEPS_MAX = 20_000;
const NEVER = new AbortController().signal;
const OPERATOR_REQUEST = { by: "operator", reason: "" };
/** Longer than any server caches routes. */
const REST_MS_MAX = 500_000;
const VIEWS_RENEWED_MS = 5_000;
const END = START + USED_SECONDS * SECOND + 1;
const WHOLE: Query = {
  range: [0, USED_SECONDS * SECOND + 1],
  order: "NEWEST_FIRST",
  pageSize: 1_000,
  totalLimit: 0,
  filter: undefined,
  streamed: false,
};

/** What happens to a split, for the tally. */
function stageOf({ state, segments }: SplitRecord): string {
  const newest = segments.at(-1);
  if (state === "INVALIDATED") return state;
  const further = segments.length > 1 ? "further " : "";
  if (newest === undefined) return state;
  if (newest.state !== "COMPLETED") return `${further}${newest.state}`;
  return newest.confirmedAt === null ? "COMPLETED, not confirmed" : "COMPLETED";
}

/** A read that may take any time, page after page or as a stream. */
class OpenRead {
  readonly #asked: Query;
  readonly #query: ReadQuery;
  readonly #expected: readonly unknown[];
  readonly #events: unknown[] = [];
  /** A stream stays with its server; pages may come from any. */
  readonly #stream: AsyncGenerator<ReadPage, void, undefined> | undefined;
  #pageToken = "";
  #pages = 0;
  ended = false;

  constructor(asked: Query, model: ReadonlyMap<string, ModelEvent>, server: LiveServer) {
    this.#asked = asked;
    const [from, length] = asked.range;
    this.#query = {
      namespace: NAME,
      seriesId: SERIES,
      start: START + from,
      end: START + from + length,
      filters:
        asked.filter === undefined ? [] : [{ key: utf8("device"), value: utf8(asked.filter) }],
      order: asked.order,
      pageSize: asked.pageSize,
      totalLimit: asked.totalLimit,
      pageToken: "",
      allowPartial: false,
    };
    this.#expected = reads.answerOf(model, this.#query, asked.filter);
    this.#stream = asked.streamed ? server.reader.stream(this.#query, NEVER) : undefined;
  }

  async next(server: LiveServer): Promise<void> {
    ok(this.#pages++ < 5_000, "reading ends");
    if (this.#stream !== undefined) {
      const page = await this.#stream.next();
      this.ended = page.done === true;
      if (page.done !== true) this.#events.push(...reads.eventsOf(page.value));
      return;
    }
    const query = { ...this.#query, pageToken: this.#pageToken };
    const page = await server.reader.readPage(query, NEVER);
    const { pageSize } = this.#query;
    ok(
      page.count <= (pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize),
      "a page is bounded in events",
    );
    this.#events.push(...reads.eventsOf(page));
    this.#pageToken = page.nextPageToken;
    this.ended = this.#pageToken === "";
  }

  async close(): Promise<void> {
    await this.#stream?.return();
  }

  /**
   * Everything that existed when it began, and some of what came meanwhile, in order and once each.
   */
  judge(model: ReadonlyMap<string, ModelEvent>): void {
    const expected = this.#expected;
    const { totalLimit, filter } = this.#asked;
    // Events are only added: where it would answer the same now, it would have answered the same
    // all the time.
    if (isDeepStrictEqual(reads.answerOf(model, this.#query, filter), expected)) {
      deepEqual(this.#events, expected);
      return;
    }
    const now = reads.answerOf(model, { ...this.#query, totalLimit: 0 }, filter);
    const found = this.#events.map((each) => JSON.stringify(each));
    const texts = now.map((each) => JSON.stringify(each));
    const kept = new Set(found);
    deepEqual(
      found,
      texts.filter((each) => kept.has(each)),
      "in order, once each, and written",
    );
    if (totalLimit > 0) {
      ok(found.length <= totalLimit, "no more than the limit");
      return;
    }
    const missing = expected.filter((each) => !kept.has(JSON.stringify(each)));
    deepEqual(missing, [], "everything that existed when it began is there");
  }
}
