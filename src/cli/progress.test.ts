import { deepEqual, equal } from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { percent, perSecond, Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

function progressOn(
  noteIsTty: boolean,
  shown: boolean,
): { notes: string[]; step: (ms: number) => void; progress: Progress } {
  const notes: string[] = [];
  let nowMs = 0;
  const terminal: Terminal = {
    print: async () => undefined,
    note: (text) => void notes.push(text),
    outIsTty: false,
    noteIsTty,
    columns: undefined,
    user: "ada@example",
    input: Readable.from([]),
    ask: undefined,
    env: {},
    interrupted: new AbortController().signal,
    clock: { ...systemClock, monotonicMs: () => nowMs },
  };
  const progress = new Progress(terminal, shown);
  const step = (ms: number): void => {
    nowMs += ms;
    progress.update(() => `at ${nowMs}`);
  };
  return { notes, step, progress };
}

test("a terminal shows one line that changes, and takes it away", () => {
  const { notes, step, progress } = progressOn(true, true);
  for (const ms of [50, 60, 10, 100]) step(ms);
  progress.clear();
  progress.clear();
  deepEqual(notes, ["\r\u001b[Kat 110", "\r\u001b[Kat 220", "\r\u001b[K"]);
});

test("N5: elsewhere it is a line now and then, and only if asked for", () => {
  const asked = progressOn(false, true);
  for (const ms of [1_500, 600, 100]) asked.step(ms);
  asked.progress.clear();
  deepEqual(asked.notes, ["at 2100\n"]);
  const silent = progressOn(true, false);
  silent.step(10_000);
  deepEqual(silent.notes, []);
});

test("percent and rate are left out or bounded where they would mislead", () => {
  equal(percent(45, 100), "45%: ");
  equal(percent(101, 100), "100%: ");
  equal(percent(1, undefined), "");
  equal(percent(0, 0), "");
  equal(perSecond(12_345, 2_000), "6,173/s");
  equal(perSecond(0, 0), "0/s");
});
