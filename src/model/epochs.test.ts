import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EPOCH_STARTS_MAX, isSealed, sealedTo, withEpochStart } from "./epochs.ts";
import type { EpochStart, EpochStarts } from "./epochs.ts";

const histories = fc.array(fc.record({ skipped: fc.nat(2), floor: fc.nat(50) }), { maxLength: 40 });

/** Every epoch, in order, with the floor at its start. */
function epochsOf(history: readonly { skipped: number; floor: number }[]): EpochStart[] {
  let epoch = 0;
  return history.map(({ skipped, floor }) => ({ epoch: (epoch += 1 + skipped), floor }));
}

function kept(epochs: readonly EpochStart[]): EpochStarts {
  return epochs.reduce<EpochStarts>(withEpochStart, []);
}

/** The rule as it is written, with every pair. */
function modelSealed(epochs: readonly EpochStart[], epoch: number, to: number): boolean {
  return epochs.every((later) => later.epoch <= epoch || to <= later.floor);
}

test("C3: the pairs that are kept give the same answers as all pairs", () => {
  fc.assert(
    fc.property(histories, (history) => {
      const epochs = epochsOf(history);
      const starts = kept(epochs);
      const newest = epochs.at(-1)?.epoch ?? 0;
      for (let epoch = 0; epoch <= newest + 1; epoch++) {
        for (let to = 0; to <= 51; to++) {
          equal(isSealed(starts, { epoch, to }), modelSealed(epochs, epoch, to));
        }
      }
    }),
  );
});

test("C3: beyond the bound no copy counts as sealed that is not, and the newest epochs stay exact", () => {
  const many = fc.array(fc.record({ skipped: fc.nat(2), floor: fc.nat(1_000) }), {
    minLength: EPOCH_STARTS_MAX,
    maxLength: 4 * EPOCH_STARTS_MAX,
  });
  fc.assert(
    fc.property(many, fc.boolean(), fc.nat(1_001), (history, rising, to) => {
      const floors = rising ? history.map((each, nth) => ({ ...each, floor: nth })) : history;
      const epochs = epochsOf(floors);
      const starts = kept(epochs);
      ok(starts.length <= EPOCH_STARTS_MAX);
      const oldest = starts[0]?.epoch ?? 0;
      for (const { epoch } of [{ epoch: 0 }, ...epochs]) {
        const sealed = isSealed(starts, { epoch, to });
        ok(!sealed || modelSealed(epochs, epoch, to), `epoch ${epoch} to ${to}`);
        if (epoch >= oldest) equal(sealed, modelSealed(epochs, epoch, to));
      }
    }),
  );
});

test("a pair is dropped when a later epoch begins no higher", () => {
  const first = { epoch: 1, floor: 100 };
  deepEqual(withEpochStart([first], { epoch: 2, floor: 100 }), [{ epoch: 2, floor: 100 }]);
  deepEqual(withEpochStart([first], { epoch: 2, floor: 101 }), [first, { epoch: 2, floor: 101 }]);
});

test("a copy is sealed up to the least floor of the epochs after its own", () => {
  const starts = [
    { epoch: 2, floor: 100 },
    { epoch: 4, floor: 200 },
  ];
  deepEqual(
    [0, 1, 2, 3, 4, 5].map((epoch) => sealedTo(starts, epoch)),
    [100, 100, 200, 200, Infinity, Infinity],
  );
  ok(isSealed(starts, { epoch: 1, to: 100 }));
  ok(!isSealed(starts, { epoch: 1, to: 101 }));
});
