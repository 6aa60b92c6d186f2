import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { Problems } from "../lib/problems.ts";
import { guessRoles } from "./guess-roles.ts";
import type { GivenRoles } from "./guess-roles.ts";

const HEAD = Array.from({ length: 20 }, (_, nth) => ({
  video_id: nth % 3,
  view_id: `9b19e2${nth + 10}-e1fa-11ee-8000-00000000000a`,
  viewed_at: `2024-03-14T10:00:${nth + 10}Z`,
  device: nth % 2 === 0 ? "tv" : "web",
}));

test("roles that are not given are guessed and said aloud", () => {
  const guessed = guessRoles(HEAD, {}, new Problems());
  deepEqual(guessed?.roles.partitionKey, ["video_id"]);
  equal(guessed?.roles.time, "viewed_at");
  deepEqual(guessed?.roles.clustering, [
    { column: "viewed_at", order: "DESC" },
    { column: "view_id", order: "ASC" },
  ]);
  deepEqual(guessed?.roles.candidates, ["view_id", "device"]);
  deepEqual(guessed?.roles.hashed, ["view_id"]);
  equal(guessed?.roles.types["video_id"], "bigint");
  deepEqual(
    guessed?.assumed.map((text) => /--[a-z-]+/.exec(text)?.[0]),
    ["--time", "--partition-key", "--clustering"],
  );
});

test("a column that does not exist is named with the nearest one, and all problems come together", () => {
  const problems = new Problems();
  const given = { partitionKey: ["vidoe_id"], time: "view_at", candidates: ["colour"] };
  equal(guessRoles(HEAD, given, problems), undefined);
  equal(problems.count, 3);
  match(problems.list().join("\n"), /--partition-key vidoe_id.*did you mean video_id\?/);
  match(problems.list().join("\n"), /--candidates colour.*there are video_id, view_id/);
});

test("a column of the partition key cannot split it", () => {
  const problems = new Problems();
  guessRoles(HEAD, { partitionKey: ["video_id"], candidates: ["video_id"] }, problems);
  match(problems.list().join(), /video_id is in the partition key already/);
});

test("a key is named, no column is in it twice, and a guessed key cannot split itself", () => {
  const refused = (given: GivenRoles): string => {
    const problems = new Problems();
    guessRoles(HEAD, given, problems);
    return problems.list().join();
  };
  match(refused({ partitionKey: [] }), /--partition-key: name a column/);
  match(refused({ partitionKey: ["device", "device"] }), /device is in the primary key twice/);
  const clustering = [{ column: "device", order: "ASC" } as const];
  match(refused({ partitionKey: ["device"], clustering }), /device is in the primary key twice/);
  match(refused({ candidates: ["video_id"] }), /video_id is in the partition key already/);
});

test("a numbered id is no time, though a snowflake is as large as nanoseconds are", () => {
  const head = HEAD.map(({ video_id, device }, nth) => ({
    channel_id: video_id,
    message_id: `115000000000000000${nth % 10}`,
    device,
  }));
  equal(guessRoles(head, {}, new Problems())?.roles.time, undefined);
});

test("a plain time is no candidate, whatever its name", () => {
  const head = HEAD.map(({ video_id, device }, nth) => ({
    video_id,
    at: 1_700_000_000 + nth,
    device,
  }));
  const guessed = guessRoles(head, {}, new Problems());
  equal(guessed?.roles.time, "at");
  deepEqual(guessed?.roles.candidates, ["device"]);
});
