import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { SetReadModeRequestSchema } from "../../gen/braid/v1/read_mode_pb.js";
import type { ReadMode_Mode } from "../../gen/braid/v1/read_mode_pb.js";
import type { ReadModeReport, ReadModeUseCases } from "../../splits/use-cases.ts";
import type { Caller } from "../caller.ts";
import { readModeMethods } from "./read-mode-methods.ts";

const never = new AbortController().signal;
const NOON = Date.UTC(2026, 10, 15, 12) * 1000;

const REPORT: ReadModeReport = {
  state: {
    mode: "SHADOW",
    autoAdvance: true,
    since: NOON,
    by: "braid",
    reason: "first",
    round: 2,
    kinds: null,
  },
  evidence: [
    {
      layout: "PACKED",
      layoutVersion: 1,
      strategy: "EVENT_BUCKETS",
      round: 2,
      readsCompared: 41,
      bytesMatched: 1_000,
      bytesDiffered: 0,
      splitsCompared: 3,
      since: NOON + 1,
    },
  ],
  nextMode: "COMPARE",
  blockedBy: "41 of 100 reads",
  killSwitch: { on: true, at: NOON, by: "ana", reason: "a difference" },
  splitsPaused: { namespace: "plays", at: NOON, by: "bo", reason: "load" },
};

/** Use cases that record their calls. */
function fakes(report: ReadModeReport = REPORT): { modes: ReadModeUseCases; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const modes: ReadModeUseCases = {
    get: (namespace) => {
      calls.push([namespace]);
      return Promise.resolve(report);
    },
    set: (...args) => {
      calls.push(args);
      return Promise.resolve(report);
    },
    killSwitch: () => Promise.resolve({ on: false, at: 0, by: "", reason: "" }),
    setKillSwitch: (on, operatorRequest) => {
      calls.push([on, operatorRequest]);
      return Promise.resolve({ on, at: NOON, ...operatorRequest, unchanged: true });
    },
  };
  return { modes, calls };
}

async function ask(
  modes: ReadModeUseCases,
  name: string,
  value: object,
  caller?: Caller,
): Promise<Record<string, unknown>> {
  const method = readModeMethods(modes).find(({ desc }) => desc.name === name);
  const body = Buffer.from(JSON.stringify(value));
  const answer = await (await method?.fromJson(body, caller))?.run(never);
  return JSON.parse(String(await answer?.json())) as Record<string, unknown>;
}

test("a read mode is returned with its evidence, the next mode and what blocks it", async () => {
  const { modes, calls } = fakes();
  deepEqual(await ask(modes, "GetReadMode", { namespace: "plays" }), {
    mode: "SHADOW",
    evidence: [
      {
        layout: "PACKED",
        strategy: "EVENT_BUCKETS",
        readsCompared: "41",
        bytesMatched: "1000",
        bytesDiffered: "0",
        splitsCompared: "3",
        since: "2026-11-15T12:00:00.000001Z",
      },
    ],
    nextMode: "COMPARE",
    blockedBy: "41 of 100 reads",
    autoAdvance: true,
    since: "2026-11-15T12:00:00Z",
    by: "braid",
    reason: "first",
    killSwitch: {
      on: true,
      setTime: "2026-11-15T12:00:00Z",
      by: "ana",
      reason: "a difference",
      unchanged: false,
    },
    splitsPause: {
      namespace: "plays",
      since: "2026-11-15T12:00:00Z",
      by: "bo",
      reason: "load",
    },
  });
  deepEqual(calls, [["plays"]]);
  const last = fakes({ ...REPORT, nextMode: undefined }).modes;
  equal("nextMode" in (await ask(last, "GetReadMode", { namespace: "plays" })), false);
});

test("a mode is set with operator and reason, and fields that are not given stay", async () => {
  const { modes, calls } = fakes();
  await ask(modes, "SetReadMode", { namespace: "plays", mode: "SERVE" });
  await ask(modes, "SetReadMode", {
    namespace: "plays",
    mode: "OFF",
    force: true,
    autoAdvance: false,
    reason: "why",
  });
  deepEqual(calls, [
    ["plays", "SERVE", { force: false, autoAdvance: undefined }, { by: "operator", reason: "" }],
    ["plays", "OFF", { force: true, autoAdvance: false }, { by: "operator", reason: "why" }],
  ]);
});

test("an unknown mode is refused together with every other problem, and nothing changes", async () => {
  const { modes, calls } = fakes();
  await rejects(ask(modes, "SetReadMode", { namespace: "plays", reason: "x".repeat(1_025) }), {
    code: "REQUEST_INVALID",
    message:
      "mode is missing; use OFF or SHADOW or COMPARE or SERVE; reason has 1025 characters, the limit is 1024",
  });
  await rejects(ask(modes, "SetReadMode", { namespace: "plays", mode: "ON" }), {
    code: "REQUEST_INVALID",
  });
  const method = readModeMethods(modes).find(({ desc }) => desc.name === "SetReadMode");
  const odd = create(SetReadModeRequestSchema, { namespace: "p", mode: 99 as ReadMode_Mode });
  await rejects(
    async () => (await method?.fromBinary(toBinary(SetReadModeRequestSchema, odd)))?.run(never),
    { message: /^mode 99 is not known/ },
  );
  await rejects(ask(modes, "SetKillSwitch", { on: true, reason: "x".repeat(1_025) }), {
    code: "REQUEST_INVALID",
  });
  deepEqual(calls, []);
});

test("the kill switch is returned and set", async () => {
  const { modes, calls } = fakes();
  deepEqual(await ask(modes, "GetKillSwitch", {}), {
    on: false,
    by: "",
    reason: "",
    unchanged: false,
  });
  const request = { on: true, reason: "why" };
  deepEqual(await ask(modes, "SetKillSwitch", request, { operator: "ana@ops-1" }), {
    on: true,
    setTime: "2026-11-15T12:00:00Z",
    by: "ana@ops-1",
    reason: "why",
    unchanged: true,
  });
  deepEqual(calls, [[true, { by: "ana@ops-1", reason: "why" }]]);
});
