/**
 * The engine on a disk that holds back, fails its syncs, or is full: nothing is acknowledged that
 * is not stored, reads continue, and writing works again by itself.
 *
 * @needs cc
 */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { test } from "node:test";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { StoreChild } from "./child.ts";
import { onFaultyDisk } from "./faulty-disk.ts";
import type { DiskMode, FaultyDisk } from "./faulty-disk.ts";

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

/**
 * Until the disk holds back the sync of an append. One that is acknowledged needed none: then it
 * never will.
 */
async function heldBack(disk: FaultyDisk, child: StoreChild, number: number): Promise<void> {
  for (;;) {
    try {
      await access(`${disk.control}.held`);
      return;
    } catch {
      assert.ok(!child.lines.includes(`acked ${number}`), "it was acknowledged without a sync");
      await nextTurn();
    }
  }
}

test("W2: no append is acknowledged before its fsync has returned", async () => {
  await onFaultyDisk(async (disk) => {
    await using child = await openChild(disk);
    await appendUntilAcked(child, 1);
    await disk.set("hold");
    child.tell("append 2");
    await heldBack(disk, child, 2);
    child.tell("append 3");
    // The child is alive and answers, only not these.
    for (let i = 0; i < 20; i++) assert.deepEqual(await numbersOf(child), [1]);
    assert.ok(!child.lines.some((line) => / [23]( |$)/.test(line)), child.lines.join("; "));
    await disk.set("ok");
    await child.hear((line) => line === "acked 2");
    await child.hear((line) => line === "acked 3");
    await child.kill();
    await using after = await openChild(disk);
    assert.deepEqual(await numbersOf(after), [1, 2, 3]);
    await after.end();
  });
});

test("W16: commits of many slices that wait for a slow disk leave reads a thread", async () => {
  await onFaultyDisk(async (disk) => {
    await using child = await openChild(disk);
    await appendUntilAcked(child, 1);
    await child.ask("spread 1", (line) => line === "spread 1");
    await disk.set("hold");
    // Eight commits for the four threads that Node has by itself.
    child.tell("spread 2");
    await heldBack(disk, child, 2);
    for (let i = 0; i < 20; i++) assert.deepEqual(await numbersOf(child), [1]);
    assert.ok(!child.lines.includes("spread 2"));
    await disk.set("ok");
    await child.hear((line) => line === "spread 2");
    await child.end();
  });
});

test("W16: while fsync fails nothing is acknowledged, reads continue, and writes work again after it", () =>
  onFaultyDisk((disk) => failsAndRecovers(disk, "fail-sync")));

test("W15: while the disk is full nothing is acknowledged, reads continue, and writes work again after it", () =>
  onFaultyDisk((disk) => failsAndRecovers(disk, "full")));

async function failsAndRecovers(disk: FaultyDisk, mode: DiskMode): Promise<void> {
  await using child = await openChild(disk);
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
  await using after = await openChild(disk);
  assert.deepEqual(await numbersOf(after), found);
  await after.end();
}
