import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { collect, fakeBraid, refuse, SkippingTiming } from "../tests/support/fake-braid.ts";
import { connect } from "./connect.ts";

const PARTITION = {
  timeSlice: "data_20261114",
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 0,
};

test("splits are listed over all pages, empty ones too", async () => {
  const pages: Readonly<Record<string, object>> = {
    "": { splits: [{ state: "FAILED", version: "1" }], nextPageToken: "a" },
    a: { splits: [], nextPageToken: "b" },
    b: { splits: [{ state: "FAILED", version: "2" }], nextPageToken: "" },
  };
  await using server = await fakeBraid(({ body }) => pages[String(body["pageToken"])]);
  const { splits } = connect(server.url);
  const found = await collect(splits.list("plays", { state: "FAILED" }));
  deepEqual(
    found.map(({ version }) => version),
    ["1", "2"],
  );
  deepEqual(server.requests[1]?.body, {
    namespace: "plays",
    state: "FAILED",
    pageSize: 0,
    pageToken: "a",
  });
});

test("each call sends the contract's request", async () => {
  await using server = await fakeBraid(() => ({ verifyId: "v-1" }));
  const { splits } = connect(server.url);
  const namespace = "plays";
  // A split names its partition like this, with other fields beside it.
  const split = { preSplitData: { ...PARTITION, bytes: "1", events: "1", checksum: "" } };
  await splits.get(namespace, split.preSplitData);
  await splits.request(namespace, PARTITION);
  await splits.retry(namespace, PARTITION, { reason: "why" });
  await splits.rollback(namespace, PARTITION, { reason: "why" });
  await splits.pause(namespace, { reason: "why" });
  await splits.resume(namespace);
  await splits.getReadMode(namespace);
  await splits.setReadMode(namespace, "SERVE", { force: true, autoAdvance: false, reason: "why" });
  await splits.getKillSwitch();
  await splits.setKillSwitch(true);
  equal(await splits.startVerify(namespace, { timeSlice: "data_20261114" }), "v-1");
  await splits.getVerify(namespace, "v-1");
  const location = { namespace, partition: PARTITION };
  deepEqual(
    server.requests.map(({ method, body }) => [method, body]),
    [
      ["GetSplit", location],
      ["RequestSplit", { ...location, reason: "" }],
      ["RetrySplit", { ...location, reason: "why" }],
      ["RollbackSplit", { ...location, reason: "why" }],
      ["PauseSplits", { namespace, reason: "why" }],
      ["ResumeSplits", { namespace, reason: "" }],
      ["GetReadMode", { namespace }],
      ["SetReadMode", { namespace, mode: "SERVE", force: true, autoAdvance: false, reason: "why" }],
      ["GetKillSwitch", {}],
      ["SetKillSwitch", { on: true, reason: "" }],
      ["StartVerify", { namespace, timeSlice: "data_20261114" }],
      ["GetVerify", { namespace, verifyId: "v-1" }],
    ],
  );
});

test("a lost answer never starts a comparison twice, and an operator request is retried", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 503, "STORAGE_UNAVAILABLE"),
  );
  const options = { timing: new SkippingTiming(), retries: { attemptsMax: 3 } };
  const { splits } = connect(server.url, options);
  await rejects(splits.startVerify("plays"), { code: "STORAGE_UNAVAILABLE" });
  equal(server.requests.length, 1);
  await rejects(splits.rollback("plays", PARTITION), { code: "STORAGE_UNAVAILABLE" });
  equal(server.requests.length, 4);
});
