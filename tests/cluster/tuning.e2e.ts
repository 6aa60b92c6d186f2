/**
 * On Cassandra and Kafka, namespaces with too narrow and too wide partitions heal themselves: a
 * worker walks sealed slices and tunes later ones, and a server writes and reads.
 * @needs cassandra
 * @needs kafka
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import {
  costText,
  heal,
  SLICE,
  takenBack,
  TOO_NARROW,
  TOO_WIDE,
  TUNED_SOON,
} from "../e2e/tuning-support.ts";
import { testCassandra, testKafka } from "../support/services.ts";
import { Fleet } from "./several-servers-fleet.ts";

/** Each slice is a table, and making one takes long on a busy machine. */
const WITHIN_MS = 600_000;

let fleet: Fleet;
let client: BraidClient;

before(async () => {
  fleet = await Fleet.open({
    cassandra: testCassandra().contactPoints,
    kafka: testKafka(),
    viewMaxAgeMs: 1_000,
    env: { ...TUNED_SOON, BRAID_VIEW_MAX_AGE: "1s", BRAID_WRITE_MAX: "2s" },
  });
  const [server] = await Promise.all([fleet.serve("a"), fleet.work("w")]);
  client = connect(server.url);
});

after(() => fleet[Symbol.asyncDispose]());

test("on Cassandra in AUTO, a namespace with too narrow time buckets gets wider ones", async (t) => {
  const healed = await heal(client, "narrow", TOO_NARROW, WITHIN_MS);
  const { tuning, before: old, after: now } = healed;
  t.diagnostic(costText(healed));
  equal(tuning.proposed, `time_bucket interval: 1s -> ${SLICE}s`);
  deepEqual([old.partitions, now.partitions], [SLICE, 1]);
});

test("on Cassandra in AUTO, a namespace with too wide partitions gets event buckets", async (t) => {
  const healed = await heal(client, "wide", TOO_WIDE, WITHIN_MS);
  const { tuning, before: old, after: now } = healed;
  t.diagnostic(costText(healed));
  match(tuning.proposed, /^event_buckets: 1 -> \d+$/);
  ok(now.bytesMax < old.bytesMax);
  equal(now.partitions, tuning.to.eventBuckets);
});

test("on Cassandra in AUTO, a change that made partitions worse is taken back", async () => {
  const { why } = await takenBack(client, "worse", WITHIN_MS);
  match(why, /; the former partitioning would have given \S+$/);
});
