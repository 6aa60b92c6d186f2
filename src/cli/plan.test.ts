import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { NAMESPACE } from "../../tests/support/namespace-json.ts";

const FILE = `
ids: { low: 500k, mid: 1M, high: 3M, confidence: 0.8 }
events_per_day_per_id: 5,10,20@0.9
skew: { distribution: ZIPF, parameter: 0.8 }
eventBytes: 2KiB
readInterval: 6h
retention: 30d
acceptLimit: 5m
slos: { read: { target: 100ms } }
consistency: EVENTUAL
zones: 2
`;

async function withFiles(
  files: Readonly<Record<string, string>>,
  run: (path: (name: string) => string) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "braid-cli-"));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    await run((name) => join(directory, name));
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("plan reports partitions, machines, and why each alternative was not chosen", async () => {
  const line = "plan --ids 1M --events-per-day 10 --read-interval 1d --retention 30d --worlds 16";
  const ran = await runBraid(line.split(" "));
  equal(ran.code, 0, ran.err);
  match(ran.out, /^partitions {2}slices of \w+, buckets of \w+, 1 event bucket$/m);
  match(ran.out, /^sizes +p50 \S+ \S+ \(.*\), p99 .*, largest /m);
  match(ran.out, /^cassandra +\d+ x i4i\.\w+ \(/m);
  match(ran.out, /^hardware +figures of 2026-11-18/m);
  match(
    ran.out,
    /^create it +braid ns create NAMESPACE --slice \w+ --bucket \w+ --event-buckets 1 /m,
  );
  match(ran.out, /^default: a read touches 25 partitions/m);
  match(ran.out, /^public planner: /m);
  match(ran.err, /^braid: eventBytes is not given: assumed 1KiB$/m);
});

test("the same flags and seed print the same plan, in the API's form", async () => {
  const args = "plan --ids 10k --events-per-day 100,1k,10k@0.8 --worlds 8 --seed 7 --json".split(
    " ",
  );
  const [first, second] = [await runBraid(args), await runBraid(args)];
  equal(first.out, second.out);
  const plan = JSON.parse(first.out);
  deepEqual([plan.seed, plan.worlds], [7, 8]);
  ok(
    plan.chosen.timePartition.secondsPerTimeSlice %
      plan.chosen.timePartition.secondsPerTimeBucket ===
      0,
  );
  equal((await runBraid([...args.slice(0, -1), "-o", "yaml"])).out.startsWith("chosen:\n"), true);
});

test("a file has the same fields; flags win", async () => {
  await withFiles({ "w.yaml": FILE }, async (path) => {
    const file = await runBraid(["plan", path("w.yaml"), "--worlds", "4", "--json"]);
    equal(file.code, 0, file.err);
    equal(JSON.parse(file.out).infrastructure.zones, 2);
    const zones = ["--zones", "1"];
    const flags = await runBraid(["plan", path("w.yaml"), "--worlds", "4", "--json", ...zones]);
    equal(JSON.parse(flags.out).infrastructure.zones, 1);
  });
});

test("the command that creates the namespace has all that the workload decides", async () => {
  await withFiles({ "w.yaml": FILE }, async (path) => {
    const { out } = await runBraid(["plan", path("w.yaml"), "--worlds", "4"]);
    const command = /^create it +braid ns create NAMESPACE (.*)$/m.exec(out)?.[1] ?? "";
    match(command, / --accept-limit 5m --close-after 30d --delete-after 31d /);
    match(command, / --set slos.read.target=100ms --consistency EVENTUAL$/);
    await using server = await fakeBraid(() => NAMESPACE);
    const { url } = server;
    equal((await runBraid(["ns", "create", "plays", ...command.split(" ")], { url })).code, 0);
    const config = server.requests[0]?.body["config"] as Record<string, unknown>;
    deepEqual(
      [config["acceptLimit"], config["retention"], config["slos"], config["consistency"]],
      [
        "300s",
        { closeAfter: "2592000s", deleteAfter: "2678400s" },
        { read: { target: "0.1s" } },
        "EVENTUAL",
      ],
    );
  });
});

test("names of distributions and levels may be in lower case; notes have the file's names", async () => {
  const line = "plan --ids 1k --events-per-day 10 --skew zipf:1 --consistency eventual --worlds 4";
  const ran = await runBraid(line.split(" "));
  equal(ran.code, 0, ran.err);
  match(ran.out, / --consistency EVENTUAL$/m);
  match(ran.err, /^braid: readInterval is not given: assumed 1d$/m);
  doesNotMatch(ran.err, /Seconds/);
});

test("a plan says when reads reach further back than events are kept, and when nothing is wide", async () => {
  const line = "plan --ids 5 --events-per-day 0.001 --read-interval 30d --retention 2d --worlds 8";
  const { out, err } = await runBraid(line.split(" "));
  match(err, /^braid: reads reach back 30d, but events can be read for 2d: planned with 2d$/m);
  match(err, /busiest id is expected to have about 0\.\d+ events a day$/m);
  match(out, /^splits +no partition is expected to have more than 10 MiB or 100,000 events$/m);
  match(out, /^hot spots +less than 0\.01 events\/s/m);
});

test("of one or a few ids, the largest partition is not below the p99", async () => {
  for (const ids of ["1", "3", "10"]) {
    const line = `plan --ids ${ids} --events-per-day 100 --worlds 32 --json`;
    const { chosen } = JSON.parse((await runBraid(line.split(" "))).out);
    ok(chosen.maxBytes.mid >= chosen.p99Bytes.mid, ids);
    ok(chosen.p99Bytes.mid >= chosen.p50Bytes.mid, ids);
  }
});

test("a file that is not there is named without the system's words", async () => {
  await using server = await fakeBraid(() => NAMESPACE);
  const { url } = server;
  for (const line of [
    "plan /no/w.yaml",
    "plan --ids 1 --events-per-day 1 --hardware /no/w.yaml",
    "plan --sample /no/w.yaml",
    "ns create plays --workload /no/w.yaml",
    "ns create plays --config-file /no/w.yaml",
    "write plays /no/w.yaml",
  ]) {
    const ran = await runBraid(line.split(" "), { url });
    equal(ran.code, 2, line);
    match(ran.err, /^braid: there is no file \/no\/w.yaml$/m, line);
    doesNotMatch(ran.err, /ENOENT/);
  }
  match((await runBraid(["plan", "/"])).err, /^braid: \/ is a directory; give a file$/m);
});

test("a sample gives the skew, and the ids and rates that are not given", async () => {
  const rates = Array.from({ length: 1_000 }, (_, n) => `id${n},${n === 0 ? 1_000_000 : 10}`);
  const hour = (n: number): string => new Date(Date.UTC(2026, 10, 1, n)).toISOString();
  const events = Array.from({ length: 48 }, (_, n) =>
    JSON.stringify({
      timeSeriesId: n % 4 === 0 ? "a" : "b",
      eventTime: hour(n),
      eventId: String(n),
    }),
  );
  const files = {
    rates: rates.join("\n"),
    events: events.join("\n"),
    bad: "1\n2\nthree\n",
    cut: "a,1\nb,\n",
    headed: "id,events per day\na,1\nb,2\n",
  };
  await withFiles(files, async (path) => {
    const args = ["plan", "--worlds", "4", "--json"];
    const plan = JSON.parse((await runBraid([...args, "--sample", path("rates")])).out);
    match(
      plan.notes.join("\n"),
      /the busiest id is expected to have about [\d,]{7,9} events a day/,
    );
    const counted = await runBraid([...args, "--sample", path("events")]);
    equal(counted.code, 0, counted.err);
    match(counted.err, /the busiest id is expected to have about 1[789] events a day/);
    const bad = await runBraid([...args, "--sample", path("bad")]);
    equal(bad.code, 2);
    match(bad.err, /line 3 is neither a number of events a day, nor id,number/);
    match((await runBraid([...args, "--sample", path("cut")])).err, /line 2 is neither a number/);
    // As a spreadsheet or a query writes it.
    const headed = await runBraid([...args, "--sample", path("headed")]);
    equal(headed.code, 0, headed.err);
    const both = await runBraid([...args, "--sample", path("rates"), "--skew", "EVEN"]);
    match(both.err, /leave out one of --sample and skew/);
  });
});

test("a hardware table of the user's own replaces the built-in one", async () => {
  const hardware = `
asOf: 2027-01-01
nodes: [{ name: box, cpus: 16, memoryGib: 64, diskGib: 2000 }]
servers: [{ name: vm, cpus: 4, memoryGib: 8 }]
`;
  const priced = `
asOf: 2027-01-01
nodes: [{ name: box, cpus: 16, memoryGib: 64, diskGib: 2000, monthlyCost: 420.25 }]
servers: [{ name: vm, cpus: 4, memoryGib: 8, monthlyCost: 60 }]
`;
  const files = { "h.yaml": hardware, "priced.yaml": priced, "bad.yaml": "nodes: []" };
  await withFiles(files, async (path) => {
    const args =
      "plan --ids 1k --events-per-day 10 --reads-per-second 10 --worlds 4 --hardware".split(" ");
    const ran = await runBraid([...args, path("h.yaml")]);
    match(
      ran.out,
      /^cassandra +3 x box \(16 CPUs, 64 GiB, 2 TiB disk\) in 3 zones; copies and zones decide how many$/m,
    );
    match(ran.out, /^hardware +figures of 2027-01-01/m);
    doesNotMatch(ran.out, /^cost/m);
    const priced = await runBraid([...args, path("priced.yaml")]);
    match(
      priced.out,
      /^cost +1,501 a month, .*: 1,261 for Cassandra, 120 for servers, 120 for workers$/m,
    );
    match(ran.out, /^or +one machine with the embedded engine is enough$/m);
    const bad = await runBraid([...args, path("bad.yaml")]);
    equal(bad.code, 2);
    match(bad.err, /hardware.asOf: give the day.*\n.*hardware.nodes must have 1 to 100 shapes/);
  });
});

test("the limit of a partition is the plan's, and part of the command that creates it", async () => {
  const args = "plan --ids 1 --events-per-day 1M --skew EVEN --worlds 4 --bytes-max".split(" ");
  const narrow = await runBraid([...args, "1MiB", "--events-max", "5000"]);
  match(narrow.out, /^partitions +slices of 1d, buckets of 1m, 2 event buckets$/m);
  match(narrow.out, /^splits .*1 MiB or 5,000 events$/m);
  match(
    narrow.out,
    /--set widePartition.bytesMax=1048576 --set widePartition.targetBytes=1048576 --set widePartition.eventsMax=5000$/m,
  );
  const wrong = await runBraid([...args, "much"]);
  match(wrong.err, /--bytes-max much: not a size; give 20MiB/);
  const tiny = await runBraid([...args, "1KiB"]);
  match(tiny.err, /widePartition.bytesMax \(1024 bytes\) must be from 65536 bytes/);
});

test("wrong values are named, all of them, with what to give", async () => {
  const line = "plan --ids many --events-per-day 1,2 --retention 30 --skew ZIPF:x --consistency no";
  const ran = await runBraid(line.split(" "));
  equal(ran.code, 2);
  for (const problem of [
    /--ids many: not a number, such as 250, 1.5, 20k or 3M/,
    /--events-per-day 1,2: give one number, low,mid,high, or low,mid,high@confidence/,
    /--retention 30: not a duration, such as 90s, 6h or 30d/,
    /--skew x: not a number/,
    /--consistency: must be READ_YOUR_WRITES or EVENTUAL/,
  ]) {
    match(ran.err, problem);
  }
  // Those of the simulation, too: nothing comes up only after the others are mended.
  const late = "plan --ids many --events-per-day 0 --read-interval 0s --seed x --bytes-max much";
  const all = (await runBraid(`${late} --worlds 5000 --accept-limit 90d`.split(" "))).err;
  for (const problem of [
    /--ids many: not a number/,
    /eventsPerDayPerId \(0\) must be from/,
    /readInterval \(0\) must be from/,
    /--seed x: not a whole number/,
    /--bytes-max much: not a size/,
    /worlds \(5000\) must be/,
    /lower acceptLimit or raise retention/,
  ]) {
    match(all, problem);
  }
  doesNotMatch(all, /ids \(|Seconds/);
  const missing = await runBraid(["plan"]);
  match(missing.err, /ids is required; give at least its mid\n.*eventsPerDayPerId is required/);
  const nothingFits = "plan --ids 1 --events-per-day 1 --retention 60s --accept-limit 10m";
  match((await runBraid(nothingFits.split(" "))).err, /lower acceptLimit or raise retention/);
});

test("ns create takes a sample for its workload; ns get shows what was expected", async () => {
  const band = { low: 1, mid: 2_048, high: 4_096 };
  const plan = {
    timePartition: NAMESPACE.config.timePartition,
    p50Bytes: band,
    p99Bytes: { ...band, mid: 1_048_576 },
    partitionsPerRead: { ...band, mid: 1.14 },
  };
  const provisioned = { planTime: "2026-11-15T11:00:00Z", seed: 1, plan, why: [] };
  await withFiles({ "w.yaml": "retention: 30d", rates: "5\n5\n20\n" }, async (path) => {
    await using server = await fakeBraid(() => ({ ...NAMESPACE, provisioned, tunings: [] }));
    const { url } = server;
    const args = ["ns", "create", "plays", "--sample", path("rates")];
    const made = await runBraid([...args, "--workload", path("w.yaml")], { url });
    match(
      made.out,
      /^expected +partitions of p50 2 KiB, p99 1 MiB; 1.1 partitions a read; planned /m,
    );
    deepEqual(server.requests[0]?.body["workload"], {
      ids: { mid: 3 },
      eventsPerDayPerId: { mid: 10 },
      retention: "2592000s",
      skew: {
        percentiles: [1, 5, 10, 20, 30, 40, 50, 60, 100].map((percentile) => {
          return { percentile, eventsPerDay: percentile === 100 ? 20 : 5 };
        }),
      },
    });
    match((await runBraid(args, { url })).err, /--sample needs --workload/);
    plan.timePartition = { ...plan.timePartition, eventBuckets: 9 };
    const changed = await runBraid(["ns", "get", "plays"], { url });
    match(changed.out, /1.1 partitions a read, before the partitioning was changed; planned /m);
  });
});

test("ns create --workload sends the workload in the API's form", async () => {
  await withFiles({ "w.yaml": FILE, "bad.yaml": "colour: red" }, async (path) => {
    await using server = await fakeBraid(() => NAMESPACE);
    const { url } = server;
    const args = ["ns", "create", "plays", "--set", "futureLimit=30s", "--workload"];
    const ran = await runBraid([...args, path("w.yaml")], { url });
    equal(ran.code, 0, ran.err);
    deepEqual(server.requests[0]?.body, {
      namespace: "plays",
      config: { futureLimit: "30s" },
      workload: {
        ids: { low: 500_000, mid: 1_000_000, high: 3_000_000, confidence: 0.8 },
        eventsPerDayPerId: { low: 5, mid: 10, high: 20, confidence: 0.9 },
        skew: { distribution: "ZIPF", parameter: { mid: 0.8 } },
        eventBytes: { mid: 2_048 },
        readIntervalSeconds: { mid: 21_600 },
        retention: "2592000s",
        acceptLimit: "300s",
        slos: { read: { target: "0.1s" } },
        consistency: "EVENTUAL",
        zones: 2,
      },
    });
    const bad = await runBraid([...args, path("bad.yaml")], { url });
    equal(bad.code, 2);
    match(bad.err, /colour: not a field of a workload; there are ids, eventsPerDayPerId/);
  });
});
