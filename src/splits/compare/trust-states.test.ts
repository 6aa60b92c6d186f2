import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { TrustStates } from "./trust-states.ts";

const FIRST = { generation: 1, from: 0 };

test("a copy is unseen until it is proven; another copy of the same time is unseen again", () => {
  const trustStates = new TrustStates();
  equal(trustStates.of("a", FIRST), "UNSEEN");
  trustStates.prove("a", FIRST);
  trustStates.prove("a", { generation: 2, from: 10 });
  equal(trustStates.of("a", FIRST), "PROVEN");
  equal(trustStates.of("a", { generation: 2, from: 10 }), "PROVEN");
  equal(trustStates.of("a", { generation: 3, from: 0 }), "UNSEEN");
  equal(trustStates.of("b", FIRST), "UNSEEN");
  trustStates.prove("a", { generation: 3, from: 0 });
  equal(trustStates.of("a", FIRST), "UNSEEN");
});

test("a quarantined split stays quarantined whatever matches, until it is cleared; then it is unseen", () => {
  const trustStates = new TrustStates();
  trustStates.prove("a", FIRST);
  equal(trustStates.quarantine("a", FIRST), true);
  equal(trustStates.quarantine("a", FIRST), true);
  trustStates.prove("a", FIRST);
  equal(trustStates.of("a", FIRST), "QUARANTINED");
  trustStates.clear("a", FIRST);
  equal(trustStates.of("a", FIRST), "UNSEEN");
  trustStates.clear("a", FIRST);
  trustStates.prove("a", FIRST);
  equal(trustStates.of("a", FIRST), "PROVEN");
});

test("proven copies are evicted to make room, a quarantined split never", () => {
  const trustStates = new TrustStates({ provenMax: 3, quarantinedMax: 3 });
  trustStates.quarantine("quarantined", FIRST);
  for (let n = 0; n < 10; n++) trustStates.prove(`proven ${n}`, FIRST);
  equal(trustStates.of("quarantined", FIRST), "QUARANTINED");
  const states = Array.from({ length: 10 }, (_, n) => trustStates.of(`proven ${n}`, FIRST));
  equal(states.filter((state) => state === "PROVEN").length, 3);
});

test("while there is no room for another quarantined split no split is trusted", () => {
  const trustStates = new TrustStates({ provenMax: 10, quarantinedMax: 2 });
  trustStates.prove("sound", FIRST);
  trustStates.prove("third", FIRST);
  for (const name of ["first", "second"]) equal(trustStates.quarantine(name, FIRST), true);
  equal(trustStates.quarantine("third", FIRST), false);
  equal(trustStates.of("sound", FIRST), "QUARANTINED");
  trustStates.clear("first", FIRST);
  equal(trustStates.of("sound", FIRST), "PROVEN");
  equal(trustStates.of("third", FIRST), "UNSEEN");
});

test("a server trusts each of 200,000 proven splits, in whatever order they are read", () => {
  const trustStates = new TrustStates();
  const splits = 200_000;
  for (let n = 0; n < splits; n++) trustStates.prove(`split ${n}`, FIRST);
  let proven = 0;
  for (let n = 0; n < splits; n++) {
    if (trustStates.of(`split ${n}`, FIRST) === "PROVEN") proven++;
  }
  equal(proven, splits);
});

test("reads that visit twice as many splits as there is room for still trust a share of them", () => {
  const trustStates = new TrustStates({ provenMax: 1_000 });
  let proven = 0;
  for (let read = 0; read < 20_000; read++) {
    const split = `split ${read % 2_000}`;
    if (trustStates.of(split, FIRST) === "PROVEN") proven++;
    else trustStates.prove(split, FIRST);
  }
  ok(proven >= 6_000, `${proven} of 20,000 reads`);
});
