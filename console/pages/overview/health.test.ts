/** The one sentence of the overview: the most urgent finding wins, and each names a next step. */
import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { ServerList, ServerStatus } from "../../../client/connect.ts";
import { healthOf } from "./health.ts";
import type { Recent } from "./health.ts";

const QUIET: Recent = { reads: 10, writes: 5, timeouts: 0, refusals: 0, refusalCode: undefined };

const STATUS = {
  ready: true,
  notReady: "",
  namespaces: 2,
  paused: [],
  splits: [],
  killSwitch: { on: false, by: "", reason: "", unchanged: false },
  clock: { inDoubt: false, believedTime: "", leap: "0s", message: "" },
  disk: { readOnly: false, message: "", freeBytesMin: "0" },
} as unknown as ServerStatus; // The sentence looks at nothing else.

const SERVER = { name: "server-1", host: "a", silent: false, oldestViewAge: "1s" };

function listOf(...servers: object[]): ServerList {
  return { servers, viewMaxAge: "10s" } as unknown as ServerList; // Of others it reads nothing.
}

test("a quiet installation is healthy, and says what it does", () => {
  const { tone, sentence } = healthOf(STATUS, listOf(SERVER), QUIET);
  equal(tone, "ok");
  match(sentence, /^Healthy: 2 namespaces, 10\/s reads and 5\/s writes/);
});

test("each trouble has its sentence, and the more urgent one wins", () => {
  const failed = { ...STATUS, splits: [{ state: "FAILED", count: "3" }] } as ServerStatus;
  match(healthOf(failed, undefined, QUIET).sentence, /^3 splits failed/);
  const old = listOf({ ...SERVER, oldestViewAge: "30s" });
  match(healthOf(failed, old, QUIET).sentence, /server-1 refuses requests: its view is 30 s old/);
  const killed = { ...failed, killSwitch: { ...STATUS.killSwitch, on: true } };
  match(healthOf(killed, old, QUIET).sentence, /kill switch/);
  match(healthOf(killed, old, { ...QUIET, refusals: 4 }).sentence, /^4\/s of 19\/s requests were/);
  const timeouts = { ...QUIET, refusals: 4, timeouts: 2 };
  match(healthOf(killed, old, timeouts).sentence, /^2\/s of 19\/s requests ended in a timeout/);
  const silent = listOf({ ...SERVER, silent: true }, { ...SERVER, silent: true });
  match(
    healthOf(killed, silent, timeouts).sentence,
    /^server-1 on a and 1 more has not been heard/,
  );
  const away = { ...killed, ready: false, notReady: "the catalog is away" };
  equal(
    healthOf(away, silent, timeouts).sentence,
    "This server does not serve: the catalog is away.",
  );
});

test("a server without namespaces says how to make one", () => {
  const { next } = healthOf({ ...STATUS, namespaces: 0 }, undefined, QUIET);
  equal(next?.command, "braid ns create plays");
});

test("one refusal among many requests is no trouble", () => {
  equal(
    healthOf(STATUS, undefined, { ...QUIET, reads: 1000, timeouts: 1, refusals: 5 }).tone,
    "ok",
  );
});
