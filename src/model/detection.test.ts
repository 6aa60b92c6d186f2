import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fromUtf8, utf8 } from "../lib/bytes.ts";
import { decodeDetection, detectionKey, encodeDetection } from "./detection.ts";
import type { Detection } from "./detection.ts";

const DETECTION: Detection = {
  namespace: "plays",
  timeSlice: "data_20260328",
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 2,
  immutable: true,
  epoch: 0,
  bytes: 10_485_761,
  events: 4_321,
  detectedAt: 1_774_692_000_000_001,
};

const MESSAGE = {
  namespace: "plays",
  time_slice: "data_20260328",
  time_series_id: "profile:123",
  time_bucket: 7,
  event_bucket: 2,
  immutable: true,
  version: "0",
  bytes: 10_485_761,
  events: 4_321,
  detected_at: "2026-03-28T10:00:00.000001Z",
};

test("a detection is the JSON of the contract", () => {
  assert.deepEqual(JSON.parse(fromUtf8(encodeDetection(DETECTION))), MESSAGE);
});

test("an encoded detection decodes to the same", () => {
  const count = fc.nat();
  const fields = {
    namespace: fc.stringMatching(/^[a-z][a-z0-9_]{0,39}$/),
    timeSlice: fc.constantFrom("data_20260328", "data_20260328_1430", "data_20260328_143000"),
    timeSeriesId: fc.string({ minLength: 1, maxLength: 100, unit: "grapheme" }),
    timeBucket: count,
    eventBucket: count,
    immutable: fc.boolean(),
    epoch: fc.nat(2 ** 31 - 1),
    bytes: fc.maxSafeNat(),
    events: fc.maxSafeNat(),
    detectedAt: fc.integer({ min: 0, max: 4_000_000_000_000_000 }),
  };
  const detections = fc.record(fields, { noNullPrototype: true });
  fc.assert(
    fc.property(detections, (detection) => {
      fc.pre(utf8(detection.timeSeriesId).length <= 512);
      const decoded = decodeDetection(encodeDetection(detection));
      assert.deepEqual(decoded, { kind: "detection", detection });
    }),
  );
});

test("a malformed field is reported by its name", () => {
  const cases: [object, RegExp][] = [
    [{ namespace: "Plays" }, /namespace: is not the name/],
    [{ time_slice: "../../etc" }, /time_slice: is not the name/],
    [{ time_series_id: "" }, /time_series_id: /],
    [{ time_series_id: "é".repeat(300) }, /time_series_id: must be at most 512 bytes/],
    [{ time_series_id: "\ud800" }, /time_series_id: must be at most 512 bytes/],
    [{ time_bucket: -1 }, /time_bucket: /],
    [{ event_bucket: 1.5 }, /event_bucket: /],
    [{ immutable: "true" }, /immutable: /],
    [{ version: 0 }, /version: /],
    [{ version: "01" }, /version: must be a whole number/],
    [{ version: "-1" }, /version: must be a whole number/],
    [{ bytes: "5" }, /bytes: /],
    [{ events: 2 ** 60 }, /events: /],
    [{ detected_at: "yesterday" }, /detected_at: must be a time/],
    [{ detected_at: "2026-03-28T10:00:00.000000001Z" }, /detected_at: must be a time/],
  ];
  for (const [change, why] of cases) {
    const decoded = decodeDetection(utf8(JSON.stringify({ ...MESSAGE, ...change })));
    assert.equal(decoded.kind, "malformed", JSON.stringify(change));
    assert.match(decoded.why, why);
  }
});

test("Q11, C28: a field that a newer version adds is ignored", () => {
  const newer = { ...MESSAGE, more: 1, nested: { deeper: [] } };
  const decoded = decodeDetection(utf8(JSON.stringify(newer)));
  assert.deepEqual(decoded, decodeDetection(utf8(JSON.stringify(MESSAGE))));
  assert.equal(decoded.kind, "detection");
});

test("all malformed fields are reported at once", () => {
  const decoded = decodeDetection(utf8(JSON.stringify({ namespace: "plays" })));
  assert.equal(decoded.kind, "malformed");
  for (const field of Object.keys(MESSAGE).filter((name) => name !== "namespace")) {
    assert.match(decoded.why, new RegExp(`${field}: `));
  }
});

test("Q4: decoding any bytes returns an answer and never throws", () => {
  for (const bytes of [utf8(""), utf8("{"), utf8("null"), utf8("[]"), new Uint8Array([0xff])]) {
    assert.equal(decodeDetection(bytes).kind, "malformed");
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.equal(decodeDetection(bytes).kind, "malformed");
    }),
  );
});

test("one partition has one key, and two have different keys", () => {
  assert.equal(detectionKey(DETECTION), "plays|data_20260328|profile:123|7|2");
  assert.equal(detectionKey({ ...DETECTION, bytes: 1, epoch: 9 }), detectionKey(DETECTION));
  const barred = { ...DETECTION, timeSeriesId: "profile:123|7", timeBucket: 2, eventBucket: 0 };
  assert.notEqual(detectionKey(barred), detectionKey(DETECTION));
});
