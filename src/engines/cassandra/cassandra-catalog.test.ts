import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import cassandra from "cassandra-driver";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { CassandraCatalog } from "./cassandra-catalog.ts";
import type { CatalogSession } from "./cassandra-catalog.ts";
import { Speculation } from "./speculation.ts";

const { localQuorum, quorum, localSerial, serial } = cassandra.types.consistencies;

interface Asked {
  readonly kind: string;
  readonly consistency: number | undefined;
  readonly serialConsistency: number | undefined;
}

/**
 * A catalog with a record of version 7 in it, on a cluster that loses the answers to changes on
 * request.
 */
function catalogOn(datacenters: "one" | "several", answers: "come" | "are lost" = "come") {
  const asked: Asked[] = [];
  const execute: CatalogSession["execute"] = (kind, _query, _params, options) => {
    const { consistency, serialConsistency } = options ?? {};
    asked.push({ kind, consistency, serialConsistency });
    const lost = kind === "catalog_change" && answers === "are lost";
    if (lost) return Promise.reject(new cassandra.errors.OperationTimedOutError("no answer", "h"));
    const row = { key: "k", value: "v", version: 7, writer: "w", last: 7, "[applied]": true };
    return Promise.resolve({ rows: [row], more: false });
  };
  const session = {
    execute,
    speculation: new Speculation(),
    spansDatacenters: datacenters === "several",
  };
  const clock = new VirtualClock(0);
  const catalog = new CassandraCatalog({ session, keyspace: "k", clock, random: systemRandom });
  return { asked, catalog, clock };
}

test("CO2, C5: the catalog is read by a majority, and changed by a majority that all processes share", async () => {
  for (const [datacenters, majority, agreed] of [
    ["one", localQuorum, localSerial],
    // A majority of one data centre does not see what another has changed.
    ["several", quorum, serial],
  ] as const) {
    const { asked, catalog } = catalogOn(datacenters);
    equal((await catalog.read("s", "k"))?.version, 7);
    const reads = asked.splice(0);
    await catalog.list("s", "", 1);
    for (const { consistency } of [...reads, ...asked.splice(0)]) equal(consistency, majority);
    await catalog.write("s", "k", "new", 7);
    await catalog.remove("s", "k", 7);
    const change = { kind: "catalog_change", consistency: majority, serialConsistency: agreed };
    deepEqual(asked, [change, change]);
  }
});

test("CO1, C5: a change whose answer was lost is looked up by a read that first completes transactions under way", async () => {
  for (const [datacenters, agreed] of [
    ["one", localSerial],
    ["several", serial],
  ] as const) {
    const { asked, catalog, clock } = catalogOn(datacenters, "are lost");
    const writing = rejects(catalog.write("s", "k", "new", 6), { code: "OUTCOME_UNKNOWN" });
    await clock.advance(1_000);
    await writing;
    deepEqual(
      asked.filter(({ kind }) => kind === "catalog_read").map(({ consistency }) => consistency),
      [agreed],
    );
  }
});
