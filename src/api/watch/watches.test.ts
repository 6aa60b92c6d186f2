import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { ServersUseCase, ShownServer } from "../methods/servers.ts";
import { cursorOf } from "./cursor.ts";
import type { TopicSources } from "./topics.ts";
import { Watches } from "./watches.ts";
import type { WatchMessage, WatchQuery } from "./watches.ts";

const QUERY: WatchQuery = {
  topics: ["SERVERS"],
  namespace: "",
  cursor: "",
  verifyId: "",
  series: [],
};
const never = new AbortController().signal;

function server(name: string, draining = false): ShownServer {
  return {
    name,
    role: "SERVER",
    version: "0.1.0",
    build: "source",
    nodeVersion: "v24",
    engine: "embedded",
    queue: "embedded",
    host: "here",
    startedAt: 1,
    announcedAt: 2,
    silent: false,
    draining,
    views: 1,
    oldestViewMs: 1,
    oldestFilterMs: null,
    clockInDoubt: false,
  };
}

class Fixture {
  readonly clock = new VirtualClock(1_700_000_000_000_000);
  servers = [server("a")];
  failure: Error | undefined;
  loads = 0;
  readonly watches: Watches;

  constructor() {
    const servers: ServersUseCase = {
      list: async () => {
        this.loads++;
        if (this.failure !== undefined) throw this.failure;
        return { servers: this.servers, answeredBy: "a", unreadable: 0, viewMaxAgeMs: 1, now: 1 };
      },
    };
    const unasked = (): never => {
      throw new Error("not asked");
    };
    this.watches = new Watches({
      clock: this.clock,
      process: "server-1",
      sources: { servers } as TopicSources,
      history: { read: unasked, onSample: unasked },
      viewMaxAgeMs: 10_000,
    });
  }

  open(query: Partial<WatchQuery> = {}, signal = never) {
    return this.watches.watch({ ...QUERY, ...query }, signal);
  }

  /** The next message, whatever time it takes. */
  async next(watch: AsyncGenerator<WatchMessage, void, undefined>): Promise<WatchMessage> {
    let got: IteratorResult<WatchMessage, void> | undefined;
    let failed: unknown;
    void watch.next().then(
      (result) => (got = result),
      (error: unknown) => (failed = error),
    );
    for (let tries = 0; got === undefined && failed === undefined; tries++) {
      ok(tries < 1_000, "a message comes");
      await this.clock.advance(tries === 0 ? 0 : 100);
    }
    if (failed !== undefined) throw failed;
    ok(got?.done === false, "the watch has not ended");
    return got.value;
  }
}

function names({ fields }: WatchMessage): (string | undefined)[] {
  return (fields.servers ?? []).map(({ name }) => name);
}

test("a watcher gets all there is, then changes, and a sign of life when there are none", async () => {
  const fixture = new Fixture();
  const watch = fixture.open();
  const first = await fixture.next(watch);
  deepEqual([names(first), first.fields.snapshot, first.topic], [["a"], true, "SERVERS"]);
  fixture.servers = [server("a"), server("b")];
  fixture.watches.changed(["SERVERS"]);
  const second = await fixture.next(watch);
  deepEqual([names(second), second.fields.snapshot], [["b"], false]);
  fixture.servers = [server("b", true)];
  const third = await fixture.next(watch);
  deepEqual([names(third), third.fields.removed], [["b"], ["a"]]);
  const quiet = await fixture.next(watch);
  deepEqual([quiet.topic, quiet.fields.ending], [undefined, undefined]);
  await watch.return();
});

test("a change of another process is found without a sign, and many changes become one", async () => {
  const fixture = new Fixture();
  const watch = fixture.open();
  await fixture.next(watch);
  const before = fixture.loads;
  fixture.servers = [server("a"), server("b")];
  for (let nth = 0; nth < 1_000; nth++) fixture.watches.changed(["SERVERS"]);
  deepEqual(names(await fixture.next(watch)), ["b"]);
  ok(fixture.loads - before <= 2, "loaded once for all signs");
  fixture.servers = [server("a")];
  const startedMs = fixture.clock.monotonicMs();
  deepEqual((await fixture.next(watch)).fields.removed, ["b"]);
  ok(fixture.clock.monotonicMs() - startedMs <= 10_000, "within the age of a view");
  await watch.return();
});

test("a watcher that resumes gets what it missed, and hears at once if that is nothing", async () => {
  const fixture = new Fixture();
  const watch = fixture.open();
  const { cursor = "" } = (await fixture.next(watch)).fields;
  await watch.return();
  const back = fixture.open({ cursor });
  const quiet = await fixture.next(back);
  deepEqual([quiet.topic, quiet.fields.cursor], [undefined, cursor]);
  await back.return();
  fixture.servers = [server("a"), server("b")];
  const later = fixture.open({ cursor });
  const missed = await fixture.next(later);
  deepEqual([names(missed), missed.fields.snapshot], [["b"], false]);
  await later.return();
});

test("after too long a break, or with a cursor of another process, everything comes again", async () => {
  const fixture = new Fixture();
  const watch = fixture.open();
  const { cursor = "" } = (await fixture.next(watch)).fields;
  await watch.return();
  await fixture.clock.advance(61_000);
  for (const given of [
    cursor,
    cursorOf("server-2", 0, new Map([["SERVERS", 1]])),
    "nonsense",
    Buffer.from('["server-1",0,{"SERVERS":-1e99}]').toString("base64url"),
    Buffer.from("[null]").toString("base64url"),
  ]) {
    const again = fixture.open({ cursor: given });
    equal((await fixture.next(again)).fields.snapshot, true, given);
    await again.return();
    await fixture.clock.advance(61_000);
  }
});

test("nothing runs without a watcher", async () => {
  const fixture = new Fixture();
  const watch = fixture.open();
  await fixture.next(watch);
  await watch.return();
  const before = fixture.loads;
  await fixture.clock.advance(600_000);
  equal(fixture.loads, before);
  equal(fixture.clock.sleepers, 0);
});

test("what cannot be read passes if it does, and ends the watch if it does not", async () => {
  const fixture = new Fixture();
  fixture.failure = new ServiceError("STORAGE_UNAVAILABLE", "the disk is away");
  await rejects(fixture.next(fixture.open()), /the disk is away/);
  fixture.failure = undefined;
  const watch = fixture.open();
  await fixture.next(watch);
  fixture.failure = new ServiceError("STORAGE_UNAVAILABLE", "the disk is away");
  equal((await fixture.next(watch)).fields.stale, "the disk is away");
  fixture.failure = new ServiceError("NAMESPACE_NOT_FOUND", "it is gone");
  await rejects(fixture.next(watch), /it is gone/);
});

test("ten thousand slow watchers share one state, and each gets only the last of it", async () => {
  const fixture = new Fixture();
  const all = Array.from({ length: 10_000 }, () => fixture.open());
  // Each takes its first message and no more.
  const firsts = all.map((watch) => watch.next());
  await fixture.clock.advance(0);
  await Promise.all(firsts);
  const before = fixture.loads;
  for (let nth = 0; nth < 10; nth++) {
    fixture.servers = [server("a", nth % 2 === 0), server(`b${nth}`)];
    fixture.watches.changed(["SERVERS"]);
    await fixture.clock.advance(1_000);
  }
  ok(fixture.loads - before <= 22, `${fixture.loads - before} loads`);
  const [slow] = all;
  ok(slow !== undefined);
  const last = await fixture.next(slow);
  deepEqual([names(last), last.fields.snapshot], [["a", "b9"], false]);
  await Promise.all(all.map((watch) => watch.return()));
  equal(fixture.watches.watchers, 0);
});

test("a server that stops ends its watches with a hint, and leaves nothing running", async () => {
  const fixture = new Fixture();
  const watch = fixture.open();
  await fixture.next(watch);
  fixture.watches.close();
  match((await fixture.next(watch)).fields.ending ?? "", /resume with the cursor/);
  equal((await watch.next()).done, true);
  equal(fixture.clock.sleepers, 0);
});

test("different things to watch are limited, and those that nobody watches give way", async () => {
  const fixture = new Fixture();
  const verify = { topics: ["VERIFY"], namespace: "plays" } as const;
  const opened = Array.from({ length: 64 }, (_, nth) =>
    fixture.open({ ...verify, verifyId: `v${nth}` }),
  );
  for (const watch of opened) void watch.next().catch(() => undefined);
  const more = fixture.open({ ...verify, verifyId: "more" });
  await rejects(more.next(), { code: "OVERLOADED" });
});
