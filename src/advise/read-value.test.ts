import { equal } from "node:assert/strict";
import { test } from "node:test";
import {
  cqlType,
  cqlTypeOf,
  looksLikeTime,
  microsOf,
  storedBytes,
  storedBytesAs,
} from "./read-value.ts";

test("a time is read from dates, ISO text, UUIDs and numbers of any unit", () => {
  const micros = 1_710_410_400_000_000;
  equal(microsOf(new Date(micros / 1_000)), micros);
  equal(microsOf("2024-03-14T10:00:00Z"), micros);
  equal(microsOf("2024-03-14 10:00:00.000+0000"), micros);
  equal(microsOf(micros / 1e6), micros);
  equal(microsOf(String(micros / 1e3)), micros);
  equal(microsOf(BigInt(micros)), micros);
  equal(microsOf(BigInt(micros) * 1_000n), micros);
  // The time of the version 1 example in RFC 9562.
  equal(microsOf("C232AB00-9414-11EC-B3C8-9F6BDECED846"), Date.UTC(2022, 1, 22, 19, 22, 22) * 1e3);
  equal(microsOf("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), Date.UTC(2022, 1, 22, 19, 22, 22) * 1e3);
  equal(microsOf("9b19e2c4-e1fa-41ee-8000-00000000000a"), Number.NaN);
  equal(microsOf("soon"), Number.NaN);
  // Date.parse finds a month in it.
  equal(microsOf("view 5"), Number.NaN);
  equal(microsOf("Thu, 14 Mar 2024 10:00:00 GMT"), micros);
});

test("a time without a zone is in UTC, whatever the zone of the machine", () => {
  const zone = process.env["TZ"];
  process.env["TZ"] = "America/New_York";
  try {
    const micros = 1_710_410_400_000_000;
    equal(microsOf("2024-03-14 10:00:00"), micros);
    equal(microsOf("2024-03-14T10:00"), micros);
    equal(microsOf("2024-03-14"), micros - 36_000_000_000);
    equal(microsOf("2024-03-14 06:00:00.000-0400"), micros);
  } finally {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  }
});

test("the type of a column fits all its values", () => {
  equal(cqlTypeOf(["5", "5.5"]), "double");
  equal(cqlTypeOf(["5", "x"]), "text");
  equal(cqlTypeOf(["2024-03-14", "5"]), "text");
  equal(cqlTypeOf(["5", "6"]), "bigint");
  equal(cqlTypeOf([]), "text");
});

test("values have the size and type that Cassandra gives them", () => {
  equal(storedBytes("9b19e2c4-e1fa-11ee-8000-00000000000a"), 16);
  equal(storedBytes("2024-03-14T10:00:00Z"), 8);
  equal(storedBytes("12345"), 8);
  equal(storedBytes("naïve"), 6);
  equal(storedBytes(null), 0);
  equal(cqlType("9b19e2c4-e1fa-11ee-8000-00000000000a"), "timeuuid");
  equal(cqlType("9b19e2c4-e1fa-41ee-8000-00000000000a"), "uuid");
  equal(cqlType(1.5), "double");
  equal(cqlType(1e300), "double");
  // A snowflake, the largest bigint, and one more.
  equal(cqlType("1150000000000000001"), "bigint");
  equal(cqlType("9223372036854775807"), "bigint");
  equal(cqlTypeOf(["9223372036854775808", "5"]), "varint");
  equal(cqlType(2n ** 63n), "varint");
  equal(cqlType("08001"), "text");
  equal(cqlType("0.5"), "double");
  equal(cqlType("x"), "text");
  equal(looksLikeTime("12345"), false);
  equal(looksLikeTime("1710410400"), true);
  equal(looksLikeTime("1710410400000"), true);
  equal(looksLikeTime("81234567890"), false);
});

test("bytes of a column follow its CQL type", () => {
  equal(storedBytesAs("1234567890123", "text"), 13);
  equal(storedBytesAs("1234567890123", "bigint"), 8);
  equal(storedBytesAs(5, "int"), 4);
  equal(storedBytesAs(5n, "counter"), 36);
  equal(storedBytesAs(null, "int"), 0);
  equal(storedBytesAs("not a number, though most are", "bigint"), 29);
});
