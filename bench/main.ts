/**
 * `npm run bench -- NAME [--json] [flags of the bench]`: ratios measured side by side in one run.
 */
import { ADVISE_FLAGS, benchAdvise } from "./advise.ts";
import { benchCassandra } from "./cassandra.ts";
import { benchConsole } from "./console.ts";
import { benchDense, DENSE_FLAGS } from "./dense.ts";
import { benchEmbedded } from "./embedded.ts";
import { benchFleet, FLEET_FLAGS } from "./fleet.ts";
import { benchFleetPolicy, FLEET_POLICY_FLAGS } from "./fleet-policy.ts";
import { benchOverload, OVERLOAD_FLAGS } from "./overload.ts";
import { benchManyNamespaces } from "./many-namespaces.ts";
import { benchPeers, PEERS_FLAGS } from "./peers.ts";
import { benchSplit, SPLIT_FLAGS } from "./split.ts";
import { benchThreads } from "./threads.ts";
import { benchWalk, WALK_FLAGS } from "./walk.ts";
import type { Report } from "./support/report.ts";

interface Bench {
  /** Its flags besides --json. */
  readonly flags: string;
  run(flags: readonly string[]): Promise<Report>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  embedded: { flags: "", run: benchEmbedded },
  cassandra: { flags: "", run: benchCassandra },
  console: { flags: "", run: benchConsole },
  dense: { flags: DENSE_FLAGS, run: benchDense },
  overload: { flags: OVERLOAD_FLAGS, run: benchOverload },
  fleet: { flags: FLEET_FLAGS, run: benchFleet },
  "fleet-policy": { flags: FLEET_POLICY_FLAGS, run: benchFleetPolicy },
  "many-namespaces": { flags: "", run: benchManyNamespaces },
  threads: { flags: "", run: benchThreads },
  peers: { flags: PEERS_FLAGS, run: benchPeers },
  split: { flags: SPLIT_FLAGS, run: benchSplit },
  walk: { flags: WALK_FLAGS, run: benchWalk },
  advise: { flags: ADVISE_FLAGS, run: benchAdvise },
};

const [name = "", ...flags] = process.argv.slice(2);
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
if (bench === undefined) {
  const names = Object.entries(BENCHES).map(([each, { flags: takes }]) => `  ${each} ${takes}`);
  process.stderr.write(
    `usage: npm run bench -- NAME [--json]\nNAME is one of:\n${names.join("\n")}\n`,
  );
  process.exitCode = 2;
} else {
  const report = await bench.run(flags.filter((flag) => flag !== "--json"));
  const json = JSON.stringify(report.toJson(), undefined, 2);
  process.stdout.write(flags.includes("--json") ? `${json}\n` : `${report.toTable()}\n\n${json}\n`);
}
