import { equal, ok } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CheckedLevel } from "./checked-level.ts";
import { CommitChain } from "./commit-chain.ts";
import { LEVEL_OPTIONS } from "./level-options.ts";
import { newLevel } from "./level.ts";
import type { Level } from "./level.ts";
import { markerKey } from "./system-keys.ts";

const MIB = 1 << 20;

async function withLevel(work: (level: Level) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "braid-chain-"));
  try {
    await CheckedLevel.create(directory, LEVEL_OPTIONS);
    const level = newLevel(join(directory, "level"), LEVEL_OPTIONS);
    await level.open();
    await work(level);
    await level.close();
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("a marker is trimmed only when its commit is far behind, and the chain stays whole", async () => {
  await withLevel(async (level) => {
    const { writeBufferSize } = LEVEL_OPTIONS;
    const chain = await CommitChain.read(level, 0, writeBufferSize);
    const distance = 2 * (writeBufferSize + 24 * MIB) + 2 * MIB;
    const commits = 2 * Math.ceil(distance / MIB);
    for (let n = 1; n <= commits; n++) {
      const batch = level.batch();
      const link = chain.extend(batch, MIB, 1);
      await batch.write();
      chain.confirm(link);
    }
    equal(await level.get(markerKey(1)), undefined);
    ok((await level.get(markerKey(commits - Math.floor(distance / MIB)))) !== undefined);
    const again = await CommitChain.read(level, commits, writeBufferSize);
    equal(again.last, commits);
    equal(again.events, commits);
  });
});

test("a commit that was not confirmed leaves the chain as it was", async () => {
  await withLevel(async (level) => {
    const chain = await CommitChain.read(level, 0, LEVEL_OPTIONS.writeBufferSize);
    const batch = level.batch();
    chain.extend(batch, 10, 3);
    await batch.close();
    equal(chain.last, 0);
    equal(chain.events, 0);
  });
});

test("many small commits: once they are flushed their markers go, in steps", async () => {
  await withLevel(async (level) => {
    const chain = await CommitChain.read(level, 0, LEVEL_OPTIONS.writeBufferSize);
    const commit = async (): Promise<void> => {
      const batch = level.batch();
      const link = chain.extend(batch, 10, 1);
      await batch.write();
      chain.confirm(link);
    };
    let commits = 0;
    for (; !chain.isFlushDue; commits++) await commit();
    ok(commits >= 4_000 && commits < 10_000, `due after ${commits}`);
    ok((await level.get(markerKey(1))) !== undefined, "nothing goes before it is in a table");
    await level.compactRange(Buffer.from([0xff, 0xff]), Buffer.from([0xff, 0xff]));
    chain.flushed(commits);
    equal(chain.isFlushDue, false);
    for (let n = 0; n < 4; n++, commits++) await commit();
    equal(await level.get(markerKey(commits - 5)), undefined);
    ok((await level.get(markerKey(commits - 4))) !== undefined);
    const again = await CommitChain.read(level, commits, LEVEL_OPTIONS.writeBufferSize);
    equal(again.last, commits);
    equal(again.events, commits);
  });
});
