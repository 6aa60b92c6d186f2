import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ClassicLevel } from "classic-level";
import { LevelDamage } from "./level-damage.ts";
import { readLog } from "./level-log.ts";

/** A log as LevelDB writes it: records of every kind, over several blocks of 32 KiB. */
async function makeLog(): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), "braid-log-"));
  try {
    const level = new ClassicLevel(directory);
    for (const size of [10, 40_000, 100, 70_000, 5]) await level.put(`k${size}`, "v".repeat(size));
    await level.close();
    const name = (await readdir(directory)).find((file) => file.endsWith(".log"));
    assert.ok(name !== undefined);
    return await readFile(join(directory, name));
  } finally {
    await rm(directory, { recursive: true });
  }
}

function recordsOf(log: Buffer): { records: number; torn: boolean } {
  const { records, torn } = contentOf(log);
  return { records: records.length, torn };
}

function contentOf(log: Buffer): { records: Buffer[]; torn: boolean } {
  const records: Buffer[] = [];
  const torn = readLog(log, "log", (record) => records.push(Buffer.from(record)));
  return { records, torn };
}

test("a log that LevelDB wrote is read whole", async () => {
  assert.deepEqual(recordsOf(await makeLog()), { records: 5, torn: false });
});

test("W17: a torn log tail, wherever it is torn, costs the last record only", async () => {
  const log = await makeLog();
  let before = 0;
  for (let length = 0; length <= log.length; length += length % 32_768 < 40 ? 1 : 97) {
    const { records, torn } = recordsOf(log.subarray(0, length));
    assert.ok(records === before || records === before + 1, `cut to ${length}`);
    assert.ok(torn || length === 0 || records > 0);
    before = records;
  }
});

test("W18: a flipped bit with a whole record behind it is damage, not a torn tail", async () => {
  const log = await makeLog();
  const written = Buffer.concat(contentOf(log).records);
  // The last record is small and in the last block; everything two records before it is covered.
  for (let at = 0; at < 100_000; at += 61) {
    const flipped = Buffer.from(log);
    flipped[at] = (flipped[at] as number) ^ 4;
    try {
      const { records, torn } = contentOf(flipped);
      const whole = records.length === 5;
      // Padding at the end of a block holds nothing; else the rest of the log must be given up.
      assert.ok(whole ? !torn : torn, `byte ${at}`);
      assert.ok(whole || at > 98_304 - 32_768, `byte ${at}`);
      assert.ok(!whole || Buffer.concat(records).equals(written), `byte ${at}`);
    } catch (error) {
      assert.ok(error instanceof LevelDamage, `byte ${at}`);
    }
  }
});
