import assert from "node:assert/strict";
import { test } from "node:test";
import type { Namespace } from "../../model/namespace.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { staticView } from "../../../tests/support/static-view.ts";
import { SealedLine } from "./sealed-line.ts";

const SETTLE_MS = 20_000;

function namespaceWith(floor: number, epoch = 1, id = "plays-1"): Namespace {
  return { ...staticView({ slices: [] }).namespace, id, epoch, floor };
}

function fixture(): { clock: VirtualClock; line: SealedLine } {
  const clock = new VirtualClock(0);
  return { clock, line: new SealedLine(clock, SETTLE_MS) };
}

test("a floor counts when it was seen for long enough, and not a moment earlier", async () => {
  const { clock, line } = fixture();
  assert.equal(line.floorFor("plays-1", 1), undefined);
  line.observe(namespaceWith(100));
  await clock.advance(SETTLE_MS - 1);
  assert.equal(line.floorFor("plays-1", 1), undefined);
  await clock.advance(1);
  assert.equal(line.floorFor("plays-1", 1), 100);
});

test("while the floor rises every second the line follows, a settling behind", async () => {
  const { clock, line } = fixture();
  for (let second = 0; second <= 120; second++) {
    line.observe(namespaceWith(second));
    const floor = line.floorFor("plays-1", 1);
    // It never counts earlier than it may, and lags behind by little more.
    if (floor !== undefined) assert.ok(floor <= second - 20, `${floor} at ${second}`);
    if (second >= 30) assert.ok((floor ?? -1) >= second - 24, `${floor} at ${second}`);
    await clock.advance(1_000);
  }
});

test("one that was seen long ago still counts, and a newer one only in its turn", async () => {
  const { clock, line } = fixture();
  line.observe(namespaceWith(100));
  await clock.advance(3_600_000);
  line.observe(namespaceWith(200));
  assert.equal(line.floorFor("plays-1", 1), 100);
  await clock.advance(SETTLE_MS);
  assert.equal(line.floorFor("plays-1", 1), 200);
});

test("another epoch starts over, also with a lower floor; an older one is ignored", async () => {
  const { clock, line } = fixture();
  line.observe(namespaceWith(100));
  await clock.advance(SETTLE_MS);
  line.observe(namespaceWith(50, 2));
  line.observe(namespaceWith(300, 1));
  assert.equal(line.floorFor("plays-1", 1), undefined);
  assert.equal(line.floorFor("plays-1", 2), undefined);
  await clock.advance(SETTLE_MS);
  assert.equal(line.floorFor("plays-1", 2), 50);
  // What is known of one epoch says nothing of those before and behind it.
  assert.equal(line.floorFor("plays-1", 1), undefined);
  assert.equal(line.floorFor("plays-1", 3), undefined);
});

test("a namespace that was made again under the name is another", async () => {
  const { clock, line } = fixture();
  line.observe(namespaceWith(100, 1, "plays-1"));
  await clock.advance(SETTLE_MS);
  assert.equal(line.floorFor("plays-2", 1), undefined);
});
