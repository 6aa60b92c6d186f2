import { equal } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { CommitGathering } from "./commit-gathering.ts";

const COMMIT_MS = 12;

/** After some commits of this many appends, the last of which has just ended. */
function after(appends: number, waiting: number, ms = COMMIT_MS) {
  const clock = new VirtualClock(0);
  const gathering = new CommitGathering(clock);
  for (let n = 0; n < 50; n++) gathering.committed(ms, appends, waiting);
  return { clock, gathering };
}

test("a commit waits until as many appends are there as were under way", async () => {
  const { clock, gathering } = after(5, 3);
  const waited = gathering.wait(3);
  equal(clock.sleepers, 1);
  for (let waiting = 4; waiting < 8; waiting++) gathering.appended(waiting);
  equal(clock.sleepers, 1);
  gathering.appended(8);
  equal(clock.sleepers, 0);
  await waited;
  // One more does not end a wait that is over.
  gathering.appended(9);
});

test("a commit waits for a part of the time of a commit", async () => {
  const { clock, gathering } = after(5, 3);
  const waited = gathering.wait(3);
  await clock.advance(COMMIT_MS / 4 - 0.1);
  equal(clock.sleepers, 1);
  await clock.advance(0.2);
  equal(clock.sleepers, 0);
  await waited;
});

test("after a disk that stood still, a commit waits a few milliseconds at most", async () => {
  const { clock, gathering } = after(5, 3, 60_000);
  void gathering.wait(1);
  await clock.advance(5);
  equal(clock.sleepers, 0);
});

test("a commit does not wait for what it cannot gain", async () => {
  equal(new CommitGathering(new VirtualClock(0)).wait(1), undefined, "the first of a store");
  equal(after(5, 3).gathering.wait(0), undefined, "nothing to commit");
  equal(after(1, 0).gathering.wait(1), undefined, "one caller alone");
  equal(after(5, 3).gathering.wait(8), undefined, "all are there");
  equal(after(5, 3, 2).gathering.wait(1), undefined, "commits are short");
  const { clock, gathering } = after(5, 3);
  await clock.advance(COMMIT_MS + 1);
  equal(gathering.wait(1), undefined, "the callers have left");
});
