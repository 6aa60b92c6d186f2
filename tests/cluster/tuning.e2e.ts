/**
 * On Cassandra and Kafka, a namespace with too narrow time buckets heals itself: a worker walks
 * sealed slices and tunes later ones, and a server writes and reads.
 * @needs cassandra
 * @needs kafka
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import {
  costOf,
  costText,
  keepWriting,
  readOnce,
  readsEverything,
  sealedSince,
  shortSlices,
  SLICE,
  TOO_NARROW,
  TUNED_SOON,
  untilTuning,
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
  const name = "narrow";
  const { traffic, partition, target } = TOO_NARROW;
  const ledger = new Ledger();
  await client.createNamespace(name, shortSlices(partition, { mode: "AUTO", ...target }));
  await using _writing = keepWriting(client, name, ledger, traffic);
  await readOnce(client, name);
  const tuning = await untilTuning(client, name, "EFFECTIVE", WITHIN_MS);
  equal(tuning.proposed, `time_bucket interval: 1s -> ${SLICE}s`);
  match(tuning.why, /^promised p99 \S+, got \S+$/);
  await readsEverything(client, name, ledger, traffic);

  const slices = await client.listTimeSlices(name);
  const old = slices.find((slice) => slice.name === tuning.evidence[0]);
  const [healed] = await sealedSince(client, name, tuning.effectiveFrom ?? "");
  ok(old !== undefined && healed !== undefined);
  deepEqual(healed.timePartition, tuning.to);
  const [before, now] = [await costOf(client, name, old), await costOf(client, name, healed)];
  t.diagnostic(`a read of ${SLICE} s, before: ${costText(before)}; after: ${costText(now)}`);
  deepEqual([before.partitions, now.partitions], [SLICE, 1]);
});
