/** Writes and reads as callers make them, each noted in the history. */
import { utf8 } from "../../src/lib/bytes.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { Outcome, ReadAsked, SimEvent } from "./history.ts";
import { SECOND } from "./kinds.ts";
import { isExpected, VIEW_MAX_AGE_MS } from "./processes.ts";
import type { SimServer } from "./processes.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { START } from "./world.ts";
import type { SimNamespace, SimWorld } from "./world.ts";

const SERIES = ["hot", "warm", "cold"];
const MANY_SERIES = Array.from({ length: 8 }, (_, nth) => `id-${nth}`);
/** Operators block it now and then. */
export const BLOCKED_SERIES = "shunned";

/** Values that many events share, for reads with filters. */
const TAGS = ["red", "green", "blue"].map((tag) => Buffer.alloc(120, tag));
const ITEM_KEY = utf8("p");
/** Codes of a failure that promise that nothing was stored. */
const CERTAIN = ["STORAGE_UNAVAILABLE", "OVERLOADED", "NAMESPACE_NOT_FOUND", "ID_BLOCKED"];

export interface JudgedRead extends Omit<ReadAsked, "namespace" | "mayMiss"> {
  readonly allowPartial?: boolean;
}

export class Callers {
  readonly #world: SimWorld;
  readonly #random: SeededRandom;
  /** Event ids are unique, except for deliberate repeats. */
  #written = 0;
  /** After the faults: replicas are repaired, and nothing may be missing. */
  repaired = false;

  constructor(world: SimWorld, random: SeededRandom) {
    this.#world = world;
    this.#random = random;
  }

  async write(random: SeededRandom): Promise<void> {
    const world = this.#world;
    const namespace = world.someNamespace(random);
    const server = random.one(world.servers);
    const now = world.nowMicros();
    const oneMoment = random.chance(0.2);
    // Time buckets and slices begin at such a moment, and end just before it.
    const edge = random.one([0, 0, 1]);
    const count = 1 + random.below(this.#world.settings.kind === "plain" ? 8 : 12);
    const late = random.below(18) * SECOND;
    const series = this.#someSeries(random, namespace);
    const events = Array.from({ length: count }, () => {
      const time = oneMoment
        ? Math.floor((now - late) / (10 * SECOND)) * 10 * SECOND - edge
        : now - late + random.below(4 * SECOND);
      return this.#event(random, series, time);
    });
    if (namespace === undefined) return;
    await this.store(namespace, server, events);
    // A repeat is the same event.
    const again = random.chance(0.1);
    if (again && !namespace.changing)
      await this.store(namespace, random.one(world.servers), events);
  }

  #someSeries(random: SeededRandom, namespace: SimNamespace | undefined): string {
    if (namespace?.name === "many") return random.one(MANY_SERIES);
    if (this.#world.settings.kind === "full" && random.chance(0.05)) return BLOCKED_SERIES;
    return random.chance(0.75) ? "hot" : random.one(SERIES);
  }

  #event(random: SeededRandom, series: string, time: number): SimEvent {
    const id = `${idPrefix(random, this.#world.settings.kind)}${(this.#written += 1).toString(36)}`;
    const length = random.chance(0.01) ? 70_000 : 100 + random.below(1_200);
    const tagged = this.#world.settings.richReads && random.chance(0.3);
    const value = tagged ? random.one(TAGS) : Buffer.alloc(length, `${series}/${time}/${id};`);
    return { series, time, id, value };
  }

  /** Some events of one moment, for actors that need them at a time of their own. */
  eventsAt(time: number, series = "hot"): SimEvent[] {
    return Array.from({ length: 3 }, (_, nth) => {
      const id = `e${(this.#written += 1).toString(36)}`;
      return { series, time: time + nth, id, value: Buffer.alloc(800, `${series}/${time}/${id};`) };
    });
  }

  async store(
    namespace: SimNamespace,
    server: SimServer,
    events: readonly SimEvent[],
  ): Promise<readonly string[]> {
    const world = this.#world;
    const { promises } = world.shared;
    const { id, generation } = namespace;
    const encoded = events.map(({ series, time, id: eventId, value }) =>
      encodeEvent(utf8(series), time, utf8(eventId), [{ key: ITEM_KEY, value }]),
    );
    const series = events[0]?.series ?? "";
    const binding = promises.bindingNow(server, namespace.name, series);
    const write = world.history.writeBegins(server.name, id, events);
    let outcomes: Outcome[] = events.map(() => "unknown");
    let codes: string[] = [];
    try {
      const batch = { namespace: namespace.name, events: encoded, bytes: 1_000 };
      const result = await world.call((signal) => server.writer.write(batch, signal));
      const failed = new Map(result.failures.map(({ index, code }) => [index, code]));
      codes = events.map((_, index) => failed.get(index) ?? "OK");
      outcomes = codes.map(outcomeOf);
    } catch (error) {
      if (error instanceof ServiceError) {
        codes = events.map(() => error.code);
        if (CERTAIN.includes(error.code)) outcomes = events.map(() => "refused");
      }
      throw error;
    } finally {
      if (generation !== namespace.generation) this.#astray(server, namespace, events, outcomes);
      // A server that was paused may have answered for the namespace that had the name before.
      const sure = generation === namespace.generation || outcomes.every((o) => o === "refused");
      world.history.writeEnds(write, sure ? outcomes : events.map(() => "unknown"));
    }
    const still = promises.bindingNow(server, namespace.name, series);
    if (codes.includes("OK") && generation === namespace.generation) {
      if (binding.blocked && still.blocked) {
        world.fail(`${server.name} takes events of ${series}, which was blocked`);
      }
      if (binding.deleted && still.deleted) {
        world.fail(`${server.name} takes events of ${namespace.name}, which was deleted`);
      }
    }
    return codes;
  }

  /** The name was given to another namespace meanwhile, which may have got the events. */
  #astray(
    server: SimServer,
    namespace: SimNamespace,
    events: readonly SimEvent[],
    outcomes: readonly Outcome[],
  ): void {
    if (namespace.id === "" || outcomes.every((outcome) => outcome === "refused")) return;
    const write = this.#world.history.writeBegins(server.name, namespace.id, events);
    this.#world.history.writeEnds(
      write,
      events.map(() => "unknown"),
    );
  }

  async read(random: SeededRandom): Promise<void> {
    const world = this.#world;
    const namespace = world.someNamespace(random);
    const rich = world.settings.richReads;
    const series =
      namespace?.name === "many"
        ? random.one(MANY_SERIES)
        : rich && random.chance(0.04)
          ? BLOCKED_SERIES
          : random.chance(0.8)
            ? "hot"
            : random.one(SERIES);
    const { seconds } = world;
    const whole = random.chance(0.3);
    const from = whole ? 0 : random.below(seconds);
    const filter = rich && random.chance(0.15) ? random.one(TAGS) : undefined;
    const limit = rich && random.chance(0.15) ? 1 + random.below(60) : 0;
    const asked = {
      series,
      start: START - 60 * SECOND + from * SECOND,
      end: START + (whole ? seconds + 60 : from + 1 + random.below(120)) * SECOND,
      newestFirst: random.chance(0.6),
      filter,
      limit,
      allowPartial: rich && random.chance(0.2),
    };
    if (namespace !== undefined) await this.judge(random, namespace, world.ready(random), asked);
  }

  /** A page may come from another server than the previous one. */
  async judge(
    random: SeededRandom,
    namespace: SimNamespace,
    server: SimServer,
    asked: JudgedRead,
  ): Promise<void> {
    const world = this.#world;
    const { promises } = world.shared;
    const { generation } = namespace;
    const binding = promises.bindingNow(server, namespace.name, asked.series);
    const read = world.history.readBegins(server.name, {
      ...asked,
      namespace: namespace.id,
      mayMiss: namespace.settings.config.consistency === "EVENTUAL" && !this.repaired,
    });
    let answer: Uint8Array[] | undefined;
    const routes: string[] = [];
    try {
      const answered = await this.#pages(random, namespace, server, asked, routes);
      // What a name stands for may have changed on the way.
      if (generation === namespace.generation) answer = answered;
    } finally {
      world.history.readEnds(read, { answer, routes, keptFrom: this.#keptFrom(namespace) });
    }
    const still = promises.bindingNow(server, namespace.name, asked.series);
    if (answer === undefined) return;
    if (binding.blocked && still.blocked) {
      world.fail(`${server.name} gives events of ${asked.series}, which was blocked`);
    }
    if (binding.deleted && still.deleted) {
      world.fail(`${server.name} reads ${namespace.name}, which was deleted`);
    }
  }

  async #pages(
    random: SeededRandom,
    namespace: SimNamespace,
    server: SimServer,
    asked: JudgedRead,
    routes: string[],
  ): Promise<Uint8Array[]> {
    const world = this.#world;
    const { promises } = world.shared;
    const streamed = random.chance(0.3);
    const long = asked.end - asked.start > 100 * SECOND;
    const query: ReadQuery = {
      namespace: namespace.name,
      seriesId: asked.series,
      start: asked.start,
      end: asked.end,
      filters: asked.filter === undefined ? [] : [{ key: ITEM_KEY, value: asked.filter }],
      order: asked.newestFirst ? "NEWEST_FIRST" : "OLDEST_FIRST",
      pageSize: random.one([long ? 60 : 7, 200, 1_000]),
      totalLimit: asked.limit,
      pageToken: "",
      allowPartial: asked.allowPartial === true && !streamed,
    };
    const chunks: Uint8Array[] = [];
    if (streamed) {
      world.count("read as a stream");
      await world.call((signal) =>
        promises.begin(server, routes, async () => {
          for await (const page of server.reader.stream(query, signal)) chunks.push(...page.chunks);
        }),
      );
      return chunks;
    }
    let pageToken = "";
    let pages = 0;
    do {
      const from = random.chance(0.3) ? world.ready(random) : server;
      const page = await world.call((signal) =>
        promises.begin(from, routes, () => from.reader.readPage({ ...query, pageToken }, signal)),
      );
      if (page.context.partial) world.count("page was partial");
      chunks.push(...page.chunks);
      ({ nextPageToken: pageToken } = page);
      pages++;
    } while (pageToken !== "");
    if (pages > 1) world.count("read of several pages");
    return chunks;
  }

  /** What is older may be closed, and is not read then; the clock by which it is may be ahead. */
  #keptFrom({ settings }: SimNamespace): number {
    const { closeAfterMicros = Infinity } = settings.config.retention ?? {};
    return this.#world.nowMicros() - closeAfterMicros + 2 * SECOND;
  }

  /** A call that a deleted namespace must refuse, once the bound has passed at the server. */
  async probeDeleted(namespace: SimNamespace, server: SimServer): Promise<void> {
    const asked = {
      series: "hot",
      start: START,
      end: START + SECOND,
      newestFirst: false,
      limit: 0,
    };
    try {
      await this.judge(this.#random, namespace, server, asked);
    } catch (error) {
      if (!isExpected(error)) throw error;
    }
  }

  /** A raised limit takes what is within it, a little more than the bound after it was raised. */
  async probeRaise(
    namespace: SimNamespace,
    server: SimServer,
    acceptLimitMicros: number,
  ): Promise<void> {
    const world = this.#world;
    const { promises } = world.shared;
    const asRaised = (): boolean =>
      promises.bindingNow(server, namespace.name, "hot").raised &&
      server.machine.ranForMs > VIEW_MAX_AGE_MS &&
      Math.abs(server.machine.nowMicros() - world.nowMicros()) < SECOND;
    if (!asRaised()) return;
    const time = world.nowMicros() - acceptLimitMicros + 10 * SECOND;
    const { generation } = namespace;
    const codes = await this.store(namespace, server, this.eventsAt(time));
    world.count("raised limit probed");
    if (!asRaised() || generation !== namespace.generation) return;
    // A call that slept may have been judged when the events had become too old.
    if (world.nowMicros() - time > acceptLimitMicros) return;
    if (codes.includes("EVENT_TOO_OLD")) {
      world.fail(`${server.name} refuses what the raised limit of ${namespace.name} allows`);
    }
  }
}

function outcomeOf(code: string): Outcome {
  if (code === "OK") return "acknowledged";
  return code === "OUTCOME_UNKNOWN" ? "unknown" : "refused";
}

/** In UTF-8, the first of these comes before the second; as JavaScript's strings, behind it. */
function idPrefix(random: SeededRandom, kind: "plain" | "full"): string {
  return kind === "plain" ? "e" : random.one(["e", "e", "\u{ff5e}", "\u{1f600}"]);
}
