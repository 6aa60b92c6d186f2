import { equal, ok, rejects } from "node:assert/strict";
import { mkdtemp, open, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LevelDamage } from "./level-damage.ts";
import { LEVEL_OPTIONS } from "./level-options.ts";
import { newLevel } from "./level.ts";
import { VerifiedTables } from "./verified-tables.ts";
import { verifyLevel } from "./verify-level.ts";

async function withTable(work: (directory: string, table: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "braid-verify-"));
  try {
    const level = newLevel(directory, LEVEL_OPTIONS);
    await level.open({ createIfMissing: true });
    for (let n = 0; n < 200; n++) {
      await level.put(Buffer.from(`k${n}`), Buffer.from("some value ".repeat(50)));
    }
    await level.compactRange(Buffer.from("a"), Buffer.from("z"));
    await level.close();
    const table = (await readdir(directory)).find((name) => name.endsWith(".ldb"));
    ok(table !== undefined);
    await work(directory, join(directory, table));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Flips a bit of a table, and gives the file the times it had if it is asked to. */
async function flipIn(table: string, times: "keeps its times" | "has new times"): Promise<void> {
  const { atime, mtime } = await stat(table);
  const file = await open(table, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, 100);
  byte.writeUInt8(byte.readUInt8(0) ^ 1, 0);
  await file.write(byte, 0, 1, 100);
  await file.close();
  if (times === "keeps its times") await utimes(table, atime, mtime);
}

test("C22: a table is read once; one that is another file, or was changed, is read again", async () => {
  await withTable(async (directory, table) => {
    const tables = new VerifiedTables();
    const known = { tables, nowMs: 1 };
    await verifyLevel(directory, undefined, known);
    equal(tables.verifiedBefore(1).length, 1);
    // A table that was only looked at keeps the moment of its verification.
    await verifyLevel(directory, undefined, { tables, nowMs: 2 });
    equal(tables.verifiedBefore(1).length, 1);
    await flipIn(table, "keeps its times");
    await rejects(verifyLevel(directory, undefined, { tables, nowMs: 3 }), LevelDamage);
  });
});

test("C22: damage is found when nothing is known of the table", async () => {
  await withTable(async (directory, table) => {
    await flipIn(table, "has new times");
    await rejects(verifyLevel(directory, undefined), LevelDamage);
    await rejects(
      verifyLevel(directory, undefined, { tables: new VerifiedTables(), nowMs: 1 }),
      LevelDamage,
    );
  });
});
