import { deepEqual, equal, rejects } from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ClassicLevel } from "classic-level";
import { until } from "../../../tests/support/conditions.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { CheckedLevel } from "./checked-level.ts";
import { LEVEL_OPTIONS } from "./level-options.ts";
import { MarkFile } from "./mark-file.ts";
import { markerKey } from "./system-keys.ts";

const COMMITS = 5;

async function inDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "braid-checked-"));
  try {
    await work(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function open(directory: string): Promise<CheckedLevel> {
  const what = "the store";
  return CheckedLevel.open({ directory, what, clock: systemClock, tuning: LEVEL_OPTIONS });
}

async function writeCommits(store: CheckedLevel): Promise<void> {
  for (let n = 1; n <= COMMITS; n++) {
    await store.write(1, (batch) => {
      batch.put(Buffer.from(`k${n}`), Buffer.from("v"));
      return 3;
    });
  }
}

/**
 * A store of some commits, closed, with the marker of one of them gone, as if that had not been
 * replayed.
 */
async function storeWithout(directory: string, commit: number): Promise<void> {
  await CheckedLevel.create(directory, LEVEL_OPTIONS);
  const store = await open(directory);
  await writeCommits(store);
  await store.close();
  const level = new ClassicLevel<Buffer, Buffer>(join(directory, "level"), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  await level.del(markerKey(commit));
  await level.close();
  // A crash leaves no seal; with one the change of the files would be reported first.
  const mark = await MarkFile.open(join(directory, "mark"));
  await mark.write({ sequence: COMMITS, events: COMMITS });
  await mark.close();
}

test("callers that come back after a commit share the next one", async () => {
  await inDirectory(async (directory) => {
    await CheckedLevel.create(directory, LEVEL_OPTIONS);
    let ms = 0;
    const timers = new VirtualClock(0);
    const clock: Clock = {
      nowMicros: () => 0,
      monotonicMs: () => ms,
      after: (wait, run) => timers.after(wait, run),
      sleep: (wait, signal) => timers.sleep(wait, signal),
    };
    const appendsOf: number[] = [];
    const observer = {
      committed: ({ appends }: { appends: number }) => void appendsOf.push(appends),
    };
    const what = "the store";
    const store = await CheckedLevel.open({
      directory,
      what,
      clock,
      observer,
      tuning: LEVEL_OPTIONS,
    });
    const write = (key: string): Promise<void> =>
      store.write(1, (batch) => {
        batch.put(Buffer.from(key), Buffer.from("v"));
        return 3;
      });
    const both = [write("a"), write("b")];
    // The commit has begun, and its end needs a turn of the event loop.
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    ms = 100;
    await Promise.all(both);
    const first = write("c");
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    const second = write("d");
    await Promise.all([first, second]);
    deepEqual(appendsOf, [2, 2]);
    await store.close();
  });
});

test("C22: a commit that is missing before others, or that the mark tells of, is DATA_LOSS", async () => {
  for (const [commit, why] of [
    [2, /commit 2 is missing, with commits behind it/],
    [COMMITS, /commits 5 to 5 were acknowledged and are missing/],
  ] as const) {
    await inDirectory(async (directory) => {
      await storeWithout(directory, commit);
      await rejects(open(directory), { code: "DATA_LOSS", message: why });
    });
  }
  await inDirectory(async (directory) => {
    // There never was such a commit: nothing is missing.
    await storeWithout(directory, COMMITS + 1);
    const store = await open(directory);
    equal(store.events, COMMITS);
    await store.close();
  });
});

test("C22: the mark follows what was acknowledged while the store is open", async () => {
  await inDirectory(async (directory) => {
    await CheckedLevel.create(directory, LEVEL_OPTIONS);
    const store = await open(directory);
    await writeCommits(store);
    await until(async () => {
      const mark = await MarkFile.open(join(directory, "mark"));
      await mark.close();
      return mark.last.sequence === COMMITS;
    });
    await store.close();
  });
});

test("C22: the newest mark counts, and one that was cut short leaves the one before it", async () => {
  await inDirectory(async (directory) => {
    const path = join(directory, "mark");
    await MarkFile.create(path);
    for (let sequence = 1; sequence <= 4; sequence++) {
      const mark = await MarkFile.open(path);
      equal(mark.last.sequence, sequence - 1);
      await mark.write({ sequence, events: sequence });
      await mark.close();
    }
    const bytes = await readFile(path);
    const newest = bytes.indexOf('"sequence":4');
    bytes.write("9", newest + '"sequence":'.length);
    await writeFile(path, bytes);
    const mark = await MarkFile.open(path);
    equal(mark.last.sequence, 3);
    await mark.close();
  });
});
