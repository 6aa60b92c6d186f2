import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../lib/errors.ts";
import { systemRandom } from "../../lib/random.ts";
import { moveSplit } from "../record/move-split.ts";
import { readSplit, writeSplit } from "../../records/split-records.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { SplitRecord } from "../../model/split.ts";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { MemoryStore } from "../../../tests/support/memory-store.ts";
import { staticView, viewSource } from "../../../tests/support/static-view.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { OwnerLiveness } from "../../lib/owner-liveness.ts";
import { isFree } from "./is-free.ts";
import { OwnedSplit } from "./owned-split.ts";
import type { SplitContext } from "./split-context.ts";
import { timeMargins } from "../../model/time-margins.ts";

const PARTITION = {
  namespaceId: "plays-1",
  slice: "data_0",
  seriesId: "a",
  timeBucket: 0,
  eventBucket: 0,
};
const LEASE_MS = 10_000;
const never = new AbortController().signal;

/**
 * Can lose the answer to a write, which then happens later: right before the next one.
 */
class LateCatalog extends MemoryCatalog {
  losesNext = false;
  #late: (() => Promise<unknown>) | undefined;

  override async write(
    ...call: Parameters<MemoryCatalog["write"]>
  ): ReturnType<MemoryCatalog["write"]> {
    if (!call[0].startsWith("splits/")) return super.write(...call);
    if (this.losesNext) {
      this.losesNext = false;
      this.#late = () => super.write(...call);
      throw new ServiceError("STORAGE_UNAVAILABLE", "no answer");
    }
    const late = this.#late;
    this.#late = undefined;
    await late?.();
    return super.write(...call);
  }
}

class Fixture {
  readonly clock = new VirtualClock(1_000_000);
  readonly catalog = new LateCatalog();

  context(by: string): SplitContext {
    return {
      catalog: this.catalog,
      store: new MemoryStore(),
      views: viewSource(() => staticView({ slices: [] })),
      clock: this.clock,
      random: systemRandom,
      by,
      margins: timeMargins({ viewMaxAgeMs: 10_000, writeMaxMs: 10_000, clockSkewMs: 1_000 }),
      copyAtAll: false,
      makeSplitTable: async () => "made",
      observe: () => undefined,
      leaseMs: LEASE_MS,
    };
  }

  async detected(): Promise<SplitRecord> {
    const seen = { bytes: 1, events: 1, immutable: true, detectedAt: 0 };
    const split = { partition: PARTITION, namespace: "plays", epoch: 1, ...seen };
    const record = newSplit(split, {
      at: this.clock.nowMicros(),
      by: "d",
      cause: "detection",
      reason: "wide",
    });
    return required(await moveSplit(this.catalog, this.clock, undefined, record));
  }

  async claimed(by = "w1"): Promise<OwnedSplit> {
    return this.claim(await this.detected(), by);
  }

  async claim(record: SplitRecord, by: string): Promise<OwnedSplit> {
    const owned = await OwnedSplit.claim(this.context(by), record, "PLANNING", "looking", never);
    return required(owned);
  }

  async stored(): Promise<SplitRecord> {
    return required(await readSplit(this.catalog, PARTITION));
  }

  /** The catalog fails the next write of the record, before or after it is made. */
  failNextWrite(when: "before" | "after"): void {
    const fail = (): never => {
      this.catalog.before = () => undefined;
      this.catalog.changed = () => undefined;
      throw new ServiceError("STORAGE_UNAVAILABLE", "away");
    };
    if (when === "after") {
      this.catalog.changed = (space) => void (space.startsWith("splits/") && fail());
    } else {
      this.catalog.before = (call, space) =>
        void (call === "write" && space.startsWith("splits/") && fail());
    }
  }
}

function required<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}

test("P10, CP4: of two workers that claim a split one gets it", async () => {
  const fixture = new Fixture();
  const record = await fixture.detected();
  const first = await fixture.claim(record, "w1");
  const second = await OwnedSplit.claim(
    fixture.context("w2"),
    record,
    "PLANNING",
    "looking",
    never,
  );
  assert.equal(second, undefined);
  assert.equal((await fixture.stored()).owner?.by, "w1");
  await first.close();
});

test("what passes a step is stored with the next change, and each step counts from its own start", async () => {
  const fixture = new Fixture();
  const owned = await fixture.claimed();
  const progress = async () => {
    await owned.change((record) => record);
    return (await fixture.stored()).owner?.progress;
  };
  assert.equal(await progress(), undefined);
  owned.passed("COPY", 10, 1);
  owned.passed("COPY", 5, 2);
  assert.deepEqual(await progress(), { step: "COPY", bytes: 15, events: 3 });
  owned.passed("VALIDATE", 7, 1);
  assert.deepEqual(await progress(), { step: "VALIDATE", bytes: 7, events: 1 });
  await owned.close();
});

test("U11: the split of a live worker is not taken over; that of a dead one is, a lease time later", async () => {
  const fixture = new Fixture();
  const owned = await fixture.claimed();
  const owners = new OwnerLiveness(fixture.clock, LEASE_MS);
  for (let seconds = 0; seconds < 60; seconds++) {
    assert.equal(isFree(await fixture.stored(), owners), false, `${seconds}`);
    await fixture.clock.advance(1_000);
  }
  // Its last heartbeat may be a third of the lease old.
  await owned.close();
  assert.equal(isFree(await fixture.stored(), owners), false);
  await fixture.clock.advance((LEASE_MS * 2) / 3 - 1_000);
  assert.equal(isFree(await fixture.stored(), owners), false);
  await fixture.clock.advance(LEASE_MS / 3 + 1_000);
  const dead = await fixture.stored();
  assert.equal(isFree(dead, owners), true);
  const taken = await fixture.claim(dead, "w2");
  assert.equal(taken.record.fence, dead.fence + 1);
  await taken.close();
});

test("C16: a step of the wall clock, either way, neither ends a lease nor prolongs it", async () => {
  const hour = 3_600_000_000;
  for (const step of [hour, -hour]) {
    const fixture = new Fixture();
    const owned = await fixture.claimed();
    const owners = new OwnerLiveness(fixture.clock, LEASE_MS);
    await owned.close();
    assert.equal(isFree(await fixture.stored(), owners), false);
    fixture.clock.stepWall(step);
    assert.equal(isFree(await fixture.stored(), owners), false, `set by ${step}`);
    await fixture.clock.advance(LEASE_MS);
    assert.equal(isFree(await fixture.stored(), owners), true, `set by ${step}`);
  }
});

test("C16: a worker that takes a split over begins a lease of its own, also with the same count", async () => {
  const fixture = new Fixture();
  const owners = new OwnerLiveness(fixture.clock, LEASE_MS);
  await (await fixture.claimed("w1")).close();
  const dead = await fixture.stored();
  assert.equal(isFree(dead, owners), false);
  await fixture.clock.advance(LEASE_MS);
  assert.equal(isFree(dead, owners), true);
  await (await fixture.claim(dead, "w2")).close();
  const taken = await fixture.stored();
  assert.equal(taken.owner?.heartbeat, dead.owner?.heartbeat);
  assert.equal(isFree(taken, owners), false);
});

test("CO4, C8: an owner that was replaced, even by its own process, learns it at its next change, and writes nothing more", async () => {
  for (const by of ["w2", "w1"]) {
    const fixture = new Fixture();
    const first = await fixture.claimed("w1");
    const second = await fixture.claim(await fixture.stored(), by);
    await assert.rejects(first.move("PLANNED", "plan", "late"), { kind: "overtaken" }, by);
    assert.equal(first.signal.aborted, true);
    await assert.rejects(
      first.rest((record) => record),
      { kind: "overtaken" },
    );
    await second.move("PLANNED", "plan", "in time");
    const { owner, history } = await fixture.stored();
    assert.equal(owner?.by, by);
    assert.equal(history.at(-1)?.reason, "in time");
    await Promise.all([first.close(), second.close()]);
  }
});

test("CO1: a change whose outcome is unknown is looked up before the next one is made", async () => {
  for (const when of ["before", "after"] as const) {
    const fixture = new Fixture();
    const owned = await fixture.claimed();
    fixture.failNextWrite(when);
    await assert.rejects(
      owned.change((record) => ({ ...record, nextPart: record.nextPart + 1 })),
      { code: "STORAGE_UNAVAILABLE" },
    );
    const after = await owned.change((record) => ({ ...record, nextPart: record.nextPart + 10 }));
    assert.equal(after.nextPart, when === "after" ? 11 : 10, when);
    assert.deepEqual(await fixture.stored(), after);
    await owned.close();
  }
});

test("a change does not count as made because an earlier one, whose answer was lost, comes between", async () => {
  const fixture = new Fixture();
  const owned = await fixture.claimed();
  fixture.catalog.losesNext = true;
  await assert.rejects(
    owned.change((record) => ({ ...record, nextPart: record.nextPart + 1 })),
    { code: "STORAGE_UNAVAILABLE" },
  );
  // It reads the record, finds it unchanged, and is refused: only then the first write happens.
  const after = await owned.change((record) => ({ ...record, nextPart: record.nextPart + 10 }));
  assert.equal(after.nextPart, 11);
  assert.deepEqual(await fixture.stored(), after);
  await owned.close();
});

test("a worker still owns a record that changed without its fence", async () => {
  const fixture = new Fixture();
  const owned = await fixture.claimed();
  await writeSplit(fixture.catalog, await fixture.stored());
  const after = await owned.move("PLANNED", "plan", "planned");
  assert.deepEqual(await fixture.stored(), after);
  await owned.close();
});

test("changes that are asked for at once are made one after another", async () => {
  const fixture = new Fixture();
  const owned = await fixture.claimed();
  const raise = (record: SplitRecord): SplitRecord => ({
    ...record,
    nextPart: record.nextPart + 1,
  });
  await Promise.all(Array.from({ length: 20 }, () => owned.change(raise)));
  assert.equal((await fixture.stored()).nextPart, 20);
  await owned.close();
});
