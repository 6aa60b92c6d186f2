/** `npm run bench -- NAME [--json]`: ratios measured side by side in one run. */
import { benchCassandra } from "./cassandra.ts";
import { benchEmbedded } from "./embedded.ts";
import type { Report } from "./support/report.ts";

const BENCHES: Readonly<Record<string, () => Promise<Report>>> = {
  embedded: benchEmbedded,
  cassandra: benchCassandra,
};

const [name = "", ...flags] = process.argv.slice(2);
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
if (bench === undefined) {
  process.stderr.write(
    `usage: npm run bench -- NAME [--json]\nNAME is one of: ${Object.keys(BENCHES).join(", ")}\n`,
  );
  process.exitCode = 2;
} else {
  const report = await bench();
  const json = JSON.stringify(report.toJson(), undefined, 2);
  process.stdout.write(flags.includes("--json") ? `${json}\n` : `${report.toTable()}\n\n${json}\n`);
}
