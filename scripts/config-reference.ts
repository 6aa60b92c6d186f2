/**
 * Writes docs/operate/configuration.md from the schema of the configuration.
 *
 * `--check` writes nothing and fails if the page is not what the schema says.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { describedSettings } from "../src/server/config-schema.ts";
import type { DescribedSetting } from "../src/server/config-schema.ts";

const PATH = join(import.meta.dirname, "..", "docs", "operate", "configuration.md");

const INTRODUCTION = `<!-- Written by scripts/config-reference.ts from src/server/config-schema.ts. Do not edit. -->

# Configuration

\`braid serve\` and \`braid worker\` read their settings once, at the start: from flags, then environment variables, then
\`braid.yaml\` in the working directory (or the file that \`--config\` or \`BRAID_CONFIG\` names), then defaults. The first
source that has a setting wins. Braid reports all problems of a configuration at once, with the line of the file. An
unknown setting in the file is an error; an unknown variable is a warning. \`braid config\` prints every setting with its value and
origin, and \`braid config --help\` names the flags.

- A group is a group in the file (\`splits: { concurrency: 4 }\`) and a prefix in the environment
  (\`BRAID_SPLITS_CONCURRENCY=4\`).
- Sizes have units: \`512\`, \`64KiB\`, \`10MiB\`, \`1GiB\`. Durations too: \`500ms\`, \`10s\`, \`5m\`, \`1h\`, \`7d\`.
- \`view_max_age\`, \`clock_skew\`, \`write_max\`, \`pause_max\`, \`cassandra.keyspace\`, \`cassandra.replication\`, \`kafka.brokers\`, \`kafka.prefix\`
  and \`kafka.replication\` must be equal in all processes of an installation. See
  [several processes](scale-out.md#settings-that-must-be-equal).
- Settings of a namespace (partitioning, retention, accept limit, limits of wide partitions) are not here: \`braid ns create\`
  and \`braid ns update\` set them, and \`/docs\` of every server describes them.

An example:

\`\`\`yaml
data: /var/lib/braid
limits:
  event_bytes: 256KiB # the limits of the API can be lowered, not raised
server:
  write_memory: 64MiB
block_ids:
  plays:
    - bot:7
    - { id: bot:8, reason: spam, expires: 2027-01-01T00:00:00Z }
\`\`\`
`;

const GROUPS: Readonly<Record<string, string>> = {
  "": "General",
  cassandra: "Cassandra: `cassandra`",
  kafka: "Kafka: `kafka`",
  limits: "Limits of requests: `limits`",
  server: "Memory and load: `server`",
  splits: "Splits: `splits`",
  walk: "Walks over slices, which measure partitions: `walk`",
};

function section([group, title]: [string, string], settings: readonly DescribedSetting[]): string {
  const rows = settings
    .filter(({ path }) => (path.includes(".") ? path.split(".")[0] : "") === group)
    .map(({ path, values, fallback, description }) => {
      const shown = fallback === "" ? "none" : `\`${fallback}\``;
      return `| \`${path}\` | ${variableOf(path)} | ${shown} | ${values} | ${description} |`;
    });
  return [
    `## ${title}\n`,
    "| setting | variable | default | values | meaning |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function variableOf(path: string): string {
  return path === "block_ids" ? "none" : `\`BRAID_${path.replaceAll(".", "_").toUpperCase()}\``;
}

const settings = describedSettings();
const bare = settings.filter(({ description, values }) => description === "" || values === "");
if (bare.length > 0) {
  throw new Error(`without description or values: ${bare.map(({ path }) => path).join(", ")}`);
}
const sections = Object.entries(GROUPS).map((group) => section(group, settings));
const text = await format([INTRODUCTION, ...sections].join("\n"), {
  parser: "markdown",
  printWidth: 100,
});

if (!process.argv.includes("--check")) {
  writeFileSync(PATH, text);
} else if (readFileSync(PATH, "utf8") !== text) {
  console.error("docs/operate/configuration.md is not what the schema says; run: npm run generate");
  process.exitCode = 1;
}
