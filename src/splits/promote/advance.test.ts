import assert from "node:assert/strict";
import { test } from "node:test";
import { UNSETTLED_FOR_MS } from "../../records/evidence-records.ts";
import type { SummedEvidence } from "../../records/evidence-records.ts";
import type { Evidence, ReadMode, ReadModeState, SplitKind } from "../../model/read-mode.ts";
import { advance, isFurther, modeAfter } from "./advance.ts";
import type { KindInUse } from "./advance.ts";

const THRESHOLDS = { shadowReads: 10, compareReads: 50, bytes: 1_000, splits: 5, afterMs: 60_000 };
const SINCE = 1_000_000;
const LONG_AFTER = SINCE + 60_000_000;

function stateOf(mode: ReadMode, kinds: readonly string[] | null = null): ReadModeState {
  return { mode, autoAdvance: true, since: SINCE, by: "braid", reason: "", round: 3, kinds };
}

function seen(change: Partial<SummedEvidence> = {}): SummedEvidence {
  return {
    layout: "PACKED",
    layoutVersion: 1,
    strategy: "EVENT_BUCKETS",
    round: 3,
    readsCompared: 50,
    bytesMatched: 1_000,
    bytesDiffered: 0,
    splitsCompared: 5,
    since: SINCE,
    ...change,
  };
}

const ROWS = { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS" };

/** Kinds with many splits. */
function inUse(...kinds: readonly SplitKind[]): KindInUse[] {
  return kinds.map((kind) => ({ ...kind, splits: 100 }));
}

function decide(
  mode: ReadMode,
  evidence: readonly SummedEvidence[],
  options: { kinds?: readonly KindInUse[]; now?: number } = {},
) {
  return advance(stateOf(mode), evidence, options.kinds, THRESHOLDS, options.now ?? LONG_AFTER);
}

test("a mode advances when every kind has enough, all equal, for long enough", () => {
  assert.deepEqual(decide("SHADOW", [seen({ readsCompared: 10 })]), {
    kind: "advance",
    to: "COMPARE",
    kinds: ["PACKED/1 EVENT_BUCKETS"],
    why: "10 reads compared, 1,000 bytes equal, none differed",
  });
  const both = [seen(), seen({ layout: "ROWS" })];
  assert.equal(decide("COMPARE", both).kind, "advance");
});

test("X5, X9: each missing condition keeps the mode, and is named", () => {
  const hash = { layout: "PACKED", layoutVersion: 1, strategy: "HASH" };
  const table: [ReadMode, Evidence[], { kinds?: KindInUse[]; now?: number }, string, string?][] = [
    ["OFF", [seen()], {}, "off"],
    ["SHADOW", [], {}, "nothing-compared"],
    ["SHADOW", [seen({ round: 2 })], {}, "nothing-compared"],
    ["SHADOW", [seen({ readsCompared: 9 })], {}, "few-reads", "PACKED/1 EVENT_BUCKETS: 9 of"],
    ["COMPARE", [seen({ readsCompared: 49 })], {}, "few-reads"],
    ["COMPARE", [seen({ bytesMatched: 999 })], {}, "few-bytes"],
    ["COMPARE", [seen(), seen({ layout: "ROWS", readsCompared: 1 })], {}, "few-reads", "ROWS/1"],
    ["COMPARE", [seen(), seen({ ...hash, bytesDiffered: 1 })], {}, "differed", "PACKED/1 HASH"],
    [
      "COMPARE",
      [seen({ splitsCompared: 4 })],
      {},
      "few-splits",
      "PACKED/1 EVENT_BUCKETS: reads of 4",
    ],
    ["COMPARE", [seen()], { now: LONG_AFTER - 1_000 }, "too-soon", "59 s"],
    // What is in use and was never compared, and what differed although it is no longer in use.
    ["COMPARE", [seen()], { kinds: inUse(seen(), hash) }, "few-reads", "PACKED/1 HASH: 0 of"],
    [
      "COMPARE",
      [seen(), seen({ ...hash, bytesDiffered: 1 })],
      { kinds: inUse(seen()) },
      "differed",
    ],
    ["COMPARE", [seen()], { kinds: [] }, "nothing-compared"],
  ];
  for (const [mode, evidence, options, cause, name = ""] of table) {
    const found = decide(mode, evidence, options);
    assert.ok(found.kind === "stay", cause);
    assert.equal(found.cause, cause);
    assert.ok(found.why.startsWith(name), found.why);
  }
});

test("a kind that is no longer in use is not waited for", () => {
  const evidence = [seen(), seen({ layout: "ROWS", readsCompared: 1 })];
  assert.equal(decide("COMPARE", evidence, { kinds: inUse(seen()) }).kind, "advance");
});

test("evidence is for one version of a layout: another needs its own", () => {
  const next = { ...seen(), layoutVersion: 2 };
  const found = decide("COMPARE", [seen()], { kinds: inUse(seen(), next) });
  assert.ok(found.kind === "stay" && found.cause === "few-reads");
  assert.ok(found.why.startsWith("PACKED/2 EVENT_BUCKETS"), found.why);
});

test("C13: SERVE is for the kinds with enough evidence; another is served when it has its own", () => {
  const both = [seen(), seen({ layout: "ROWS", readsCompared: 49 })];
  const fromCompare = decide("COMPARE", both, { kinds: inUse(seen()) });
  assert.deepEqual(fromCompare.kind === "advance" && fromCompare.kinds, ["PACKED/1 EVENT_BUCKETS"]);
  const state = stateOf("SERVE", ["PACKED/1 EVENT_BUCKETS"]);
  const rows = (change: Partial<Evidence>, now = LONG_AFTER) =>
    advance(state, [seen({ layout: "ROWS", ...change })], inUse(seen(), ROWS), THRESHOLDS, now);
  const table: [Partial<Evidence>, string][] = [
    [{ readsCompared: 49 }, "few-reads"],
    [{ bytesMatched: 999 }, "few-bytes"],
    [{ splitsCompared: 4 }, "few-splits"],
    [{ bytesDiffered: 1 }, "differed"],
    [{ since: SINCE + 1_000_000 }, "too-soon"],
    [{ round: 2 }, "few-reads"],
  ];
  for (const [change, cause] of table) {
    const found = rows(change);
    assert.ok(found.kind === "stay", cause);
    assert.equal(found.cause, cause);
    assert.ok(found.why.startsWith("ROWS/1 EVENT_BUCKETS"), found.why);
  }
  assert.deepEqual(rows({}), {
    kind: "advance",
    to: "SERVE",
    kinds: ["PACKED/1 EVENT_BUCKETS", "ROWS/1 EVENT_BUCKETS"],
    why: "ROWS/1 EVENT_BUCKETS served too: 50 reads compared, 1,000 bytes equal, none differed",
  });
});

test("C14: a difference that is not settled holds every mode back, until no server has reported it for a while", () => {
  const unsettledAt = LONG_AFTER - 2_000_000;
  const settledAt = unsettledAt + UNSETTLED_FOR_MS * 1_000;
  const marked = seen({ layout: "ROWS", unsettledAt });
  for (const mode of ["SHADOW", "COMPARE"] as const) {
    // Also of a kind that is no longer in use: it may be met again.
    for (const kinds of [inUse(seen(), marked), inUse(seen())]) {
      const found = decide(mode, [seen(), marked], { kinds });
      assert.ok(found.kind === "stay" && found.cause === "unsettled");
      assert.ok(found.why.startsWith("ROWS/1 EVENT_BUCKETS"), found.why);
    }
    assert.equal(decide(mode, [marked], { now: settledAt - 1 }).kind, "stay");
    assert.equal(decide(mode, [marked], { now: settledAt }).kind, "advance");
  }
  const state = stateOf("SERVE", ["PACKED/1 EVENT_BUCKETS"]);
  const more = (now: number) => advance(state, [marked], inUse(seen(), ROWS), THRESHOLDS, now);
  const held = more(LONG_AFTER);
  assert.ok(held.kind === "stay" && held.cause === "unsettled");
  assert.equal(more(settledAt).kind, "advance");
});

test("C14: a difference of an earlier round that is not settled holds the mode back", () => {
  const earlier = seen({ layout: "ROWS", round: 2, unsettledAt: LONG_AFTER });
  const found = decide("COMPARE", [seen(), earlier], { kinds: inUse(seen()) });
  assert.ok(found.kind === "stay" && found.cause === "unsettled");
});

test("C29: reads of a few splits do not advance a kind that has many; of all, they do", () => {
  const table: [splitsCompared: number, splits: number, passes: boolean][] = [
    [1, 50, false],
    [4, 50, false],
    [5, 50, true],
    [1, 1, true],
    [1, 2, false],
    [2, 2, true],
  ];
  const state = stateOf("SERVE", ["PACKED/1 EVENT_BUCKETS"]);
  for (const [splitsCompared, splits, passes] of table) {
    const kinds = [{ ...seen(), splits }];
    const name = `${splitsCompared} of ${splits}`;
    for (const mode of ["SHADOW", "COMPARE"] as const) {
      const found = decide(mode, [seen({ splitsCompared })], { kinds });
      assert.equal(found.kind === "advance", passes, `${name} in ${mode}`);
      assert.equal(found.kind === "stay" && found.cause === "few-splits", !passes, name);
    }
    const rows = [{ ...ROWS, splits }];
    const evidence = [seen({ layout: "ROWS", splitsCompared })];
    const more = advance(state, evidence, rows, THRESHOLDS, LONG_AFTER);
    assert.equal(more.kind === "advance", passes, `${name} in SERVE`);
  }
});

test("C29: SERVE does not include a kind of which only few splits were compared while it was in use", () => {
  const evidence = [seen(), seen({ layout: "ROWS", splitsCompared: 1 })];
  const found = decide("COMPARE", evidence, { kinds: inUse(seen()) });
  assert.deepEqual(found.kind === "advance" && found.kinds, ["PACKED/1 EVENT_BUCKETS"]);
});

test("nothing follows the last mode", () => {
  assert.deepEqual(decide("SERVE", [seen()]), { kind: "stay", cause: "last-mode", why: "" });
  assert.equal(modeAfter("SERVE"), undefined);
  assert.equal(modeAfter("OFF"), "SHADOW");
  assert.ok(isFurther("SERVE", "COMPARE") && !isFurther("OFF", "OFF"));
});
