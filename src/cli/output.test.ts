import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { parse } from "yaml";
import { fakeBraid, pageJson, streamedPage, streamEnd } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { NAMESPACE } from "../../tests/support/namespace-json.ts";
import { pairs, renderAligned, renderCells, table } from "./blocks.ts";
import { csv } from "./csv.ts";
import { relative } from "./relative-time.ts";
import { PLAIN } from "./style.ts";

const TABLE = table(
  ["NAME", ">SIZE", "NOTE"],
  [
    ["a", "1 KiB", "first"],
    ["漢字bc", "10 KiB", ""],
  ],
);

test("columns are aligned, numbers to the right, and no line ends in blanks", () => {
  equal(renderAligned([TABLE], PLAIN), "NAME    SIZE  NOTE\na      1 KiB  first\n漢字bc  10 KiB\n");
});

test("a table fits the screen: the widest columns are cut, and nothing in a pipe", () => {
  const reason = "a reason that takes more room than there is on any screen";
  const wide = table(["ID", "STATE", "REASON"], [["profile:123", "COMPLETED", reason]]);
  const lines = renderAligned([wide], { colour: false, columns: 40 }).split("\n");
  equal(lines[1], "profile:123  COMPLETED  a reason that t…");
  for (const line of lines) ok(line.length <= 40, line);
  ok(renderAligned([wide], PLAIN).includes(reason));
  ok(renderCells([wide]).includes(reason));
});

test("states and heads have colour where it is wanted, and align as without", () => {
  const rows = [
    ["FAILED", "x"],
    ["COMPLETED", "y"],
  ];
  const blocks = [table(["STATE", "ID"], rows), pairs([["state", "DONE: all"]])];
  const coloured = renderAligned(blocks, { colour: true, columns: 80 });
  ok(coloured.includes("\u001b[31mFAILED\u001b[39m     x\n"), coloured);
  equal(stripVTControlCharacters(coloured), renderAligned(blocks, PLAIN));
});

test("csv has a column for each field, nested ones by their path, and quotes what needs it", () => {
  const text = csv([
    { a: 'x,"y"', b: { c: 1, d: null } },
    { a: "", e: [1] },
  ]);
  equal(text, 'a,b.c,e\n"x,""y""",1,\n,,[1]\n');
});

test("a list is printed as table, json, yaml, csv and text", async () => {
  await using server = await fakeBraid(() => ({ namespaces: [NAMESPACE], nextPageToken: "" }));
  const { url } = server;
  const list = async (...flags: string[]): Promise<string> => {
    const { code, out, err } = await runBraid(["ns", "ls", ...flags], { url });
    deepEqual([code, err], [0, ""]);
    return out;
  };
  match(await list("-o", "table"), /^NAMESPACE +SLICE .*\nplays +1d +1h /);
  match(await list("-o", "text"), /^plays\t1d\t1h\t/);
  const [heads, row] = (await list("--output", "csv")).split("\n");
  match(heads ?? "", /^namespace,id,config\.timePartition\.secondsPerTimeSlice,/);
  match(row ?? "", /^plays,0f3c,86400,/);
  deepEqual(parse(await list("-o", "yaml")), { namespaces: [NAMESPACE] });
  deepEqual(JSON.parse(await list("-o", "json")), JSON.parse(await list("--json")));
  const both = await runBraid(["ns", "ls", "--json", "-o", "csv"], { url });
  equal(both.code, 2);
  match(both.err, /leave out one of --json and -o csv/);
});

test("N5: colour is for terminals, unless NO_COLOR is set", async () => {
  await using server = await fakeBraid(() => ({ namespaces: [NAMESPACE], nextPageToken: "" }));
  const { url } = server;
  const onTerminal = { url, outIsTty: true, columns: 200 };
  ok((await runBraid(["ns", "ls"], onTerminal)).out.includes("\u001b["));
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
    const { out } = await runBraid(["ns", "ls"], { ...onTerminal, env });
    equal(out.includes("\u001b"), false);
  }
  equal((await runBraid(["ns", "ls"], { url })).out.includes("\u001b"), false);
});

test("--watch shows it again until Ctrl-C, and redraws a screen", async () => {
  let asked = 0;
  const enough = Promise.withResolvers<undefined>();
  await using server = await fakeBraid(() => {
    asked += 1;
    if (asked === 2) enough.resolve(undefined);
    return { namespaces: [NAMESPACE], nextPageToken: "" };
  });
  const around = { url: server.url, outIsTty: true, columns: 100, interrupt: enough.promise };
  const ran = await runBraid(["ns", "ls", "--watch", "--interval", "1"], around);
  equal(ran.code, 130);
  ok(asked >= 2);
  ok(ran.out.split("\u001b[2J").length >= 2, ran.out);
  for (const [flags, expected] of [
    ["--watch --interval 0", /--interval 0: give seconds from 1 to 3600/],
    ["--interval 2", /--interval needs --watch/],
  ] as const) {
    const wrong = await runBraid(["ns", "ls", ...flags.split(" ")], { url: server.url });
    equal(wrong.code, 2);
    match(wrong.err, expected);
  }
});

test("read prints events as text that write takes back, as csv, and as yaml", async () => {
  await using server = await fakeBraid((_request, response) => {
    response.write(streamedPage(response, pageJson(["e-1"], "")));
    response.end(streamEnd(response));
    return undefined;
  });
  const read = async (format: string): Promise<string> => {
    const ran = await runBraid(["read", "plays", "profile:1", "-o", format], { url: server.url });
    equal(ran.code, 0, ran.err);
    return ran.out;
  };
  const time = "2026-11-15T10:00:00.000001Z";
  equal(
    await read("text"),
    `{"timeSeriesId":"profile:1","eventTime":"${time}","eventId":"e-1","items":{"device":"ios"}}\n`,
  );
  equal(
    await read("csv"),
    "timeSeriesId,eventTime,eventId,eventItemKey,eventItemValue\n" +
      `profile:1,${time},e-1,device,ios\n`,
  );
  equal(parse(await read("yaml")).eventId, "e-1");
});

test("csv of an empty list has the head of its records", async () => {
  const NOTHING: Readonly<Record<string, object>> = {
    ListNamespaces: { namespaces: [], nextPageToken: "" },
    ListDeletedNamespaces: { namespaces: [], nextPageToken: "" },
    ListTimeSlices: { slices: [], nextPageToken: "" },
    ListBlockedIds: { ids: [], nextPageToken: "" },
    ListSplits: { splits: [], nextPageToken: "", paused: [], killSwitch: { on: false } },
    ListTunings: { tunings: [], nextPageToken: "" },
    GetReadMode: {
      mode: "SHADOW",
      since: "2026-11-15T11:00:00Z",
      by: "ann",
      reason: "",
      nextMode: "COMPARE",
      blockedBy: "",
      autoAdvance: true,
      evidence: [],
      killSwitch: { on: false },
    },
  };
  await using server = await fakeBraid(({ method }) => NOTHING[method] ?? {});
  const { url } = server;
  const heads: Readonly<Record<string, RegExp>> = {
    "ns ls": /^namespace,id,config\.timePartition\.secondsPerTimeSlice,.*,createTime,.*\n$/,
    "ns ls --deleted": /^namespace,id,.*deleteTime,.*\n$/,
    "slices plays": /^name,start,end,status,timePartition\.secondsPerTimeSlice,.*\n$/,
    "block ls plays": /^timeSeriesId,reason,.*\n$/,
    "splits ls plays": /^splitId,namespace,state,.*,reason\n$/,
    "tune ls plays": /^id,.*\n$/,
    "modes get plays": /^mode,layout,strategy,readsCompared,.*\nSHADOW,,,0,0,0,0,\n$/,
  };
  for (const [command, head] of Object.entries(heads)) {
    const { code, out, err } = await runBraid([...command.split(" "), "-o", "csv"], { url });
    equal(code, 0, err);
    match(out, head, command);
  }
});

test("a time to come is not shown shorter than it is by an hour", () => {
  const now = Date.parse("2026-11-15T12:00:00Z") * 1_000;
  deepEqual(
    [
      "2026-11-16T11:59:59Z",
      "2026-11-16T11:00:00Z",
      "2026-11-15T12:59:58Z",
      "2026-11-15T12:00:10Z",
      "2026-11-15T11:00:01Z",
    ].map((time) => relative(time, now)),
    ["in 1d", "in 23h", "in 1h", "in 10s", "59m ago"],
  );
});
