import assert from "node:assert/strict";
import { test } from "node:test";
import { UNSETTLED_FOR_MS } from "../record/read-modes.ts";
import type { StoredEvidence } from "../record/read-modes.ts";
import type { Evidence, ReadMode, ReadModeState, SplitKind } from "../../model/read-mode.ts";
import { advance, isFurther, modeAfter } from "./advance.ts";

const THRESHOLDS = { shadowReads: 10, compareReads: 50, bytes: 1_000, afterMs: 60_000 };
const SINCE = 1_000_000;
const LONG_AFTER = SINCE + 60_000_000;

function stateOf(mode: ReadMode, kinds: readonly string[] | null = null): ReadModeState {
  return { mode, autoAdvance: true, since: SINCE, by: "braid", reason: "", round: 3, kinds };
}

function seen(change: Partial<StoredEvidence> = {}): StoredEvidence {
  return {
    layout: "PACKED",
    layoutVersion: 1,
    strategy: "EVENT_BUCKETS",
    round: 3,
    readsCompared: 50,
    bytesMatched: 1_000,
    bytesDiffered: 0,
    since: SINCE,
    ...change,
  };
}

const ROWS = { layout: "ROWS", layoutVersion: 1, strategy: "EVENT_BUCKETS" };

function decide(
  mode: ReadMode,
  evidence: readonly StoredEvidence[],
  options: { kinds?: readonly SplitKind[]; now?: number } = {},
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

test("each thing that is missing keeps it where it is, and is named", () => {
  const hash = { layout: "PACKED", layoutVersion: 1, strategy: "HASH" };
  const table: [ReadMode, Evidence[], { kinds?: SplitKind[]; now?: number }, string, string?][] = [
    ["OFF", [seen()], {}, "off"],
    ["SHADOW", [], {}, "nothing-compared"],
    ["SHADOW", [seen({ round: 2 })], {}, "nothing-compared"],
    ["SHADOW", [seen({ readsCompared: 9 })], {}, "few-reads", "PACKED/1 EVENT_BUCKETS: 9 of"],
    ["COMPARE", [seen({ readsCompared: 49 })], {}, "few-reads"],
    ["COMPARE", [seen({ bytesMatched: 999 })], {}, "few-bytes"],
    ["COMPARE", [seen(), seen({ layout: "ROWS", readsCompared: 1 })], {}, "few-reads", "ROWS/1"],
    ["COMPARE", [seen(), seen({ ...hash, bytesDiffered: 1 })], {}, "differed", "PACKED/1 HASH"],
    ["COMPARE", [seen()], { now: LONG_AFTER - 1_000 }, "too-soon", "59 s"],
    // What is in use and was never compared, and what differed although it is no longer in use.
    ["COMPARE", [seen()], { kinds: [seen(), hash] }, "few-reads", "PACKED/1 HASH: 0 of"],
    ["COMPARE", [seen(), seen({ ...hash, bytesDiffered: 1 })], { kinds: [seen()] }, "differed"],
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
  assert.equal(decide("COMPARE", evidence, { kinds: [seen()] }).kind, "advance");
});

test("evidence is for one version of a layout: another has to pass for itself", () => {
  const next = { ...seen(), layoutVersion: 2 };
  const found = decide("COMPARE", [seen()], { kinds: [seen(), next] });
  assert.ok(found.kind === "stay" && found.cause === "few-reads");
  assert.ok(found.why.startsWith("PACKED/2 EVENT_BUCKETS"), found.why);
});

test("C13: SERVE is for the kinds that passed; another is served when it has passed for itself", () => {
  const both = [seen(), seen({ layout: "ROWS", readsCompared: 49 })];
  const fromCompare = decide("COMPARE", both, { kinds: [seen()] });
  assert.deepEqual(fromCompare.kind === "advance" && fromCompare.kinds, ["PACKED/1 EVENT_BUCKETS"]);
  const state = stateOf("SERVE", ["PACKED/1 EVENT_BUCKETS"]);
  const rows = (change: Partial<Evidence>, now = LONG_AFTER) =>
    advance(state, [seen({ layout: "ROWS", ...change })], [seen(), ROWS], THRESHOLDS, now);
  const table: [Partial<Evidence>, string][] = [
    [{ readsCompared: 49 }, "few-reads"],
    [{ bytesMatched: 999 }, "few-bytes"],
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

test("C14: a difference that is not settled holds every mode back, until nobody has spoken of it for a while", () => {
  const unsettledAt = LONG_AFTER - 2_000_000;
  const settledAt = unsettledAt + UNSETTLED_FOR_MS * 1_000;
  const marked = seen({ layout: "ROWS", unsettledAt });
  for (const mode of ["SHADOW", "COMPARE"] as const) {
    // Also of a kind that is no longer in use: it may be met again.
    for (const kinds of [[seen(), marked], [seen()]]) {
      const found = decide(mode, [seen(), marked], { kinds });
      assert.ok(found.kind === "stay" && found.cause === "unsettled");
      assert.ok(found.why.startsWith("ROWS/1 EVENT_BUCKETS"), found.why);
    }
    assert.equal(decide(mode, [marked], { now: settledAt - 1 }).kind, "stay");
    assert.equal(decide(mode, [marked], { now: settledAt }).kind, "advance");
  }
  const state = stateOf("SERVE", ["PACKED/1 EVENT_BUCKETS"]);
  const more = (now: number) => advance(state, [marked], [seen(), ROWS], THRESHOLDS, now);
  const held = more(LONG_AFTER);
  assert.ok(held.kind === "stay" && held.cause === "unsettled");
  assert.equal(more(settledAt).kind, "advance");
});

test("nothing follows the last mode", () => {
  assert.deepEqual(decide("SERVE", [seen()]), { kind: "stay", cause: "last-mode", why: "" });
  assert.equal(modeAfter("SERVE"), undefined);
  assert.equal(modeAfter("OFF"), "SHADOW");
  assert.ok(isFurther("SERVE", "COMPARE") && !isFurther("OFF", "OFF"));
});
