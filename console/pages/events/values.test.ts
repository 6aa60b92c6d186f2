import { equal } from "node:assert/strict";
import { test } from "node:test";
import type { ReceivedEvent } from "../../../client/connect.ts";
import { csvOf, valueText } from "./values.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a value is shown as text, JSON or hex; what is not text says so", () => {
  equal(valueText(bytes('{"a":1}'), "text"), '{"a":1}');
  equal(valueText(bytes('{"a":1}'), "json"), '{\n  "a": 1\n}');
  equal(valueText(bytes("plain"), "json"), "plain");
  equal(valueText(bytes("ab"), "hex"), "61 62");
  equal(valueText(new Uint8Array([0xff, 0x00]), "text"), "not text: ff 00");
});

test("a long value is cut, and says how much is missing", () => {
  equal(valueText(bytes("x".repeat(2_010)), "text").endsWith("x … 10 more characters"), true);
});

test("Z7: cells of a CSV are quoted, and none begins like a formula", () => {
  const event = {
    timeSeriesId: "=1+1",
    eventTime: "2026-11-18T00:00:00Z",
    eventId: 'a"b',
    items: [{ key: "k", text: "x,y" }],
  } as unknown as ReceivedEvent;
  equal(
    csvOf([event]),
    `timeSeriesId,eventTime,eventId,k\n'=1+1,2026-11-18T00:00:00Z,"a""b","x,y"\n`,
  );
});
