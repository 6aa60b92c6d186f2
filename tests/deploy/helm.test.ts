/**
 * The Helm chart: its manifests as Helm renders them (kept in tests/deploy/chart, see
 * scripts/render-chart.ts), and the values that it accepts.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import {
  RENDERED,
  fingerprintLine,
  renderChart,
  renderedFile,
} from "../../scripts/render-chart.ts";
import { loadConfig } from "../../src/server/config.ts";

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: unknown;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly livenessProbe: { readonly httpGet: unknown };
  readonly readinessProbe: { readonly httpGet: unknown };
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: object };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly automountServiceAccountToken: boolean;
        readonly securityContext: { readonly runAsNonRoot: boolean; readonly runAsUser: number };
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

const [embedded, cassandra] = RENDERED.map((name) =>
  parseAllDocuments(readFileSync(renderedFile(name), "utf8"))
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null),
) as [Manifest[], Manifest[]];
const hasHelm = spawnSync("helm", ["version"]).status === 0;

for (const name of RENDERED) {
  test(`the manifests of ${name} are of this chart; render them again: node scripts/render-chart.ts`, () => {
    const kept = readFileSync(renderedFile(name), "utf8");
    equal(kept.split("\n")[0], fingerprintLine(name));
    // Where helm is found, it also lints the chart and renders the same.
    if (hasHelm) equal(kept, renderChart(name));
  });
}

test("embedded is one server with a volume of its own; Cassandra has servers and workers without", () => {
  deepEqual(workloads(embedded), ["StatefulSet braid 1"]);
  deepEqual(workloads(cassandra), ["Deployment braid-server 2", "Deployment braid-worker 1"]);
  const [only] = pods(embedded);
  deepEqual(
    only?.spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name),
    ["data"],
  );
});

test("Braid accepts the settings that the chart gives to each process", async () => {
  for (const manifests of [embedded, cassandra]) {
    for (const pod of pods(manifests)) {
      const env = variables(pod);
      deepEqual(env["BRAID_CONFIG"], "/etc/braid/braid.yaml");
      const loaded = await loadConfig({
        flags: {},
        file: undefined,
        env: { ...env, BRAID_CONFIG: undefined },
        cwd: "/",
      });
      deepEqual(loaded.warnings, []);
      equal(loaded.config.engine, manifests === embedded ? "embedded" : "cassandra");
      ok(loaded.config.allowed_hosts.includes("braid.store.svc.cluster.local"));
    }
  }
});

test("what a chart has under config is the file that Braid reads", () => {
  const map = cassandra.find(({ kind }) => kind === "ConfigMap");
  deepEqual(parse(map?.data?.["braid.yaml"] ?? ""), { splits: { concurrency: 4 } });
});

test("every process runs without rights, on a root it cannot change, and is probed", () => {
  for (const pod of [...pods(embedded), ...pods(cassandra)]) {
    const { spec } = pod.spec.template;
    equal(spec.automountServiceAccountToken, false);
    equal(spec.securityContext.runAsNonRoot, true);
    equal(spec.securityContext.runAsUser, 65532);
    const [container] = spec.containers;
    ok(container !== undefined);
    deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    deepEqual(container.livenessProbe.httpGet, { path: "/healthz", port: "http" });
    deepEqual(container.readinessProbe.httpGet, { path: "/readyz", port: "http" });
    equal(container.image, `braid:${version()}`);
    const claimed = pod.spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name) ?? [];
    const volumes = [...spec.volumes.map(({ name }) => name), ...claimed];
    for (const { name } of container.volumeMounts) ok(volumes.includes(name), name);
  }
});

test("a pod is killed later than Braid needs to drain", async () => {
  const { config } = await loadConfig({ flags: {}, file: undefined, env: {}, cwd: "/" });
  for (const { spec } of [...pods(embedded), ...pods(cassandra)]) {
    const { terminationGracePeriodSeconds, containers } = spec.template.spec;
    const pause = containers[0]?.lifecycle.preStop.sleep.seconds ?? 0;
    ok((terminationGracePeriodSeconds - pause) * 1_000 >= config.server.drain_grace + 10_000);
  }
});

test("each process has a disruption budget that matches its pods", () => {
  for (const manifests of [embedded, cassandra]) {
    const budgets = manifests.filter(({ kind }) => kind === "PodDisruptionBudget");
    const selected = budgets.map(({ spec }) => JSON.stringify(spec.selector?.matchLabels));
    const wanted = pods(manifests).map(({ spec }) => JSON.stringify(spec.selector?.matchLabels));
    deepEqual(selected.toSorted(), wanted.toSorted());
  }
});

test("a worker has the launcher's memory settings, a server has not", () => {
  for (const pod of pods(cassandra)) {
    const [command] = pod.spec.template.spec.containers[0]?.args ?? [];
    const env = variables(pod);
    equal(env["MALLOC_ARENA_MAX"], command === "worker" ? "2" : undefined);
    equal(env["MALLOC_TRIM_THRESHOLD_"], command === "worker" ? "131072" : undefined);
  }
});

test("the schema knows every value of the chart, and the versions agree", () => {
  const values = parse(readFileSync("deploy/helm/braid/values.yaml", "utf8")) as object;
  const schema = JSON.parse(readFileSync("deploy/helm/braid/values.schema.json", "utf8")) as {
    properties: object;
  };
  deepEqual(
    Object.keys(values).toSorted(),
    Object.keys(schema.properties)
      .filter((key) => key !== "global")
      .toSorted(),
  );
  const chart = parse(readFileSync("deploy/helm/braid/Chart.yaml", "utf8")) as {
    version: string;
    appVersion: string;
  };
  deepEqual([chart.version, chart.appVersion], [version(), version()]);
});

function pods(manifests: readonly Manifest[]): Manifest[] {
  return manifests.filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
}

function workloads(manifests: readonly Manifest[]): string[] {
  return pods(manifests).map(
    ({ kind, metadata, spec }) => `${kind} ${metadata.name} ${spec.replicas}`,
  );
}

/** Those with a value of their own, not from a secret. */
function variables({ spec }: Manifest): Record<string, string | undefined> {
  const env = spec.template.spec.containers[0]?.env ?? [];
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

function version(): string {
  return (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version;
}
