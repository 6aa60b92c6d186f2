import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import type { StaticViewOptions } from "../../tests/support/static-view.ts";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Namespace, NamespaceView } from "../model/namespace.ts";
import { encodeEvent } from "../wire/event-record.ts";
import type { EventBytes } from "../wire/event-record.ts";
import type { EventProblem } from "../wire/validate-event.ts";
import { EventWriter } from "./write-events.ts";
import type { WriteResult } from "./write-events.ts";

const SECOND = 1_000_000;
const NOW = 1_790_000_100 * SECOND;
const never = new AbortController().signal;

test("W2: a store that fails before applying gives an error, and nothing is acknowledged", async () => {
  await using fixture = await Fixture.open();
  fixture.store.before = failWith("STORAGE_UNAVAILABLE", "append");
  await rejects(fixture.write([event("a", 0)]), code("STORAGE_UNAVAILABLE"));
  equal(await fixture.count(), 0);
});

test("W1: a store that applies but cannot answer gives OUTCOME_UNKNOWN, and the repeat is one event", async () => {
  await using fixture = await Fixture.open();
  const append = fixture.store.append.bind(fixture.store);
  fixture.store.append = async (slice, events) => {
    await append(slice, events);
    throw new ServiceError("OUTCOME_UNKNOWN", "no answer");
  };
  await rejects(fixture.write([event("a", 0)]), code("OUTCOME_UNKNOWN"));
  fixture.store.append = append;
  equal((await fixture.write([event("a", 0)])).taken, 1);
  equal(await fixture.count(), 1);
});

test("W3: the same event twice is one event, acknowledged twice", async () => {
  await using fixture = await Fixture.open();
  equal((await fixture.write([event("a", 0), event("a", 0)])).taken, 2);
  equal((await fixture.write([event("a", 0)])).taken, 1);
  equal(await fixture.count(), 1);
});

test("W5: what is wrong with one event fails that event alone, by its index", async () => {
  await using fixture = await Fixture.open();
  const bad: EventProblem = { problem: "EVENT_INVALID", message: "eventId is missing" };
  const result = await fixture.write([event("a", 0), bad, event("b", -3600), event("c", 1)]);
  equal(result.taken, 2);
  deepEqual(
    result.failures.map(({ index, code: failure }) => [index, failure]),
    [
      [1, "EVENT_INVALID"],
      [2, "EVENT_TOO_OLD"],
    ],
  );
  equal(await fixture.count(), 2);
});

test("W5: when one of two slices fails, its events fail with their own reason and the others are written", async () => {
  for (const [thrown, told] of [
    ["STORAGE_UNAVAILABLE", "OVERLOADED"],
    ["OVERLOADED", "OVERLOADED"],
    ["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"],
    ["DATA_LOSS", "OUTCOME_UNKNOWN"],
  ] as const) {
    await using fixture = await Fixture.open();
    fixture.store.before = (call, { slice }) => {
      if (call === "append" && slice === "data_1") throw new ServiceError(thrown, "down");
    };
    const result = await fixture.write([event("a", 0), event("b", 25)]);
    equal(result.taken, 1);
    deepEqual(
      result.failures.map(({ index, code: failure }) => [index, failure]),
      [[1, told]],
    );
  }
});

test("when every slice fails, the least certain reason is the answer", async () => {
  await using fixture = await Fixture.open();
  fixture.store.before = (_call, { slice }) => {
    const code = slice === "data_0" ? "STORAGE_UNAVAILABLE" : "OUTCOME_UNKNOWN";
    throw new ServiceError(code, "down");
  };
  await rejects(fixture.write([event("a", 0), event("b", 25)]), code("OUTCOME_UNKNOWN"));
});

test("a caller whose deadline passes before anything is stored gets that answer, and nothing is stored", async () => {
  await using fixture = await Fixture.open();
  const leaving = new AbortController();
  fixture.beforeView = () => leaving.abort(new ServiceError("DEADLINE_EXCEEDED", "over"));
  await rejects(fixture.write([event("a", 0)], 100, leaving.signal), code("DEADLINE_EXCEEDED"));
  equal(await fixture.count(), 0);
  await until(() => fixture.budget.used === 0);
});

test("W6, W8, E8: an event older than the accept limit is refused with both times and the limit", async () => {
  await using fixture = await Fixture.open();
  const result = await fixture.write([event("a", -601), event("b", -600)]);
  equal(result.taken, 0, "before the first slice there is no table to write to");
  equal(result.failures[0]?.code, "EVENT_TOO_OLD");
  ok(result.failures[0]?.message.includes("2026-09-21T14:04:59Z"), "the event's own time");
  ok(result.failures[0]?.message.includes("2026-09-21T14:15:00Z"), "the server's time");
  ok(result.failures[0]?.message.includes("600s"), "the limit");
});

test("W7: an event far in the future is refused", async () => {
  await using fixture = await Fixture.open();
  const { failures } = await fixture.write([event("a", 61), event("b", 100_000_000)]);
  deepEqual(
    failures.map((failure) => failure.code),
    ["EVENT_TOO_NEW", "EVENT_TOO_NEW"],
  );
});

test("W9: a wall clock that steps back does not reopen what the stored floor has sealed", async () => {
  await using fixture = await Fixture.open({ floor: NOW - 5 * SECOND });
  fixture.clock.stepWall(-60 * SECOND);
  const { taken, failures } = await fixture.write([event("a", -6), event("b", -5)]);
  equal(taken, 1);
  deepEqual(
    failures.map((failure) => failure.code),
    ["EVENT_TOO_OLD"],
  );
});

test("W14: events of a blocked id are refused, others of the batch are written", async () => {
  const block = { blockedAt: 0, source: "API" as const };
  await using fixture = await Fixture.open({
    blocked: [
      { ...block, seriesId: "spam", reason: "a bot", expiresAt: undefined },
      { ...block, seriesId: "was", reason: "", expiresAt: NOW },
    ],
  });
  const batch = [event("a", 0, "spam"), event("b", 0, "s"), event("c", 0, "was")];
  const { taken, failures } = await fixture.write(batch);
  equal(taken, 2, "an expired block blocks nothing");
  deepEqual(
    failures.map((failure) => [failure.index, failure.code]),
    [[0, "ID_BLOCKED"]],
  );
  ok(failures[0]?.message.includes("a bot"));
});

test("W19, O4: above its byte limit the server refuses before any work, with a hint, and accepts again when there is room", async () => {
  await using fixture = await Fixture.open({}, 1_000);
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  fixture.store.before = () => held;
  const first = fixture.write([event("a", 0)], 800);
  await rejects(fixture.write([event("b", 0)], 800), (error: unknown) => {
    ok(error instanceof ServiceError && error.code === "OVERLOADED");
    ok((error.retryAfterMs ?? 0) > 0);
    return true;
  });
  goOn();
  equal((await first).taken, 1);
  equal((await fixture.write([event("b", 0)], 800)).taken, 1);
});

test("a caller whose deadline passes while the store works gets OUTCOME_UNKNOWN", async () => {
  await using fixture = await Fixture.open({}, 1_000);
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  let reached: () => void = () => undefined;
  const inStore = new Promise<void>((resolve) => (reached = resolve));
  fixture.store.before = () => {
    reached();
    return held;
  };
  const leaving = new AbortController();
  const write = fixture.write([event("a", 0)], 800, leaving.signal);
  await inStore;
  leaving.abort();
  await rejects(write, code("OUTCOME_UNKNOWN"));
  await rejects(
    fixture.write([event("b", 0)], 800),
    code("OVERLOADED"),
    "its memory is still held",
  );
  goOn();
  await until(() => fixture.budget.used === 0);
});

test("C2: an event that fell below the floor while it was stored is not acknowledged", async () => {
  await using fixture = await Fixture.open();
  fixture.store.before = () => fixture.change({ floor: NOW });
  const { taken, failures } = await fixture.write([event("a", -1), event("b", 1)]);
  equal(taken, 1);
  deepEqual(
    failures.map((failure) => [failure.index, failure.code]),
    [[0, "OUTCOME_UNKNOWN"]],
  );
});

test("C2: an event that the floor may have passed before time was re-opened is not acknowledged", async () => {
  for (const [before, inForce] of [
    [8, 8],
    // Lowered while the event was stored, and then raised.
    [30, 8],
    // Raised, and in force by now.
    [8, 30],
  ] as const) {
    await using fixture = await Fixture.open({ config: { acceptLimitMicros: before * SECOND } });
    fixture.store.before = async () => {
      await fixture.clock.advance(5_000);
      fixture.change({ epoch: 2, floor: NOW - 60 * SECOND });
      const { config } = fixture.view.namespace;
      fixture.change({ config: { ...config, acceptLimitMicros: inForce * SECOND } });
    };
    const { taken, failures } = await fixture.write([
      event("a", -4),
      event("b", -3),
      event("c", 1),
    ]);
    equal(taken, 2, "an event that no floor can have passed is acknowledged");
    deepEqual(
      failures.map((failure) => [failure.index, failure.code]),
      [[0, "OUTCOME_UNKNOWN"]],
    );
  }
});

test("C2: without a young view nothing is acknowledged, whatever the store answers", async () => {
  await using fixture = await Fixture.open();
  fixture.store.before = () => {
    fixture.viewError = new ServiceError("STORAGE_UNAVAILABLE", "the catalog is unavailable");
  };
  const { taken, failures } = await fixture.write([event("a", 0)]);
  equal(taken, 0);
  equal(failures[0]?.code, "OUTCOME_UNKNOWN");
});

test("C1: without a young view nothing is accepted", async () => {
  await using fixture = await Fixture.open();
  fixture.viewError = new ServiceError("STORAGE_UNAVAILABLE", "the catalog is unavailable");
  await rejects(fixture.write([event("a", 0)]), code("STORAGE_UNAVAILABLE"));
  equal(await fixture.count(), 0);
});

test("C1: a batch over many slices stores nothing whose check is too old", async () => {
  const narrow = { secondsPerTimeSlice: 10, secondsPerTimeBucket: 10, eventBuckets: 1 };
  const many = joinedSlices(NOW, [narrow, narrow, narrow, narrow, narrow, narrow]);
  await using fixture = await Fixture.open({ slices: many });
  const appended: string[] = [];
  fixture.store.before = async (_call, { slice }) => {
    appended.push(slice);
    if (slice === many[0]?.name) await fixture.clock.advance(2_001);
  };
  const { taken, failures } = await fixture.write(many.map((_, nth) => event(`e${nth}`, 10 * nth)));
  equal(taken, 4);
  deepEqual(
    failures.map((failure) => [failure.index, failure.code]),
    [
      [4, "OVERLOADED"],
      [5, "OVERLOADED"],
    ],
  );
  equal(appended.length, 4);
});

test("W13: a write acknowledges nothing when its namespace is deleted and created again meanwhile", async () => {
  await using fixture = await Fixture.open();
  fixture.store.before = () => {
    const { namespace } = fixture.view;
    fixture.view = { ...fixture.view, namespace: { ...namespace, id: "plays-2" } };
  };
  equal((await fixture.write([event("a", 0)])).failures[0]?.code, "OUTCOME_UNKNOWN");
});

class Fixture {
  readonly clock = new VirtualClock(NOW);
  readonly store = new MemoryStore();
  readonly budget: ByteBudget;
  view: NamespaceView;
  viewError: ServiceError | undefined;
  beforeView: () => void = () => undefined;
  readonly #writer: EventWriter;

  constructor(options: Partial<StaticViewOptions>, budgetBytes: number) {
    this.view = staticView({ slices: slices(), ...options });
    this.budget = new ByteBudget(budgetBytes);
    const source = viewSource(() => {
      this.beforeView();
      if (this.viewError !== undefined) throw this.viewError;
      return this.view;
    });
    // As in the real one: no young view is cached, and none can be loaded.
    const views = {
      get: source.get,
      current: (name: string) => (this.viewError === undefined ? source.current(name) : undefined),
    };
    const { clock, store, budget } = this;
    this.#writer = new EventWriter({ clock, store, views, budget });
  }

  static async open(options: Partial<StaticViewOptions> = {}, bytes = 1 << 20): Promise<Fixture> {
    const fixture = new Fixture(options, bytes);
    for (const slice of fixture.view.slices) {
      await fixture.store.createSlice({ namespaceId: "plays-1", slice: slice.name });
    }
    return fixture;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
  }

  write(
    events: (EventBytes | EventProblem)[],
    bytes = 100,
    signal: AbortSignal = never,
  ): Promise<WriteResult> {
    return this.#writer.write({ namespace: "plays", events, bytes }, signal);
  }

  change(change: Partial<Namespace>): void {
    this.view = { ...this.view, namespace: { ...this.view.namespace, ...change } };
  }

  /** Events of series "s" in the current slice. */
  async count(): Promise<number> {
    this.store.before = () => undefined;
    const partition = { namespaceId: "plays-1", slice: "data_0", seriesId: "s" };
    let count = 0;
    for (let timeBucket = 0; timeBucket < 4; timeBucket++) {
      const range = { from: 0, to: 2 * NOW, order: "OLDEST_FIRST" as const, after: undefined };
      const limits = { runEventsMax: 100, runBytesMax: 1 << 20 };
      const key = { ...partition, timeBucket, eventBucket: 0 };
      for await (const run of this.store.scan(key, { ...range, ...limits }, never)) {
        count += run.count;
      }
    }
    return count;
  }
}

/** Two slices of 40 s, the first from 20 s before now. */
function slices() {
  const strategy = { secondsPerTimeSlice: 40, secondsPerTimeBucket: 10, eventBuckets: 1 };
  return joinedSlices(NOW - 20 * SECOND, [strategy, strategy]);
}

function event(id: string, seconds: number, series = "s"): EventBytes {
  return encodeEvent(utf8(series), NOW + seconds * SECOND, utf8(id), []);
}

function failWith(errorCode: "STORAGE_UNAVAILABLE", call: string) {
  return (called: string): void => {
    if (called === call) throw new ServiceError(errorCode, "down");
  };
}

function code(expected: string) {
  return (error: unknown): boolean => error instanceof ServiceError && error.code === expected;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
