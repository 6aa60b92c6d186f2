import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { SettlingFloors } from "./settling-floors.ts";

const SETTLE_MS = 20_000;

interface Seen {
  readonly id?: string;
  readonly epoch?: number;
  readonly settled?: number;
}

function fixture() {
  const clock = new VirtualClock(0);
  const floors = new SettlingFloors(clock, SETTLE_MS);
  /** The settled floor, when the catalog has this floor now. */
  const see = (floor: number, { id = "plays-1", epoch = 1, settled = 0 }: Seen = {}): number =>
    floors.observe({ id, epoch, floor, settled: { epoch, floor: settled } });
  return { clock, floors, see };
}

test("C1: a floor is settled when it was seen for long enough, and not a moment earlier", async () => {
  const { clock, see } = fixture();
  assert.equal(see(100), 0);
  await clock.advance(SETTLE_MS - 1);
  assert.equal(see(150), 0);
  await clock.advance(1);
  assert.equal(see(200), 100);
});

test("while the floor rises every second the settled floor follows, one settling time later", async () => {
  const { clock, see } = fixture();
  let settled = 0;
  for (let second = 1; second <= 120; second++) {
    settled = see(second, { settled });
    assert.ok(settled <= Math.max(0, second - 20), `${settled} at ${second}`);
    if (second >= 30) assert.ok(settled >= second - 22, `${settled} at ${second}`);
    await clock.advance(1_000);
  }
});

test("a settled floor that could not be stored stays settled, and later ones follow", async () => {
  const { clock, see } = fixture();
  see(100);
  await clock.advance(SETTLE_MS / 2);
  see(200);
  await clock.advance(SETTLE_MS / 2);
  assert.equal(see(200), 100);
  assert.equal(see(200), 100);
  await clock.advance(SETTLE_MS / 2);
  assert.equal(see(200), 200);
  assert.equal(see(200, { settled: 200 }), 200);
});

test("C1: the stored settled floor counts at once, also for a process that has seen nothing", async () => {
  const { clock, see } = fixture();
  assert.equal(see(300, { settled: 100 }), 100);
  await clock.advance(SETTLE_MS);
  assert.equal(see(400, { settled: 100 }), 300);
});

test("C1: another epoch starts over, also with a lower floor; an older one is ignored", async () => {
  const { clock, see } = fixture();
  see(100);
  await clock.advance(SETTLE_MS);
  assert.equal(see(50, { epoch: 2, settled: 40 }), 40);
  assert.equal(see(300, { epoch: 1 }), 0);
  await clock.advance(SETTLE_MS);
  assert.equal(see(90, { epoch: 2, settled: 40 }), 50);
});

test("C1: a settled floor of another epoch does not count", () => {
  const { floors } = fixture();
  const record = { id: "plays-1", epoch: 2, floor: 300, settled: { epoch: 1, floor: 200 } };
  assert.equal(floors.observe(record), 0);
});

test("a namespace that is gone is forgotten; one that was created again is another", async () => {
  const { clock, floors, see } = fixture();
  see(100);
  await clock.advance(SETTLE_MS);
  assert.equal(see(100, { id: "plays-2" }), 0);
  floors.forgetAllBut(new Set(["plays-2"]));
  assert.equal(see(100), 0);
});
