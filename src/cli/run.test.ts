import { deepEqual, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import {
  fakeBraid,
  pageJson,
  recordJson,
  refuse,
  streamedPage,
  streamEnd,
} from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { EXAMPLES } from "../api/examples.ts";
import { CONFIG, NAMESPACE } from "../../tests/support/namespace-json.ts";

const LEAVES = [
  "serve",
  "worker",
  "status",
  "servers",
  "health",
  "filters",
  "ns create",
  "ns get",
  "ns ls",
  "ns update",
  "ns rm",
  "write",
  "read",
  "explain",
  "slices",
  "slices undrop",
  "histogram",
  "partitions",
  "width-map",
  "ids",
  "block add",
  "block ls",
  "block rm",
  "splits ls",
  "splits show",
  "splits request",
  "splits retry",
  "splits rollback",
  "splits wait",
  "splits pause",
  "splits resume",
  "modes get",
  "modes set",
  "kill-switch on",
  "kill-switch off",
  "kill-switch status",
  "clock confirm",
  "verify",
  "config",
  "completion",
];

test("every command has help with an example, on stdout, and succeeds", async () => {
  for (const command of ["", "ns", "block", "splits", "modes", "kill-switch", "clock", ...LEAVES]) {
    const { code, out, err } = await runBraid([...command.split(" ").filter(Boolean), "--help"]);
    equal(code, 0, command);
    match(out, /Example:\n {2}\$ /, command);
    equal(err, "", command);
  }
});

test("wrong usage exits 2 with the usage line and the nearest that exists", async () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["reed plays id", /Did you mean read\?[^]*usage: braid /],
    ["ns lss", /Did you mean ls\?[^]*usage: braid ns /],
    [
      "read plays",
      /missing required argument 'id'\nusage: braid read \[options\] <namespace> <id>/,
    ],
    ["read plays id --form now", /Did you mean --from\?/],
    ["read plays id --from yesterday", /--from yesterday: not a time[^]*usage: braid read /],
    ["read plays id --limit many", /--limit many: not a whole number/],
    ["read plays id --filter device", /--filter device: give key=value/],
    ["read plays id --order up", /'up' is invalid/],
    ["ns create plays --slice soon", /--slice soon: not a duration/],
    ["ns create plays --set slos.read.max", /give path=value/],
    ["ns update plays", /nothing to change/],
    ["ns get plays --url localhost:1", /not an address such as http/],
    ["block add plays id --for 1h --until now", /not both/],
    ["splits show plays", /--slice, --id, --time-bucket not given[^]*usage: braid splits show /],
    ["splits retry plays --slice s --id i", /which partition\? --time-bucket not given/],
    ["splits show plays --slice s --id i --time-bucket -1", /count from 0/],
    ["splits ls plays --state done", /'done' is invalid\. It is one of DETECTED, /],
    ["modes set plays on", /'on' is invalid[^]*It is one of OFF, SHADOW, COMPARE, SERVE/],
    ["kill-switch of", /Did you mean one of off, on\?/],
    ["verify plays --id i", /--slice, --time-bucket not given/],
    ["verify plays --follow v --slice s", /give no split or slice/],
    ["ns", /Usage: braid ns/],
    ["", /Usage: braid/],
  ];
  for (const [line, expected] of wrong) {
    const { code, out, err } = await runBraid(line.split(" ").filter(Boolean));
    equal(code, 2, line);
    match(err, expected, line);
    equal(out, "", line);
  }
});

test("help COMMAND prints what COMMAND --help does, and an unknown command is an error", async () => {
  const help = await runBraid(["help", "ns", "create"]);
  equal(help.code, 0);
  deepEqual(help, await runBraid(["ns", "create", "--help"]));
  equal((await runBraid(["help"])).code, 0);
  for (const line of [
    "reed --help",
    "ns lss --help",
    "help reed",
    "help ns lss",
    "--url x reed -h",
  ]) {
    const { code, out, err } = await runBraid(line.split(" "));
    deepEqual([code, out], [2, ""], line);
    match(err, /unknown command '(reed|lss)'\n\(Did you mean (read|ls)\?\)/, line);
  }
});

test("--version prints the versions of this program and of the server, or that no server answers", async () => {
  await using server = await fakeBraid(() => EXAMPLES["GetStatus"]?.answer);
  const { url } = server;
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  const both = await runBraid(["--version"], { url });
  equal(both.code, 0, both.err);
  equal(both.out, `braid ${version} (source)\nserver  0.1.0 (source) at ${url}\n`);
  const alone = await runBraid(["-V", "--url", "http://127.0.0.1:1"]);
  equal(alone.code, 0);
  equal(alone.out, `braid ${version} (source)\nserver  none reached at http://127.0.0.1:1\n`);
  deepEqual(JSON.parse((await runBraid(["--version", "--json"], { url })).out).version, version);
});

test("--version after a command prints the versions instead of running the command", async () => {
  await using server = await fakeBraid(() => EXAMPLES["GetStatus"]?.answer);
  const { url } = server;
  const expected = await runBraid(["--version"], { url });
  for (const line of ["ns ls --version", "ns --version", "ns rm plays --yes -V"]) {
    deepEqual(await runBraid(line.split(" "), { url }), expected, line);
  }
  deepEqual(new Set(server.requests.map(({ method }) => method)), new Set(["GetStatus"]));
});

test("an empty list says so in a sentence", async () => {
  await using server = await fakeBraid(() => ({
    splits: [],
    paused: [],
    ids: [],
    nextPageToken: "",
  }));
  const { url } = server;
  const told = async (line: string): Promise<string> => {
    const { code, err } = await runBraid(line.split(" "), { url });
    equal(code, 0, err);
    return err;
  };
  match(await told("splits ls"), /^braid: there are no splits: no read has found a wide/);
  match(await told("splits ls plays"), /^braid: there are no splits of plays: /);
  match(await told("splits ls plays --state failed"), /^braid: no split of plays is FAILED; /);
  equal(await told("block ls plays"), "braid: no id is blocked in plays\n");
});

test("problems of a request name the flags of the command line", async () => {
  const problems = [
    "timeInterval.start must be before timeInterval.end",
    "pageSize is 20000, the limit is 10000",
    "ids[3].expireTime is not in the future",
  ];
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 400, "REQUEST_INVALID", {
      message: problems.join("; "),
      details: { problems },
    }),
  );
  const { code, err } = await runBraid(["explain", "plays", "x"], { url: server.url });
  equal(code, 2);
  equal(
    err,
    "braid: the request has several problems:\n" +
      "  - --from must be before --to\n" +
      "  - --page-size is 20000, the limit is 10000\n" +
      "  - the end of the block is not in the future\n" +
      "  (REQUEST_INVALID)\n",
  );
});

test("status shows the server, and what is paused", async () => {
  await using server = await fakeBraid(() => EXAMPLES["GetStatus"]?.answer);
  const ran = await runBraid(["status"], { url: server.url });
  equal(ran.code, 0, ran.err);
  match(ran.out, /^state +READY$/m);
  match(ran.out, /^up +1h, since 2026-11-15T09:00:00Z$/m);
  match(ran.out, /^splits +1 COMPLETED, counted 2h ago$/m);
  match(ran.out, /^kill switch +off$/m);
  match(ran.out, /^clock +IN DOUBT: 1h ahead of believed time$/m);
  match(ran.err, /paused the splits of plays .* run "braid splits resume plays" to resume\n/);
  match(ran.err, /clock is 3,600 s ahead of the time that Braid saw pass\n$/);
});

test("requests name the operator: --as, or the user and host", async () => {
  await using server = await fakeBraid(() => ({ on: true, by: "", reason: "", unchanged: false }));
  const { url } = server;
  await runBraid(["kill-switch", "on"], { url });
  await runBraid(["kill-switch", "on", "--as", "grace"], { url });
  deepEqual(
    server.requests.map(({ raw }) => raw.headers["braid-operator"]),
    ["ada@example", "grace"],
  );
  const wrong = await runBraid(["kill-switch", "on", "--as", "zoë"], { url });
  equal(wrong.code, 2);
  match(wrong.err, /--as: give a name of 1 to 128 ASCII characters/);
});

test("hints name the namespace that is known, and commands instead of methods", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 404, "NAMESPACE_NOT_FOUND", { message: "no plays; CreateNamespace makes it" }),
  );
  const ran = await runBraid(["slices", "plays"], { url: server.url });
  equal(
    ran.err,
    "braid: no plays; braid ns create makes it\n" +
      "  see what there is: braid ns ls; create it: braid ns create plays\n" +
      "  (NAMESPACE_NOT_FOUND)\n",
  );
});

test("a refusal of the server has its exit code, one line per problem, and what to do", async () => {
  const cases: readonly (readonly [number, string, number])[] = [
    [404, "NAMESPACE_NOT_FOUND", 3],
    [403, "ID_BLOCKED", 4],
    [413, "REQUEST_TOO_LARGE", 4],
    [409, "NAMESPACE_EXISTS", 4],
    [409, "CONFLICT", 4],
    [400, "PAGE_TOKEN_EXPIRED", 2],
    [400, "CONFIG_INVALID", 2],
    [500, "INTERNAL", 1],
  ];
  for (const [status, code, expected] of cases) {
    const details = { problems: ["first problem", "second problem"] };
    await using server = await fakeBraid((_request, response) =>
      refuse(response, status, code, { details, message: "it says what to do" }),
    );
    const ran = await runBraid(["ns", "create", "plays"], { url: server.url });
    equal(ran.code, expected, code);
    match(ran.err, /^braid: it says what to do\n {2}- first problem\n {2}- second problem\n/, code);
    match(ran.err, new RegExp(`\\(${code}\\)`));
    equal(ran.out, "");
  }
});

test("--url may stand before or behind the command and wins over BRAID_URL", async () => {
  await using server = await fakeBraid(() => ({ namespaces: [NAMESPACE], nextPageToken: "" }));
  const around = { url: "http://127.0.0.1:1" };
  for (const args of [
    ["--url", server.url, "ns", "ls", "--json"],
    ["ns", "ls", "--json", "--url", server.url],
  ]) {
    const ran = await runBraid(args, around);
    equal(ran.code, 0, ran.err);
    deepEqual(JSON.parse(ran.out), { namespaces: [NAMESPACE] });
  }
});

test("read prints records exactly as the API has them with --json, and a table without", async () => {
  await using server = await fakeBraid((_request, response) => {
    response.write(streamedPage(response, pageJson(["e-1"], "t")));
    response.write(streamedPage(response, pageJson(["e-22"], "")));
    response.end(streamEnd(response));
    return undefined;
  });
  const { url } = server;
  const line =
    "read plays profile:1 --from -1h --to 2026-11-16 --order oldest --limit 5 --filter device=ios";
  const asJson = await runBraid([...line.split(" "), "--json"], { url });
  equal(asJson.code, 0, asJson.err);
  equal(
    asJson.out,
    `${JSON.stringify(recordJson("e-1"))}\n${JSON.stringify(recordJson("e-22"))}\n`,
  );
  deepEqual(server.requests[0]?.body, {
    namespace: "plays",
    timeSeriesId: "profile:1",
    timeInterval: { start: "2026-11-15T11:00:00.000007Z", end: "2026-11-16T00:00:00Z" },
    eventFilters: [{ matchEventItemKey: "device", matchEventItemValue: "aW9z" }],
    order: "OLDEST_FIRST",
    pageSize: 0,
    totalRecordLimit: "5",
    pageToken: "",
    allowPartial: false,
  });
  const asTable = await runBraid(line.split(" "), { url });
  deepEqual(asTable.out.split("\n"), [
    "TIME                         EVENT ID  ITEMS",
    "2026-11-15T10:00:00.000001Z  e-1       device=ios",
    "2026-11-15T10:00:00.000001Z  e-22      device=ios",
    "",
  ]);
});

test("Z7: control characters in stored text cannot move the cursor", async () => {
  const hostile = {
    ...recordJson("e\u001b[2J"),
    eventItems: [{ eventItemKey: "k", eventItemValue: "Gw==" }],
  };
  await using server = await fakeBraid((_request, response) => {
    response.write(streamedPage(response, { records: [hostile], nextPageToken: "" }));
    response.end(streamEnd(response));
    return undefined;
  });
  const around = { url: server.url, outIsTty: true, env: { NO_COLOR: "1" } };
  const ran = await runBraid(["read", "plays", "id"], around);
  match(ran.out, /e\\x1b\[2J +k=\\x1b\n/);
  equal(ran.out.includes("\u001b"), false);
});

test("explain, slices and block print tables", async () => {
  await using server = await fakeBraid(({ method }) => {
    if (method === "ListTimeSlices") {
      const { timePartition } = CONFIG;
      const times = { start: "2026-11-15T00:00:00Z", end: "2026-11-16T00:00:00Z" };
      const counts = { bytes: "10485760", events: "1234567" };
      return {
        slices: [{ name: "data_20261115", status: "ACTIVE", timePartition, ...times, ...counts }],
      };
    }
    if (method === "ExplainRead") {
      const sizes = { parts: 0, bytes: "2048", events: "12", millis: 1.25 };
      const at = { timeSlice: "data_20261115", timeBucket: 7, eventBucket: 2 };
      return {
        slices: [{ timeSlice: "data_20261115", timeBuckets: 3 }],
        partitions: [
          { ...at, ...sizes, route: "ORIGINAL_NOT_SPLIT", why: "no splits", read: true },
        ],
        totals: {
          partitions: "12",
          partitionsRead: 1,
          bytes: "2048",
          events: "12",
          eventsReturned: "12",
          millis: 3,
        },
      };
    }
    const blockTime = "2026-11-15T12:00:00Z";
    return {
      ids: [{ timeSeriesId: "bot:7", reason: "spam", blockTime, source: "API" }],
      nextPageToken: "",
    };
  });
  const { url } = server;
  match(
    (await runBraid(["slices", "plays"], { url })).out,
    /data_20261115 +ACTIVE .* 10 MiB +1,234,567\n/,
  );
  const explained = await runBraid(["explain", "plays", "id"], { url });
  match(
    explained.out,
    /data_20261115 +7 +2 +ORIGINAL_NOT_SPLIT +0 +2 KiB +12 +1\.3ms +no splits\n/,
  );
  match(explained.out, /1 of 12 partitions read, 2 KiB, 12 events, 12 returned, 3ms\n$/);
  equal((await runBraid("explain plays id --limit 500".split(" "), { url })).code, 0);
  equal(server.requests.at(-1)?.body["totalRecordLimit"], "500");
  equal((await runBraid("explain plays id --all".split(" "), { url })).code, 0);
  equal(server.requests.at(-1)?.body["totalRecordLimit"], String(Number.MAX_SAFE_INTEGER));
  equal((await runBraid("explain plays id --all --limit 5".split(" "), { url })).code, 2);
  match((await runBraid(["block", "ls", "plays"], { url })).out, /bot:7 +never .* API +spam\n/);
  const added = await runBraid("block add plays bot:7 bot:8 --reason spam --for 1d".split(" "), {
    url,
  });
  equal(added.code, 0, added.err);
  deepEqual(server.requests.at(-1)?.body, {
    namespace: "plays",
    ids: ["bot:7", "bot:8"].map((timeSeriesId) => ({
      timeSeriesId,
      reason: "spam",
      expireTime: "2026-11-16T12:00:00.000007Z",
    })),
  });
});

test("completion knows commands, flags, namespaces, modes, states and splits, and bash can run it", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await runBraid(["completion", shell]);
    equal(code, 0);
    for (const command of LEAVES)
      match(out, new RegExp(`['"] ${command}['"]`), `${shell} ${command}`);
  }
  const { out } = await runBraid(["completion", "bash"]);
  const cases: readonly (readonly [string, string])[] = [
    ["ns create --acc", "--accept-limit"],
    ["ns ge", "get"],
    ["ns get p", "plays"],
    ["--url http://x ns get p", "plays"],
    ["modes set plays S", "SHADOW SERVE"],
    ["splits ls plays --state F", "FAILED"],
    ["splits show plays c1", "c11psr2pyb"],
    ["ns ls -o y", "yaml"],
    ["completion f", "fish"],
    // Nothing of ours, so that bash offers files.
    ["write plays e", ""],
    ["serve --config b", ""],
  ];
  // What the server would answer.
  const fake =
    'braid() { [ "$1" = ns ] && printf "plays\\t1d\\nmetrics\\t1d\\n" || printf "c11psr2pyb\\t$3\\n"; }';
  const asked = cases.map(
    ([line]) =>
      `COMP_WORDS=(braid ${line}); COMP_CWORD=${line.split(" ").length}; _braid; echo "\${COMPREPLY[@]}"`,
  );
  const bash = spawn("bash", ["-c", [out, fake, ...asked].join("\n")]);
  const [found, problems] = await Promise.all([text(bash.stdout), text(bash.stderr)]);
  equal(problems, "");
  deepEqual(
    found.split("\n").slice(0, -1),
    cases.map(([, expected]) => expected),
  );
});

const MAIN = new URL("./main.ts", import.meta.url).pathname;

test("N4: a closed output pipe ends the program without an error", async () => {
  await using server = await fakeBraid((_request, response) => {
    const page = streamedPage(response, pageJson(Array.from({ length: 1000 }, String), "t"));
    const more = (): void => {
      while (!response.destroyed && response.write(page));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
    return undefined;
  });
  const command = `"${process.execPath}" "${MAIN}" read plays id --json --url ${server.url}`;
  const child = spawn("bash", ["-c", `${command} | head -1 >/dev/null; echo "\${PIPESTATUS[0]}"`]);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  equal(out, "0\n");
  equal(err, "");
});

test("Ctrl-C ends a waiting command with 130 and without a stack", async () => {
  const arrived = Promise.withResolvers<undefined>();
  await using server = await fakeBraid(() => {
    arrived.resolve(undefined);
    return undefined;
  });
  const child = spawn(process.execPath, [MAIN, "ns", "ls", "--url", server.url]);
  const ended = once(child, "exit");
  const err = text(child.stderr);
  await arrived.promise;
  child.kill("SIGINT");
  deepEqual(await ended, [130, null]);
  equal(await err, "");
});
