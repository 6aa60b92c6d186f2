/**
 * Splits while time moves: a bucket that is still written to, sealed time that re-opens, and an id
 * that gets more event buckets. The tests mostly wait, so they run at once, each in its own
 * namespace.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";
import { Ledger } from "./splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  eventually,
  isServable,
  readsAreRight,
  refusalOf,
  routesOf,
  seal,
  shortBuckets,
  SOON,
  splitOf,
  untilRoute,
  untilServable,
  WIDE_BYTES,
} from "./splits-support.ts";

const SECOND = 1_000_000;

let server: StartedServer;
let client: BraidClient;

before(async () => {
  server = await startServer({ env: SOON });
  client = connect(server.url);
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

suite("splits and time", { concurrency: true }, () => {
  test("re-opened time accepts late events, is read from the original, and is split again when sealed", async () => {
    const name = "reopened";
    const width = 20;
    await client.createNamespace(name, shortBuckets(width));
    const ledger = new Ledger();
    const from = bucketBefore(width, 2);
    const bucket = { from, to: from + width * SECOND };
    const wide = { count: 900, bytes: 250 };
    await ledger.write(client, name, eventsOver(ledger, "wide", from, bucket.to, wide));
    await seal(client, name, bucket.to);
    equal(await writeOne(ledger, name, from + 1), "EVENT_TOO_OLD");
    await client.splits.setReadMode(name, "SERVE", { force: true, reason: "a test" });
    await readsAreRight([client], name, ledger, "wide", bucket);
    const first = await untilServable(client, name, "wide");
    await readsAreRight([client], name, ledger, "wide", bucket);
    await untilRoute(client, name, "wide", bucket, "SPLIT");

    const age = Math.ceil((Date.now() * 1_000 - from) / SECOND);
    await client.updateNamespace(name, { acceptLimit: `${age + 20}s` });
    equal(await writeOne(ledger, name, from + 1), "written");
    equal(await writeOne(ledger, name, bucket.to - 1), "written");
    await readsAreRight([client], name, ledger, "wide", bucket);
    for (const { route } of await routesOf(client, name, "wide", from, bucket.to)) {
      equal(route, "ORIGINAL_FALLBACK");
    }

    await seal(client, name, bucket.to);
    const second = await eventually(
      "it is split again",
      () => splitOf(client, name, "wide"),
      (split) => isServable(split) && Number(split?.epoch) > Number(first.epoch),
    );
    equal(second?.segments[0]?.postSplitData.events, String(wide.count + 2));
    await readsAreRight([client], name, ledger, "wide", bucket);
    await untilRoute(client, name, "wide", bucket, "SPLIT");
    await readsAreRight([client], name, ledger, "wide", bucket);
    await verifies(name);
  });

  test("in a bucket that is still written to, sealed time is served from the split and the rest from the original", async () => {
    const name = "open";
    await client.createNamespace(name, { ...shortBuckets(86_400), acceptLimit: "1s" });
    await client.splits.setReadMode(name, "SERVE", { force: true, reason: "a test" });
    const ledger = new Ledger();
    const from = Date.now() * 1_000;
    await using _writing = keepWriting(ledger, name, 12_000);
    const now = (): { from: number; to: number } => ({ from, to: (Date.now() + 1_000) * 1_000 });
    let split = await splitOf(client, name, "wide");
    while (!isServable(split)) {
      await readsAreRight([client], name, ledger, "wide", now());
      split = await splitOf(client, name, "wide");
    }
    await readsAreRight([client], name, ledger, "wide", now());
    const [route] = await untilRoute(client, name, "wide", now(), "SPLIT_AND_ORIGINAL");
    ok((route?.parts ?? 0) > 0);
    await readsAreRight([client], name, ledger, "wide", now());
    // The split stays and grows. The test requests the next segment: without a request, the worker
    // waits until the partition has grown enough.
    const grown = await eventually(
      "a further segment",
      async () => {
        await readsAreRight([client], name, ledger, "wide", now());
        const seen = await splitOf(client, name, "wide");
        const atRest = seen?.owner === "" && seen.segments.length === 1;
        return atRest ? client.splits.request(name, seen.preSplitData) : seen;
      },
      (seen) => isServable(seen) && (seen?.segments.length ?? 0) >= 2,
    );
    const [one, two] = grown?.segments ?? [];
    equal(one?.to, two?.from);
    await readsAreRight([client], name, ledger, "wide", now());
    await verifies(name);
  });

  test("an id that was wide gets more event buckets in a later time bucket, and nothing is lost on the way", async () => {
    const name = "growing";
    const width = 20;
    await client.createNamespace(name, { ...shortBuckets(width), acceptLimit: "1s" });
    await client.splits.setReadMode(name, "SERVE", { force: true, reason: "a test" });
    const ledger = new Ledger();
    const from = Date.now() * 1_000;
    {
      // Three times the target size in each bucket.
      await using _writing = keepWriting(ledger, name, (3 * WIDE_BYTES) / width);
      await eventually(
        "more event buckets",
        async () => {
          const to = (Date.now() + 1_000) * 1_000;
          await ledger.read([client], name, {
            from,
            to,
            series: "wide",
            order: "NEWEST_FIRST",
            over: 500,
          });
          deepEqual(ledger.wrong, []);
          const buckets = await routesOf(client, name, "wide", from, to);
          return Math.max(...buckets.map(({ eventBucket }) => eventBucket));
        },
        (most) => most >= 1,
      );
      // On both sides of the change, during writes.
      const to = (Date.now() + 1_000) * 1_000;
      await readsAreRight([client], name, ledger, "wide", { from, to });
    }
    const to = (Date.now() + 1_000) * 1_000;
    await readsAreRight([client], name, ledger, "wide", { from, to });
    const buckets = await routesOf(client, name, "wide", from, to);
    const first = buckets.filter(({ eventBucket }) => eventBucket > 0)[0];
    ok(first !== undefined && first.timeSlice > (buckets.at(-1)?.timeSlice ?? ""));
    await verifies(name);
  });
});

/** Writes current events at a rate in bytes per second until it is disposed. */
function keepWriting(ledger: Ledger, name: string, bytesPerSecond: number): AsyncDisposable {
  const [everyMs, bytes] = [100, 200];
  let going = true;
  const write = async (): Promise<void> => {
    let beganMs = performance.now();
    while (going) {
      const nowMs = performance.now();
      const count = Math.floor(((nowMs - beganMs) / 1_000) * (bytesPerSecond / bytes));
      if (count > 0) {
        beganMs = nowMs;
        const at = Date.now() * 1_000;
        const events = Array.from({ length: count }, (_, i) =>
          ledger.event("wide", at + Math.floor(i / 2), bytes),
        );
        await ledger.offer(client, name, events);
      }
      await pause(everyMs);
    }
  };
  const writing = write();
  return {
    async [Symbol.asyncDispose]() {
      going = false;
      await writing;
    },
  };
}

/** "written", or the code of the refusal. */
async function writeOne(ledger: Ledger, name: string, micros: number): Promise<string> {
  const events = [ledger.event("wide", micros, 100)];
  let code = "";
  const refusal = await refusalOf(
    client
      .writeSync(name, events, { failures: "return" })
      .then(({ failures }) => (code = failures[0]?.code ?? "")),
  );
  if (refusal !== "" || code !== "") return refusal + code;
  ledger.acknowledge(events);
  return "written";
}

async function verifies(name: string): Promise<void> {
  const { code, out, err } = await braid(["verify", name, "--json"], server.url);
  equal(code, 0, err + out);
  ok(Number(JSON.parse(out).eventsCompared) > 0);
}
