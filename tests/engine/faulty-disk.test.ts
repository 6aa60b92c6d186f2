import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { StoreChild } from "./child.ts";

const SOURCE = fileURLToPath(new URL("faulty-disk.c", import.meta.url));

type Mode = "ok" | "hold" | "fail-sync" | "full";

interface FaultyDisk {
  readonly directory: string;
  readonly control: string;
  readonly env: Readonly<Record<string, string>>;
  set(mode: Mode): Promise<void>;
}

/** Builds the shim and runs the work on a fresh directory; says so where there is no C compiler. */
async function onFaultyDisk(
  t: TestContext,
  work: (disk: FaultyDisk) => Promise<void>,
): Promise<void> {
  const base = await mkdtemp(join(tmpdir(), "braid-faulty-"));
  try {
    const shim = join(base, "faulty-disk.so");
    try {
      await promisify(execFile)("cc", ["-shared", "-fPIC", "-O1", "-o", shim, SOURCE, "-ldl"]);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      process.stderr.write("BRAID_MISSING: cc (a C compiler), for the tests of a failing disk\n");
      if (process.env["BRAID_REQUIRE_ALL"] === "1") throw error;
      t.skip("there is no C compiler");
      return;
    }
    const control = join(base, "control");
    const directory = join(base, "data");
    const set = (mode: Mode): Promise<void> => writeFile(control, mode);
    await set("ok");
    const env = {
      LD_PRELOAD: shim,
      BRAID_FAULTY_CONTROL: control,
      BRAID_FAULTY_DIRECTORY: directory,
    };
    await work({ directory, control, env, set });
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function openChild(disk: FaultyDisk): Promise<StoreChild> {
  const child = new StoreChild(disk.directory, disk.env);
  await child.hear((line) => line === "ready");
  return child;
}

/** Appends again and again until it is acknowledged, as a client would. */
async function appendUntilAcked(child: StoreChild, number: number): Promise<void> {
  for (;;) {
    const answer = await child.ask(
      `append ${number}`,
      (line) => line.split(" ")[1] === `${number}`,
    );
    if (answer === `acked ${number}`) return;
    await pause(20);
  }
}

async function numbersOf(child: StoreChild): Promise<number[]> {
  const answer = await child.ask("read", (line) => line.startsWith("read"));
  const list = answer.slice("read ".length);
  return list === "" ? [] : list.split(",").map(Number);
}

async function heldBack(disk: FaultyDisk): Promise<void> {
  for (;;) {
    try {
      await access(`${disk.control}.held`);
      return;
    } catch {
      // Not yet.
      await nextTurn();
    }
  }
}

test("W2: no append is acknowledged before its fsync has returned", async (t) => {
  await onFaultyDisk(t, async (disk) => {
    const child = await openChild(disk);
    await appendUntilAcked(child, 1);
    await disk.set("hold");
    child.tell("append 2");
    await heldBack(disk);
    child.tell("append 3");
    // The child is alive and answers, only not these.
    for (let i = 0; i < 20; i++) assert.deepEqual(await numbersOf(child), [1]);
    assert.ok(!child.lines.some((line) => / [23]( |$)/.test(line)), child.lines.join("; "));
    await disk.set("ok");
    await child.hear((line) => line === "acked 2");
    await child.hear((line) => line === "acked 3");
    await child.kill();
    const after = await openChild(disk);
    assert.deepEqual(await numbersOf(after), [1, 2, 3]);
    await after.end();
  });
});

for (const [mode, id] of [
  ["fail-sync", "W16"],
  ["full", "W15"],
] as const) {
  test(`${id}: with ${mode} nothing is acknowledged, reads go on, and writes work again without a restart`, async (t) => {
    await onFaultyDisk(t, async (disk) => {
      const child = await openChild(disk);
      await appendUntilAcked(child, 1);
      await appendUntilAcked(child, 2);
      await disk.set(mode);
      const failed = await child.ask("append 3", (line) => line.split(" ")[1] === "3");
      assert.equal(failed, "failed 3 OUTCOME_UNKNOWN");
      for (let i = 4; i < 10; i++) {
        const answer = await child.ask(`append ${i}`, (line) => line.split(" ")[1] === `${i}`);
        assert.match(answer, /^failed \d+ (STORAGE_UNAVAILABLE|OUTCOME_UNKNOWN)$/);
        assert.deepEqual(await numbersOf(child), [1, 2]);
      }
      await disk.set("ok");
      await appendUntilAcked(child, 10);
      const acked = [1, 2, 10];
      // The third may have been stored after all: its outcome was unknown.
      const found = await numbersOf(child);
      assert.deepEqual(
        found.filter((number) => number !== 3),
        acked,
      );
      await child.kill();
      const after = await openChild(disk);
      assert.deepEqual(await numbersOf(after), found);
      await after.end();
    });
  });
}
