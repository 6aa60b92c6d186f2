import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ServiceError } from "../lib/errors.ts";
import { isLoopback, loadConfig } from "./config.ts";
import { describedSettings } from "./config-schema.ts";
import type { ConfigSources, LoadedConfig } from "./config.ts";
import { thresholdsOf } from "./splitting.ts";
import { DEFAULT_ADVANCE } from "../splits/promote/advance.ts";

let cwd: string;

before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "braid-config-"));
});

after(async () => {
  await rm(cwd, { recursive: true });
});

async function load(
  file: string | undefined,
  rest: Partial<Pick<ConfigSources, "flags" | "env">> = {},
): Promise<LoadedConfig> {
  const name = "test.yaml";
  if (file !== undefined) await writeFile(join(cwd, name), file);
  const env = rest.env ?? {};
  return loadConfig({
    flags: rest.flags ?? {},
    env,
    cwd,
    file: file === undefined ? undefined : name,
  });
}

async function problemsOf(
  file: string | undefined,
  rest: Partial<Pick<ConfigSources, "flags" | "env">> = {},
): Promise<readonly string[]> {
  try {
    await load(file, rest);
  } catch (error) {
    ok(error instanceof ServiceError && error.code === "CONFIG_INVALID", String(error));
    return error.details["problems"] as readonly string[];
  }
  return [];
}

test("without settings the contract's defaults apply", async () => {
  const { config, settings } = await load(undefined);
  deepEqual(config.listen, { host: "127.0.0.1", port: 8420 });
  equal(config.data, join(cwd, "braid-data"));
  deepEqual([config.view_max_age, config.clock_skew, config.write_max], [10_000, 1_000, 10_000]);
  equal(config.limits.request_bytes, 16 * 1024 * 1024);
  ok(settings.every(({ origin }) => origin === "default"));
  deepEqual(settings[0], { path: "listen", value: "127.0.0.1:8420", origin: "default" });
});

test("G3: flags win over the environment, the environment over the file, and each value has its origin", async () => {
  const { config, settings } = await load(
    "listen: 127.0.0.1:1\ndata: a\nlimits:\n  items: 10\n  event_bytes: 64KiB\n",
    {
      env: { BRAID_LISTEN: "127.0.0.1:2", BRAID_LIMITS_ITEMS: "20" },
      flags: { listen: "localhost:3" },
    },
  );
  deepEqual(config.listen, { host: "localhost", port: 3 });
  equal(config.limits.items, 20);
  equal(config.limits.event_bytes, 65_536);
  const origins = new Map(settings.map(({ path, origin }) => [path, origin]));
  deepEqual(
    ["listen", "data", "limits.items", "limits.event_bytes", "limits.page_bytes"].map((path) =>
      origins.get(path),
    ),
    ["--listen", "test.yaml", "BRAID_LIMITS_ITEMS", "test.yaml", "default"],
  );
});

test("G1, G2: one error names every problem with its position and the nearest known name", async () => {
  const problems = await problemsOf(
    "listen: nowhere\nlimts:\n  items: 3\nlimits:\n  item: 1\n  event_bytes: 2MiB\nview_max_age: 10\nlog_level: loud\ncassandra: { contact_points: [a b] }\n",
    { env: { BRAID_ENGINE: "mysql", BRAID_CASSANDRA_REPLICATION: "many" } },
  );
  const all = problems.join("\n");
  for (const part of [
    /test\.yaml:1: listen: "nowhere" is not HOST:PORT/,
    /test\.yaml:\d+: limts: .*did you mean limits\?/,
    /limits\.item: .*did you mean items\?/,
    /limits\.event_bytes: 2MiB is outside 1KiB to 1MiB/,
    /view_max_age: "10" is not a duration such as 10s/,
    /log_level: "loud" is not one of/,
    /cassandra\.contact_points: "a b" is not an address such as/,
    /BRAID_ENGINE: "mysql" is not one of embedded, cassandra/,
    /BRAID_CASSANDRA_REPLICATION: "many" is neither a number of replicas/,
  ]) {
    match(all, part);
  }
});

test("G7: the file and the environment can both configure Cassandra and Kafka", async () => {
  const inFile = await load(
    "cassandra:\n  contact_points: [a, 'b:9043']\n  datacenter: east\n  replication: { east: 3, west: 2 }\nkafka:\n  brokers: k:9092\n",
  );
  const inEnv = await load(undefined, {
    env: {
      BRAID_CASSANDRA_CONTACT_POINTS: "a, b:9043",
      BRAID_CASSANDRA_DATACENTER: "east",
      BRAID_CASSANDRA_REPLICATION: "east:3,west:2",
      BRAID_KAFKA_BROKERS: "k:9092",
      BRAID_CASSANDRA_PASSWORD: "swordfish",
    },
  });
  for (const { config } of [inFile, inEnv]) {
    deepEqual(config.cassandra.contact_points, ["a", "b:9043"]);
    deepEqual(config.cassandra.replication, { east: 3, west: 2 });
    deepEqual(config.kafka.brokers, ["k:9092"]);
  }
  ok(inFile.settings.some(({ value }) => value === "east:3,west:2"));
  ok(!JSON.stringify(inEnv.settings).includes("swordfish"));
  match(
    (await problemsOf("cassandra: { replication: { west: 3 } }")).join(),
    /no replicas in datacenter1/,
  );
});

test("Kafka is refused with an engine that workers cannot share", async () => {
  const flags = { queue: "kafka" };
  match((await problemsOf(undefined, { flags })).join(), /^--queue: kafka needs engine cassandra/);
  match((await problemsOf("queue: kafka\n")).join(), /^test\.yaml:1: queue: kafka needs engine/);
  deepEqual(await problemsOf("queue: kafka\nengine: cassandra\n"), []);
});

test("the number of replicas of Kafka's topics can be set, and 0 lets Braid choose", async () => {
  equal((await load(undefined)).config.kafka.replication, 0);
  const env = { BRAID_KAFKA_REPLICATION: "3" };
  equal((await load(undefined, { env })).config.kafka.replication, 3);
  match((await problemsOf("kafka: { replication: many }")).join(), /kafka\.replication: "many"/);
});

test("G6: limits can only be lowered", async () => {
  match(
    (await problemsOf("limits: { page_events: 10001 }")).join(),
    /whole number from 1 to 10000/,
  );
  equal((await load("limits: { page_events: 5 }")).config.limits.page_events, 5);
});

test("Z20: an address that other machines can reach needs an explicit setting", async () => {
  for (const listen of ["0.0.0.0:8420", "[::]:8420", "192.168.1.2:80", "db.example:80"]) {
    match(
      (await problemsOf(undefined, { flags: { listen } })).join(),
      /neither TLS nor authentication/,
    );
  }
  const { config } = await load(undefined, {
    flags: { listen: "0.0.0.0:80", insecure_listen: true },
  });
  equal(config.insecure_listen, true);
  ok(isLoopback("127.0.0.53") && isLoopback("::1") && isLoopback("localhost"));
  ok(!isLoopback("127.example.com"));
});

test("the file can block ids, as plain text or with a reason and an expiry time", async () => {
  const { config } = await load(
    "block_ids:\n  plays:\n    - spam\n    - { id: test, reason: a test, expires: 2027-01-01T00:00:00Z }\n",
  );
  deepEqual(config.block_ids, {
    plays: [
      { id: "spam", reason: "", expires: undefined },
      { id: "test", reason: "a test", expires: 1_798_761_600_000_000 },
    ],
  });
  const problems = await problemsOf(
    "block_ids:\n  Plays: [a]\n  plays: [{ id: a, until: never }, 5, { id: a, expires: soon }]\n",
  );
  match(problems.join("\n"), /Plays/);
  match(problems.join("\n"), /block_ids\.plays\.0/);
  match(problems.join("\n"), /block_ids\.plays\.1/);
  match(problems.join("\n"), /"soon" is not a time/);
});

test("G1: a missing or malformed file is reported", async () => {
  const sources = { flags: {}, env: {}, cwd };
  await rejects(
    loadConfig({ ...sources, file: "gone.yaml" }),
    /gone\.yaml: the file does not exist/,
  );
  match((await problemsOf("a: [")).join(), /test\.yaml:\d+/);
  match((await problemsOf("- a\n")).join(), /must hold settings/);
});

test("G2: an unknown BRAID_ variable is a warning, not an error", async () => {
  const { warnings } = await load(undefined, {
    env: { BRAID_LISTN: "x", BRAID_URL: "y", PATH: "z" },
  });
  deepEqual(warnings, [
    "the environment variable BRAID_LISTN is not a setting of this build; did you mean BRAID_LISTEN?",
  ]);
});

test("every setting is described, with its values and its default", async () => {
  const { settings } = await load(undefined, {});
  const described = describedSettings();
  deepEqual(
    described.map(({ path }) => path).toSorted(),
    settings.map(({ path }) => path).toSorted(),
  );
  for (const { path, description, values } of described) {
    ok(description !== "" && values !== "", path);
  }
  equal(described.find(({ path }) => path === "limits.items")?.values, "1 to 256");
  equal(described.find(({ path }) => path === "splits.sweep_every")?.fallback, "2s");
});

test("read modes advance by the same thresholds with and without a configuration", async () => {
  const { config } = await load(undefined, {});
  deepEqual(thresholdsOf(config), DEFAULT_ADVANCE);
});
