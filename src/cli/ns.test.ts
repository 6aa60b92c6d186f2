import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { NAMESPACE } from "../../tests/support/namespace-json.ts";

test("ns create sends flags, file and --set as the API has them", async () => {
  const directory = await mkdtemp(join(tmpdir(), "braid-cli-"));
  try {
    const file = join(directory, "plays.yaml");
    await writeFile(file, "accept_limit: 5m\nslos:\n  read: {target: 250ms}\nfutureLimit: 30s\n");
    await using server = await fakeBraid(() => NAMESPACE);
    const ran = await runBraid(
      (
        "ns create plays --accept-limit 10m --slice 1d --bucket 1h --event-buckets 4 " +
        "--close-after 15d --delete-after 16d --set slos.read.max=2s --set widePartition.bytesMax=20MiB " +
        `--set wide_partition.detect=false --set made.up=x --config-file ${file}`
      ).split(" "),
      { url: server.url },
    );
    equal(ran.code, 0, ran.err);
    deepEqual(server.requests[0]?.body, {
      namespace: "plays",
      config: {
        timePartition: {
          secondsPerTimeSlice: 86_400,
          secondsPerTimeBucket: 3_600,
          eventBuckets: 4,
        },
        acceptLimit: "600s",
        futureLimit: "30s",
        retention: { closeAfter: "1296000s", deleteAfter: "1382400s" },
        slos: { read: { target: "0.25s", max: "2s" } },
        widePartition: { bytesMax: "20971520", detect: false },
        made: { up: "x" },
      },
    });
    match(ran.out, /^namespace {4}plays$/m);
    match(ran.out, /^accepts {6}events at most 10m old, 1m early$/m);
    match(ran.out, /^wide .*over 10 MiB or 100,000 events/m);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("ns update sends only what changes", async () => {
  await using server = await fakeBraid(() => NAMESPACE);
  const line = "ns update plays --accept-limit 1h --reset slos.read --reset tuning";
  await runBraid(line.split(" "), { url: server.url });
  deepEqual(server.requests[0]?.body, {
    namespace: "plays",
    config: { acceptLimit: "3600s" },
    reset: ["slos.read", "tuning"],
  });
});

test("N5: ns rm without a terminal refuses, unless --yes says so", async () => {
  await using server = await fakeBraid(() => ({}));
  const { url } = server;
  const unasked = await runBraid(["ns", "rm", "plays"], { url });
  equal(unasked.code, 2);
  match(unasked.err, /no terminal to ask on: to delete it, run braid ns rm plays --yes\n/);
  equal(server.requests.length, 0);
  equal((await runBraid(["ns", "rm", "plays", "--yes"], { url })).code, 0);
  equal(server.requests.length, 1);
});

test("ns rm asks a person for the name", async () => {
  await using server = await fakeBraid(() => ({}));
  const { url } = server;
  const no = await runBraid(["ns", "rm", "plays"], { url, answer: "no" });
  equal(no.code, 1);
  equal(server.requests.length, 0);
  equal((await runBraid(["ns", "rm", "plays"], { url, answer: "plays\n" })).code, 0);
  equal(server.requests.length, 1);
});

const DELETED = {
  namespace: "plays",
  id: "plays-0f3c",
  config: NAMESPACE.config,
  deleteTime: "2026-11-15T12:00:00Z",
  restorableUntil: "2099-11-16T12:00:00Z",
  purged: false,
  deletedBy: "ann",
  reason: "moved",
  bytes: "1048576",
  events: "4096",
};

test("ns rm says how to take it back and until when", async () => {
  await using server = await fakeBraid(() => DELETED);
  const line = "ns rm plays --yes --reason moved";
  const { out } = await runBraid(line.split(" "), { url: server.url });
  match(
    out,
    /^deleted plays; until 2099-11-16T12:00:00Z \(in .*\) restore it with: braid ns undelete plays$/m,
  );
  const request = { namespace: "plays", id: "", purge: false, reason: "moved" };
  deepEqual(server.requests[0]?.body, request);
});

test("ns rm --purge takes the name, or the id of a deleted namespace", async () => {
  await using server = await fakeBraid(() => ({ ...DELETED, purged: true }));
  const { url } = server;
  const unasked = await runBraid(["ns", "rm", "plays-0f3c", "--purge"], { url });
  match(unasked.err, /deleted for good[^]*braid ns rm plays-0f3c --purge --yes\n/);
  const { out } = await runBraid(["ns", "rm", "plays-0f3c", "--purge", "--yes"], { url });
  match(out, /^purged plays \(plays-0f3c\) with all its events$/m);
  const request = { namespace: "", id: "plays-0f3c", purge: true, reason: "" };
  deepEqual(server.requests[0]?.body, request);
});

test("ns rm --purge of a name that only deleted namespaces had names the command", async () => {
  const message =
    'there is no namespace "plays"; deleted namespaces had this name: plays-0f3c, plays-1234; ' +
    "purge one by its id: DeleteNamespace plays-0f3c with purge";
  const details = { namespace: "plays", ids: "plays-0f3c,plays-1234" };
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 404, "NAMESPACE_NOT_FOUND", { message, details }),
  );
  const { url } = server;
  const { code, err } = await runBraid(["ns", "rm", "plays", "--purge", "--yes"], { url });
  equal(code, 3);
  match(err, /name: plays-0f3c, plays-1234; purge one by its id: braid ns rm plays-0f3c --purge\n/);
  doesNotMatch(err, /create it/);
});

test("ns undelete takes a name or an id, and another name", async () => {
  await using server = await fakeBraid(() => NAMESPACE);
  const { url } = server;
  equal((await runBraid(["ns", "undelete", "plays"], { url })).code, 0);
  const line = "ns undelete plays-0f3c --as-name plays_old";
  match(
    (await runBraid(line.split(" "), { url })).out,
    /^restored plays with its events\nnamespace +plays$/m,
  );
  deepEqual(
    server.requests.map(({ body }) => body),
    [
      { namespace: "plays", id: "", asName: "" },
      { namespace: "", id: "plays-0f3c", asName: "plays_old" },
    ],
  );
});

test("ns ls --deleted shows what can be restored, and until when", async () => {
  let namespaces: unknown[] = [DELETED, { ...DELETED, purged: true, bytes: undefined }];
  await using server = await fakeBraid(() => ({ namespaces, nextPageToken: "" }));
  const { url } = server;
  const { out } = await runBraid(["ns", "ls", "--deleted"], { url });
  match(out, /^plays +plays-0f3c .*2099-11-16T12:00:00Z \(in .*1 ?MiB.*4,096 +ann +moved$/m);
  match(out, /never, it is being removed/);
  namespaces = [];
  match((await runBraid(["ns", "ls", "--deleted"], { url })).err, /there is no deleted namespace/);
});

test("slices purge asks, unless --yes says so", async () => {
  const slice = {
    name: "data_20260811",
    start: "2026-08-11T00:00:00Z",
    end: "2026-08-12T00:00:00Z",
    status: "DROPPED",
    timePartition: NAMESPACE.config.timePartition,
    bytes: "0",
    events: "0",
  };
  await using server = await fakeBraid(() => slice);
  const { url } = server;
  const args = ["slices", "purge", "plays", "data_20260811"];
  match((await runBraid(args, { url })).err, /braid slices purge plays data_20260811 --yes\n/);
  equal((await runBraid(args, { url, answer: "no" })).code, 1);
  equal(server.requests.length, 0);
  match((await runBraid([...args, "--yes"], { url })).out, /^data_20260811 +DROPPED /m);
  deepEqual(server.requests[0]?.body, { namespace: "plays", timeSlice: "data_20260811" });
});

test("a command on a deleted namespace says how to restore it", async () => {
  const refused = { message: "there is no namespace", details: { namespace: "plays" } };
  let namespaces: unknown[] = [DELETED, { ...DELETED, namespace: "shows" }];
  await using server = await fakeBraid(({ method }, response) =>
    method === "ListDeletedNamespaces"
      ? { namespaces, nextPageToken: "" }
      : refuse(response, 404, "NAMESPACE_NOT_FOUND", refused),
  );
  const { url } = server;
  for (const line of ["ns get plays", "read plays profile:1", "slices plays"]) {
    const ran = await runBraid(line.split(" "), { url });
    equal(ran.code, 3);
    match(ran.err, /^ {2}it was deleted .*; restore it: braid ns undelete plays$/m, line);
    doesNotMatch(ran.err, /create it/);
  }
  namespaces = [DELETED, { ...DELETED, id: "plays-9", deleteTime: "2098-01-01T00:00:00Z" }];
  match((await runBraid(["ns", "get", "plays"], { url })).err, /braid ns undelete plays-9$/m);
  namespaces = [{ ...DELETED, purged: true }];
  match((await runBraid(["ns", "get", "plays"], { url })).err, /create it: braid ns create plays/);
});

test("what undelete refuses has no hint that does not help", async () => {
  const cases: readonly (readonly [number, string, object, string])[] = [
    [
      404,
      "NAMESPACE_NOT_FOUND",
      { deleted: "plays" },
      "ListDeletedNamespaces shows those that can",
    ],
    [409, "NAMESPACE_EXISTS", { namespace: "plays", id: "p-1" }, "restore p-1 with asName"],
    [409, "CONFLICT", { namespace: "plays", id: "p-1" }, "it was restored already"],
  ];
  for (const [status, code, details, message] of cases) {
    await using server = await fakeBraid((_request, response) =>
      refuse(response, status, code, { details, message }),
    );
    const { err } = await runBraid(["ns", "undelete", "plays"], { url: server.url });
    const said = message
      .replace("ListDeletedNamespaces", "braid ns ls --deleted")
      .replace("asName", "--as-name");
    equal(err, `braid: ${said}\n  (${code})\n`);
  }
});

test("slices undrop and block rm say when there was nothing to do", async () => {
  const slice = {
    name: "data_20260811",
    start: "2026-08-11T00:00:00Z",
    end: "2026-08-12T00:00:00Z",
    status: "CLOSED",
    timePartition: NAMESPACE.config.timePartition,
    bytes: "0",
    events: "0",
  };
  let before = "CLOSED";
  await using server = await fakeBraid(({ method }) => {
    if (method === "UnblockIds") return { unblocked: 1 };
    if (method !== "ListTimeSlices") return slice;
    return { slices: [{ ...slice, status: before }], nextPageToken: "" };
  });
  const { url } = server;
  const undrop = ["slices", "undrop", "plays", "data_20260811"];
  const idle = await runBraid(undrop, { url });
  match(idle.err, /^braid: data_20260811 is CLOSED, not DROPPING: nothing changed$/m);
  before = "DROPPING";
  equal((await runBraid(undrop, { url })).err, "");
  const { out, err } = await runBraid("block rm plays bot:7 bot:8".split(" "), { url });
  equal(out, "1 of 2 unblocked\n");
  match(err, /^braid: 1 id was not blocked.*: braid block ls plays$/m);
});

test("names of modes and levels may be in lower case", async () => {
  await using server = await fakeBraid(() => NAMESPACE);
  const { url } = server;
  const line = "ns update plays --set tuning.mode=auto --consistency eventual";
  equal((await runBraid(line.split(" "), { url })).code, 0);
  const config = { tuning: { mode: "AUTO" }, consistency: "EVENTUAL" };
  deepEqual(server.requests[0]?.body["config"], config);
});
