/**
 * Prometheus itself: a process of Debian's package on a folder of its own, that scrapes and
 * evaluates several times a second, and `promtool`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stringify } from "yaml";
import { freePort } from "../support/fake-braid.ts";
import { until } from "../support/conditions.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface FiringAlert {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Prometheus {
  /** The answer to an instant query, now; rejects with Prometheus's own words if it is wrong. */
  query(expr: string): Promise<readonly Sample[]>;
  /** By metric: its type, as the targets declare it. Metrics without series are included. */
  types(): Promise<ReadonlyMap<string, string>>;
  firing(): Promise<readonly FiringAlert[]>;
  /** Resolves when every target was scraped later than now. */
  scrapedAgain(): Promise<void>;
  /** Resolves when all rules were evaluated on values that were scraped later than now. */
  evaluatedAgain(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PrometheusOptions {
  /** `host:port` of each process, by job. */
  readonly targets: Readonly<Record<string, readonly string[]>>;
  /** The text of a file of rules. */
  readonly rules?: string;
}

/** Often, so that tests need not wait; a scrape may take as long as there is between two. */
const SCRAPE_EVERY = "1s";
const EVALUATE_EVERY = "200ms";

/** Resolves when it has scraped every target at least once, whether up or down. */
export async function startPrometheus({ targets, rules }: PrometheusOptions): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), "braid-prometheus-"));
  const config = {
    global: {
      scrape_interval: SCRAPE_EVERY,
      scrape_timeout: SCRAPE_EVERY,
      evaluation_interval: EVALUATE_EVERY,
    },
    rule_files: rules === undefined ? [] : ["rules.yaml"],
    scrape_configs: Object.entries(targets).map(([job, addresses]) => ({
      job_name: job,
      static_configs: [{ targets: addresses }],
    })),
  };
  await writeFile(join(folder, "prometheus.yml"), stringify(config));
  if (rules !== undefined) await writeFile(join(folder, "rules.yaml"), rules);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
      "--log.level=error",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://${address}/api/v1/${path}`);
    const answer = (await response.json()) as { status: string; data: unknown; error?: string };
    if (answer.status !== "success") throw new Error(`${path}: ${answer.error ?? "no reason"}`);
    return answer.data;
  };
  const prometheus: Prometheus = {
    async query(expr) {
      const data = await ask(`query?query=${encodeURIComponent(expr)}`);
      const { resultType, result } = data as {
        resultType: string;
        result: readonly { metric: Record<string, string>; value: [number, string] }[];
      };
      if (resultType !== "vector") return [];
      return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
    },
    async types() {
      const data = await ask("targets/metadata");
      const entries = data as readonly { metric: string; type: string }[];
      return new Map(entries.map(({ metric, type }) => [metric, type]));
    },
    async firing() {
      const { alerts } = (await ask("alerts")) as {
        alerts: readonly {
          state: string;
          labels: Record<string, string>;
          annotations: Record<string, string>;
        }[];
      };
      return alerts
        .filter(({ state }) => state === "firing")
        .map(({ labels, annotations }) => ({
          name: labels["alertname"] ?? "",
          labels,
          annotations,
        }));
    },
    async scrapedAgain() {
      const startedMs = Date.now();
      await until(async () => {
        const [oldest] = await prometheus.query("min(timestamp(up)) * 1000");
        return (oldest?.value ?? 0) > startedMs;
      });
    },
    async evaluatedAgain() {
      await prometheus.scrapedAgain();
      const lastEvaluations = async (): Promise<readonly number[]> => {
        const { groups } = (await ask("rules")) as {
          groups: readonly { lastEvaluation: string }[];
        };
        return groups.map(({ lastEvaluation }) => Date.parse(lastEvaluation));
      };
      const scrapedMs = Date.now();
      await until(async () => (await lastEvaluations()).every((ms) => ms > scrapedMs));
    },
    [Symbol.asyncDispose]: stop,
  };
  try {
    const count = Object.values(targets).flat().length;
    await until(async () => {
      if (child.exitCode !== null) throw new Error("Prometheus ended");
      const scraped = await prometheus.query("up").catch(() => []);
      return scraped.length === count;
    });
    return prometheus;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs promtool to its end. */
export async function promtool(
  args: readonly string[],
  input = "",
): Promise<{ readonly code: number | null; readonly words: string }> {
  const child = spawn("promtool", args, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => undefined); // It may end without reading.
  child.stdin.end(input);
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  await once(child, "close");
  return { code: child.exitCode, words: (await said).join("") };
}
