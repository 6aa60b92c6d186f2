/**
 * Kills the server without warning while it splits, again and again: every split ends and is
 * correct. Kills only in long stages, where a test can time it;
 * `src/splits/work/worker-crash.test.ts` covers every single call.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { Split, SplitState } from "../../client/connect.ts";
import { braid, startServer } from "../support/started-server.ts";
import { Ledger } from "./splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  eventually,
  isServable,
  readsAreRight,
  seal,
  shortBuckets,
  SOON,
  splitOf,
  untilRoute,
  untilServable,
} from "./splits-support.ts";

const BUCKET_SECONDS = 60;
/** About 200 parts, so that a kill interrupts the work. */
const WIDE = { count: 12_000, bytes: 1_000 };
/**
 * The stage of the split at each kill, always later than at the kill before. COMPLETED means not
 * yet confirmed, so that no server may serve from it.
 */
const KILLS = ["SPLITTING", "SPLITTING", "SPLITTING", "VALIDATING", "COMPLETED"] as const;
/** If a stage ended before the test saw it, the test retries with a new copy. */
const ATTEMPTS_MAX = 10;

test("CP13: killed while it copies, validates and has yet to confirm, a split is served in the end, and no event differs", async (t) => {
  await using server = await startServer({ env: { ...SOON, BRAID_SPLITS_CONCURRENCY: "1" } });
  const client = connect(server.url);
  const from = bucketBefore(BUCKET_SECONDS, 30);
  const bucket = { from, to: from + BUCKET_SECONDS * 1_000_000 };
  const name = "killed";
  await client.createNamespace(name, shortBuckets(BUCKET_SECONDS));
  const ledger = new Ledger();
  await ledger.write(client, name, eventsOver(ledger, "wide", from, bucket.to, WIDE));
  await seal(client, name, bucket.to);
  const query = { ...bucket, series: "wide", order: "NEWEST_FIRST", over: "stream" } as const;
  await ledger.read([client], name, query);

  const detected = await eventually(
    "detected",
    () => splitOf(client, name, "wide"),
    (seen) => seen !== undefined,
  );
  ok(detected !== undefined);
  const location = detected.preSplitData;
  const found: string[] = [];
  let parts = 0;
  for (let attempts = 0; found.length < KILLS.length; attempts++) {
    ok(attempts < ATTEMPTS_MAX, `killed only when it was ${found.join(", ")}`);
    const stage = KILLS[found.length];
    await eventually(
      `${stage} with more than ${parts} parts, or over`,
      () => client.splits.get(name, location),
      (split) => isIn(split, stage, parts) || isServable(split),
    );
    await server.restart("SIGKILL");
    const left = await client.splits.get(name, location);
    if (isIn(left, stage, parts)) {
      parts = partsOf(left);
      found.push(`${left.state} with ${parts} parts`);
    } else if (isServable(left)) {
      parts = 0;
      await client.splits.rollback(name, location, { reason: "it was too fast" });
      await client.splits.retry(name, location, { reason: "once more" });
    }
  }
  t.diagnostic(`killed when it was ${found.join(", ")}`);
  const split = await untilServable(client, name, "wide");
  equal(split.segments[0]?.postSplitData.events, String(WIDE.count));
  equal(split.failures, 0);
  const owners = new Set(split.history.map(({ by }) => by));
  ok(owners.size > KILLS.length / 2, "new owners have taken over the work of killed ones");

  await client.splits.setReadMode(name, "SERVE", { force: true, reason: "a test" });
  await ledger.read([client], name, query);
  await untilRoute(client, name, "wide", bucket, "SPLIT");
  await readsAreRight([client], name, ledger, "wide", bucket);
  const verified = await braid(["verify", name, "--json"], server.url);
  equal(verified.code, 0, verified.err + verified.out);
  const { eventsCompared, differencesFound } = JSON.parse(verified.out);
  deepEqual([eventsCompared, differencesFound], [String(WIDE.count), "0"]);
});

/** Whether the split is further than `parts` parts; VALIDATING and COMPLETED have all of them. */
function isIn(split: Split, stage: SplitState | undefined, parts: number): boolean {
  if (split.state !== stage || isServable(split)) return false;
  return stage !== "SPLITTING" || partsOf(split) > parts;
}

function partsOf({ segments }: Split): number {
  return segments[0]?.postSplitData.parts.length ?? 0;
}
