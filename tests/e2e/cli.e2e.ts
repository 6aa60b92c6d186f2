/** Runs the CLI as a process against a real server and checks its output and exit codes. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatTime } from "../../src/wire/time-text.ts";
import { freePort } from "../support/fake-braid.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;

before(async () => {
  server = await startServer();
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

const START = (Date.now() - 60_000) * 1000 + 1;

function eventLine(index: number, eventTime = formatTime(START + index)): string {
  const eventItems = [{ eventItemKey: "device", eventItemValue: "aW9z" }];
  return JSON.stringify({
    timeSeriesId: "profile:1",
    eventTime,
    eventId: `e-${index}`,
    eventItems,
  });
}

test("a namespace is created, events are written from a pipe and read back byte for byte", async () => {
  const { url } = server;
  const line = "ns create plays --accept-limit 10m --slice 1d --bucket 1h --event-buckets 4 --json";
  const made = await braid(line.split(" "), url);
  equal(made.code, 0, made.err);
  equal(JSON.parse(made.out).config.timePartition.eventBuckets, 4);

  const lines = Array.from({ length: 3_000 }, (_, index) => eventLine(index));
  const wrote = await braid(["write", "plays", "-"], url, `${lines.join("\n")}\n`);
  deepEqual([wrote.code, wrote.err], [0, ""]);
  match(wrote.out, /^3,000 events written, 0 failed, in /);

  const read = await braid(
    "read plays profile:1 --from -10m --order oldest --json".split(" "),
    url,
  );
  deepEqual([read.code, read.err], [0, ""]);
  deepEqual(read.out.trimEnd().split("\n"), lines);

  const shown = await braid(
    "read plays profile:1 --from -10m --limit 2 --filter device=ios".split(" "),
    url,
  );
  deepEqual(
    shown.out.split("\n").map((row) => row.split(/ {2,}/)),
    [
      ["TIME", "EVENT ID", "ITEMS"],
      [formatTime(START + 2_999), "e-2999", "device=ios"],
      [formatTime(START + 2_998), "e-2998", "device=ios"],
      [""],
    ],
  );
});

test("lines that cannot be written are reported with their numbers, and the others are written", async () => {
  const lines = [
    eventLine(5_000),
    "nonsense",
    eventLine(5_001, "2020-01-01T00:00:00Z"),
    `${eventLine(5_002).slice(0, -1)},"unknown":1}`,
    eventLine(5_003),
  ];
  const wrote = await braid(["write", "plays", "-", "--json"], server.url, lines.join("\n"));
  equal(wrote.code, 1);
  deepEqual(JSON.parse(wrote.out), {
    written: 2,
    failed: 3,
    unconfirmed: 0,
    failuresByCode: { LINE_INVALID: 1, EVENT_TOO_OLD: 1, REQUEST_INVALID: 1 },
  });
  match(wrote.err, /^line 2: not JSON/m);
  match(wrote.err, /^line 3: EVENT_TOO_OLD: /m);
  match(wrote.err, /^line 4: REQUEST_INVALID: .*unknown/m);
  equal(wrote.err.trimEnd().split("\n").length, 3, wrote.err);
});

test("queued events arrive", async () => {
  const wrote = await braid(["write", "plays", "-", "--queued"], server.url, eventLine(6_000));
  deepEqual([wrote.code, wrote.err], [0, ""]);
  match(wrote.out, /^1 event queued/);
  const line = "read plays profile:1 --from -10m --limit 1 --json";
  let found = "";
  while (!found.includes("e-6000")) found = (await braid(line.split(" "), server.url)).out;
});

test("explain, slices, block and ns show the server's state", async () => {
  const { url } = server;
  const outputs: readonly (readonly [string, RegExp])[] = [
    ["explain plays profile:1 --from -10m", /ORIGINAL_[A-Z_]+ .*\n[^]*partitions read/],
    ["slices plays", /data_\d{8} +ACTIVE /],
    ["block add plays bot:7 --reason spam --for 1h", /bot:7 .* API +spam/],
    ["block ls plays", /bot:7 /],
    ["status", /^state +READY$/m],
    ["modes get plays", /^mode +SHADOW$/m],
    ["ns get plays", /^accepts +events at most 10m old, 1m early$/m],
    ["ns ls", /^plays +1d +1h +4 +10m +15d +16d /m],
    ["ns update plays --accept-limit 11m", /events at most 11m old/],
  ];
  for (const [line, expected] of outputs) {
    const ran = await braid(line.split(" "), url);
    deepEqual([ran.code, ran.err], [0, ""], line);
    match(ran.out, expected, line);
    // Update and block change something; the same change again succeeds.
    const asJson = await braid([...line.split(" "), "--json"], url);
    equal(asJson.code, 0, asJson.err);
    ok(JSON.parse(asJson.out), line);
  }
});

test("each kind of failure has its exit code", async () => {
  const { url } = server;
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ["ns get nowhere", 3, /NAMESPACE_NOT_FOUND/],
    ["read nowhere id", 3, /NAMESPACE_NOT_FOUND/],
    ["ns create plays", 4, /NAMESPACE_EXISTS/],
    ["read plays bot:7", 4, /ID_BLOCKED/],
    ["block rm plays bot:7", 0, /^$/],
    ["ns create bad --slice 1d --bucket 7h", 2, /CONFIG_INVALID/],
    ["ns create other --set slos.raed.max=1s", 2, /raed/],
    ["read plays", 2, /usage: braid read/],
    ["ns rm plays", 2, /no terminal to ask on[^]*braid ns rm plays --yes/],
    ["splits show plays zzzzzzzzzz", 3, /SPLIT_NOT_FOUND/],
    ["splits ls plays", 0, /^braid: there are no splits of plays: /m],
    ["verify plays", 5, /nothing was compared/],
    ["ns rm plays --yes", 0, /^$/],
    [`ns ls --url http://127.0.0.1:${await freePort()}`, 1, /cannot reach[^]*braid serve/],
  ];
  for (const [line, code, expected] of cases) {
    const ran = await braid(line.split(" "), url);
    equal(ran.code, code, `${line}\n${ran.err}`);
    match(ran.err, expected, line);
    equal(ran.err.includes("    at "), false, "no stack");
  }
});

test("all problems of a configuration are reported at once, with exit code 2", async () => {
  const ran = await braid("serve --listen nowhere --engine abacus".split(" "), server.url);
  equal(ran.code, 2);
  match(ran.err, /--listen: /);
  match(ran.err, /--engine: /);
});
