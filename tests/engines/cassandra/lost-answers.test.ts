/**
 * A change of the catalog whose answer is lost is looked up, on a real Cassandra: a change that
 * took effect is reported as done, one that did not is repeated, and an undecidable one is
 * OUTCOME_UNKNOWN, never a guess. @needs cassandra
 */
import { equal, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import cassandra from "cassandra-driver";
import { CassandraCatalog } from "../../../src/engines/cassandra/cassandra-catalog.ts";
import type { CatalogSession } from "../../../src/engines/cassandra/cassandra-catalog.ts";
import { createCatalogTable, createKeyspace } from "../../../src/engines/cassandra/schema.ts";
import { Session } from "../../../src/engines/cassandra/session.ts";
import type { Result, StatementKind } from "../../../src/engines/cassandra/session.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { testCassandra, uniqueName } from "../../support/services.ts";

const keyspace = uniqueName("lost");
let session: Session;
let sound: CassandraCatalog;

before(async () => {
  const replication = { datacenter1: 1 };
  session = await Session.connect({ ...testCassandra(), replication }, systemClock, {
    observe: () => undefined,
    warn: () => undefined,
  });
  await session.changeSchema(createKeyspace(keyspace, replication));
  await session.changeSchema(createCatalogTable(keyspace));
  sound = catalogOn(session);
});

after(() => session.close());

function catalogOn(on: CatalogSession): CassandraCatalog {
  return new CassandraCatalog({ session: on, keyspace, clock: systemClock, random: systemRandom });
}

type Fate = "answered" | "done and lost" | "not done and lost";

/**
 * Loses the answers to the first changes, each in its way; `between` runs before the error comes.
 */
function losing(fates: Fate[], between: () => Promise<unknown> = () => Promise.resolve()) {
  const lost = (): Error => new cassandra.errors.OperationTimedOutError("no answer", "host");
  return catalogOn({
    speculation: session.speculation,
    spansDatacenters: false,
    execute: async (kind: StatementKind, query, params, options): Promise<Result> => {
      const fate = kind === "catalog_change" ? (fates.shift() ?? "answered") : "answered";
      if (fate === "answered") return session.execute(kind, query, params, options);
      if (fate === "done and lost") await session.execute(kind, query, params, options);
      await between();
      throw lost();
    },
  });
}

/** The first change of a space always misses: no process knows the last version of its shard. */
async function warm(catalog: CassandraCatalog, space: string, key: string): Promise<number> {
  const version = await catalog.write(space, key, "first", 0);
  ok(version !== undefined);
  return version;
}

test("CO1: a change that took effect is reported as done, although its answer was lost", async () => {
  const made = await losing(["done and lost"]).write("a", "key", "one", 0);
  equal((await sound.read("a", "key"))?.version, made);
  const catalog = losing(["answered", "done and lost"]);
  const version = await warm(catalog, "a2", "key");
  const changed = await catalog.write("a2", "key", "two", version);
  const found = await sound.read("a2", "key");
  equal(found?.value, "two");
  equal(found?.version, changed);
});

test("a change that did not take effect is repeated", async () => {
  const version = await losing(["not done and lost", "not done and lost"]).write(
    "b",
    "k",
    "one",
    0,
  );
  equal((await sound.read("b", "k"))?.version, version);
  const removing = losing(["not done and lost"]);
  ok(version !== undefined);
  equal(await removing.remove("b", "k", version), true);
  equal(await sound.read("b", "k"), undefined);
});

test("a first attempt that takes effect late is found, and not taken for another process's", async () => {
  const late: (() => Promise<unknown>)[] = [];
  const version = await warm(sound, "c", "key");
  let tries = 0;
  const catalog = catalogOn({
    speculation: session.speculation,
    spansDatacenters: false,
    execute: async (kind, query, params, options) => {
      if (kind !== "catalog_change") return session.execute(kind, query, params, options);
      tries++;
      if (tries === 2) {
        // The guess is right by now; its answer is lost, and it takes effect only when the next one
        // comes.
        late.push(() => session.execute(kind, query, params, options));
        throw new cassandra.errors.OperationTimedOutError("no answer", "host");
      }
      for (const run of late.splice(0)) await run();
      return session.execute(kind, query, params, options);
    },
  });
  const written = await catalog.write("c", "key", "late", version);
  const found = await sound.read("c", "key");
  equal(found?.value, "late");
  equal(found?.version, written);
});

test("CO1: a change that another process overwrote is OUTCOME_UNKNOWN", async () => {
  const version = await warm(sound, "d", "key");
  const overwritten = losing(["answered", "done and lost"], async () => {
    const found = await sound.read("d", "key");
    await sound.write("d", "key", "theirs", found?.version ?? 0);
  });
  await rejects(overwritten.write("d", "key", "ours", version), { code: "OUTCOME_UNKNOWN" });
  equal((await sound.read("d", "key"))?.value, "theirs");

  const removed = losing(["done and lost"], async () => {
    const found = await sound.read("e", "key");
    ok(found !== undefined);
    ok(await sound.remove("e", "key", found.version));
  });
  await rejects(removed.write("e", "key", "ours", 0), { code: "OUTCOME_UNKNOWN" });
  equal(await sound.read("e", "key"), undefined);
});

test("if the lookup fails too, the outcome is unknown", async () => {
  const away = catalogOn({
    speculation: session.speculation,
    spansDatacenters: false,
    execute: () => Promise.reject(new cassandra.errors.OperationTimedOutError("away", "host")),
  });
  await rejects(away.write("f", "key", "x", 0), { code: "OUTCOME_UNKNOWN" });
  await rejects(away.remove("f", "key", 1), { code: "OUTCOME_UNKNOWN" });
  await rejects(away.read("f", "key"), { code: "STORAGE_UNAVAILABLE" });
});
