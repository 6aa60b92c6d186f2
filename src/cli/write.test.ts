import { deepEqual, equal, match } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { fakeBraid, refuse } from "../../tests/support/fake-braid.ts";
import type { FakeRequest } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { NAMESPACE } from "../../tests/support/namespace-json.ts";

/**
 * Takes every write, but for events named bad (refused alone) and those with a field it does not
 * know.
 */
function writes(request: FakeRequest, taken: string[]): object | undefined {
  if (request.method === "GetNamespace") return NAMESPACE;
  const events = request.body["events"] as { eventId: string; unknown?: string }[];
  if (events.some((event) => event.unknown !== undefined)) return undefined;
  const failures = events.flatMap(({ eventId }, index) =>
    eventId === "bad" ? [{ index, code: "EVENT_TOO_OLD", message: "older than 10m" }] : [],
  );
  taken.push(...events.map((event) => event.eventId).filter((id) => id !== "bad"));
  return { written: events.length - failures.length, failures };
}

test("write continues after lines it cannot take, names each by its number, and exits 1", async () => {
  const taken: string[] = [];
  await using server = await fakeBraid(
    (request, response) =>
      writes(request, taken) ??
      refuse(response, 400, "REQUEST_INVALID", {
        message: "events[0].unknown is no field",
        details: { problems: ["events[0].unknown"] },
      }),
  );
  const lines = [
    '\ufeff{"eventId":"1"}',
    "{not json",
    "",
    '{"eventId":"2"}\r',
    "[1]",
    '{"eventId":"bad"}',
    '{"eventId":"x","unknown":"field"}',
    `{"eventId":"${"y".repeat(5_000_000)}"}`,
    '{"eventId":"3"}',
  ];
  const ran = await runBraid(["write", "plays", "-"], { url: server.url, input: lines.join("\n") });
  equal(ran.code, 1, ran.err);
  deepEqual(taken.toSorted(), ["1", "2", "3"]);
  match(ran.err, /^line 2: not JSON: /m);
  match(ran.err, /^line 5: not a JSON object$/m);
  match(ran.err, /^line 6: EVENT_TOO_OLD: older than 10m$/m);
  match(ran.err, /^line 7: REQUEST_INVALID: unknown is no field$/m);
  match(ran.err, /^line 8: longer than 4 MiB/m);
  match(ran.out, /^3 events written, 5 failed, in /);
});

test("write says in JSON what it did, and reads a file", async () => {
  const taken: string[] = [];
  await using server = await fakeBraid((request) => writes(request, taken));
  const directory = await mkdtemp(join(tmpdir(), "braid-cli-"));
  try {
    const file = join(directory, "events.ndjson");
    await writeFile(file, Array.from({ length: 2500 }, (_, i) => `{"eventId":"${i}"}\n`).join(""));
    const ran = await runBraid(["write", "plays", file, "--json", "--queued"], { url: server.url });
    equal(ran.code, 0, ran.err);
    deepEqual(JSON.parse(ran.out), {
      accepted: 2500,
      failed: 0,
      unconfirmed: 0,
      failuresByCode: {},
    });
    equal(server.requests[1]?.method, "WriteEventRecords");
    equal(new Set(taken).size, 2500);
    const missing = await runBraid(["write", "plays", join(directory, "no")], { url: server.url });
    equal(missing.code, 2);
    match(missing.err, /^braid: there is no file .*no\n/);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("write does not read its input if there is no such namespace", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 404, "NAMESPACE_NOT_FOUND"),
  );
  const input = new Readable({ read: () => undefined });
  const ran = await runBraid(["write", "plays", "-"], { url: server.url, input });
  equal(ran.code, 3);
});

test("write stops when the server refuses everything, and has its exit code", async () => {
  await using server = await fakeBraid((request, response) =>
    request.method === "GetNamespace" ? NAMESPACE : refuse(response, 403, "ID_BLOCKED"),
  );
  const input = new Readable({ read: () => undefined });
  input.push('{"eventId":"1"}\n');
  const ran = await runBraid(["write", "plays", "-"], { url: server.url, input });
  equal(ran.code, 4);
  match(ran.err, /^braid: this is ID_BLOCKED\n {2}see why: braid block ls plays\n/);
  match(ran.err, /^line 1: ID_BLOCKED/m);
});

test("Ctrl-C stops a write that waits for its input, says what was done, and exits 130", async () => {
  const arrived = Promise.withResolvers<undefined>();
  await using server = await fakeBraid((request) => {
    if (request.method !== "GetNamespace") arrived.resolve(undefined);
    return writes(request, []);
  });
  const input = new Readable({ read: () => undefined });
  input.push('{"eventId":"1"}\n');
  const ran = await runBraid(["write", "plays", "-"], {
    url: server.url,
    input,
    interrupt: arrived.promise,
  });
  equal(ran.code, 130);
  match(ran.out, /events? written/);
});

test("Ctrl-C says in one line which lines are unconfirmed, and that repeating is safe", async () => {
  const arrived = Promise.withResolvers<undefined>();
  await using server = await fakeBraid((request) => {
    if (request.method === "GetNamespace") return NAMESPACE;
    arrived.resolve(undefined);
    return undefined;
  });
  const input = new Readable({ read: () => undefined });
  input.push(Array.from({ length: 2_500 }, (_, i) => `{"eventId":"${i}"}\n`).join(""));
  const around = { url: server.url, input, interrupt: arrived.promise };
  const ran = await runBraid(["write", "plays", "-", "--json"], around);
  equal(ran.code, 130);
  match(
    ran.err,
    /^braid: interrupted: lines 1 to [\d,]+ are unconfirmed, written or not; later lines were not sent\. Run the same command again: repeating is safe\n$/,
  );
  equal(JSON.parse(ran.out).failed, 0);
});

test("of many lines that fail the first ten are shown, the rest counted by code", async () => {
  await using server = await fakeBraid((request) => writes(request, []));
  const lines = Array.from({ length: 3_000 }, () => '{"eventId":"bad"}');
  lines[4] = "nonsense";
  const around = { url: server.url, input: lines.join("\n") };
  const ran = await runBraid(["write", "plays", "-"], around);
  equal(ran.code, 1);
  const told = ran.err.split("\n");
  deepEqual(
    told.slice(0, 10).map((line) => line.split(":")[0]),
    Array.from({ length: 10 }, (_, i) => `line ${i + 1}`),
  );
  deepEqual(told.slice(10, 11), ["… and 2,990 more. Not written, by code:"]);
  match(told[11] ?? "", /^ {2}EVENT_TOO_OLD: 2,999, in lines 1 to 3,000; .*--accept-limit/);
  match(told[12] ?? "", /^ {2}LINE_INVALID: 1, in line 5$/);
  match(ran.out, /^0 events written, 3,000 failed, in /);
});

test("the failures shown are those of the smallest line numbers, whichever answer comes first", async () => {
  const late = Promise.withResolvers<undefined>();
  let batches = 0;
  await using server = await fakeBraid(async (request) => {
    if (request.method === "GetNamespace") return NAMESPACE;
    // The first batch is answered after the second.
    if (batches++ === 0) await late.promise;
    else late.resolve(undefined);
    return writes(request, []);
  });
  const lines = Array.from({ length: 2_000 }, () => '{"eventId":"bad"}');
  const around = { url: server.url, input: lines.join("\n") };
  const ran = await runBraid(["write", "plays", "-"], around);
  const shown = ran.err.split("\n").filter((line) => line.startsWith("line "));
  deepEqual(
    shown.map((line) => line.split(":")[0]),
    Array.from({ length: 10 }, (_, i) => `line ${i + 1}`),
  );
});

test("a line with text values says that --text is missing, without asking the server", async () => {
  await using server = await fakeBraid((request) => writes(request, []));
  const input = '{"eventId":"1","items":{"device":"ios"}}\n';
  const ran = await runBraid(["write", "plays", "-"], { url: server.url, input });
  equal(ran.code, 1);
  match(ran.err, /^line 1: has items, which are text values: give --text, or eventItems/);
  equal(server.requests.length, 1);
});

test("write of a directory says what to do", async () => {
  await using server = await fakeBraid((request) => writes(request, []));
  const ran = await runBraid(["write", "plays", tmpdir()], { url: server.url });
  equal(ran.code, 2);
  match(ran.err, /is a directory; give a file with an event on each line, or - for stdin: cat /);
});

test("write --text takes text for values, and says which value is none", async () => {
  const sent: object[] = [];
  await using server = await fakeBraid((request) => {
    if (request.method !== "GetNamespace") sent.push(...(request.body["events"] as object[]));
    return writes(request, []);
  });
  const lines = [
    '{"eventId":"1","items":{"device":"ios","ms":12,"raw":{"base64":"AP8="}}}',
    '{"eventId":"2","eventItems":[{"eventItemKey":"device","eventItemValue":"ö"}]}',
    '{"eventId":"3"}',
    '{"eventId":"4","items":{"device":["ios"]}}',
    '{"eventId":"5","items":[]}',
  ];
  const around = { url: server.url, input: lines.join("\n") };
  const ran = await runBraid(["write", "plays", "-", "--text"], around);
  equal(ran.code, 1);
  const item = (eventItemKey: string, eventItemValue: string): object => ({
    eventItemKey,
    eventItemValue,
  });
  deepEqual(sent, [
    { eventId: "1", eventItems: [item("device", "aW9z"), item("ms", "MTI="), item("raw", "AP8=")] },
    { eventId: "2", eventItems: [item("device", "w7Y=")] },
    { eventId: "3", eventItems: [] },
  ]);
  match(ran.err, /^line 4: the value of "device" is neither text nor \{"base64":"…"\}$/m);
  match(ran.err, /^line 5: items is not an object/m);
});

test("progress is shown on terminals, or on request", async () => {
  await using server = await fakeBraid((request) => writes(request, []));
  const around = { url: server.url, input: '{"eventId":"1"}\n' };
  equal((await runBraid(["write", "plays", "-"], around)).err, "");
});
