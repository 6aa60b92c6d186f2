import { equal } from "node:assert/strict";
import { test } from "node:test";
import { Standings } from "./standings.ts";

const FIRST = { generation: 1, from: 0 };

test("a copy is unseen until it is proven; another copy of the same time is another", () => {
  const standings = new Standings();
  equal(standings.of("a", FIRST), "UNSEEN");
  standings.prove("a", FIRST);
  standings.prove("a", { generation: 2, from: 10 });
  equal(standings.of("a", FIRST), "PROVEN");
  equal(standings.of("a", { generation: 2, from: 10 }), "PROVEN");
  equal(standings.of("a", { generation: 3, from: 0 }), "UNSEEN");
  equal(standings.of("b", FIRST), "UNSEEN");
  standings.prove("a", { generation: 3, from: 0 });
  equal(standings.of("a", FIRST), "UNSEEN");
});

test("a suspect stays one whatever matches, until it is cleared; then it is unseen", () => {
  const standings = new Standings();
  standings.prove("a", FIRST);
  equal(standings.suspect("a", FIRST), true);
  equal(standings.suspect("a", FIRST), true);
  standings.prove("a", FIRST);
  equal(standings.of("a", FIRST), "SUSPECT");
  standings.clear("a", FIRST);
  equal(standings.of("a", FIRST), "UNSEEN");
  standings.clear("a", FIRST);
  standings.prove("a", FIRST);
  equal(standings.of("a", FIRST), "PROVEN");
});

test("what matched is forgotten for room, a suspect never", () => {
  const standings = new Standings(3, 3);
  standings.suspect("suspect", FIRST);
  for (let n = 0; n < 10; n++) standings.prove(`proven ${n}`, FIRST);
  equal(standings.of("suspect", FIRST), "SUSPECT");
  equal(standings.of("proven 6", FIRST), "UNSEEN");
  equal(standings.of("proven 9", FIRST), "PROVEN");
});

test("where there is no room for another suspect no split is trusted until there is", () => {
  const standings = new Standings(10, 2);
  standings.prove("sound", FIRST);
  standings.prove("third", FIRST);
  for (const name of ["first", "second"]) equal(standings.suspect(name, FIRST), true);
  equal(standings.suspect("third", FIRST), false);
  equal(standings.of("sound", FIRST), "SUSPECT");
  standings.clear("first", FIRST);
  equal(standings.of("sound", FIRST), "PROVEN");
  equal(standings.of("third", FIRST), "UNSEEN");
});
