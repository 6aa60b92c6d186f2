import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { SplitLocation, VerifyProgress, VerifyUseCases } from "../../splits/use-cases.ts";
import { verifyMethods } from "./verify.ts";

const never = new AbortController().signal;
const NOON = Date.UTC(2026, 10, 15, 12) * 1000;

const PARTITION = { timeSlice: "data_20261114", timeSeriesId: "p", timeBucket: 7, eventBucket: 2 };
const LOCATION = {
  namespace: "plays",
  timeSlice: "data_20261114",
  seriesId: "p",
  timeBucket: 7,
  eventBucket: 2,
};

const PROGRESS: VerifyProgress & { readonly by: string } = {
  by: "worker-1",
  eventsTotal: 100,
  bytesTotal: 1200,
  verifyId: "v-1",
  namespace: "plays",
  state: "DONE",
  splitsDone: 3,
  splitsTotal: 4,
  eventsCompared: 50,
  bytesCompared: 600,
  differences: [
    {
      location: LOCATION,
      kind: "other bytes",
      eventTime: NOON + 1,
      eventId: "e-1",
      detail: "at 7",
    },
  ],
  differencesFound: 9,
  startedAt: NOON,
  endedAt: NOON + 2_000_000,
  reason: "",
};

async function ask(
  name: string,
  value: object,
  progress: VerifyProgress & { readonly by: string } = PROGRESS,
): Promise<{ answer: Record<string, unknown>; calls: unknown[][] }> {
  const calls: unknown[][] = [];
  const verify: VerifyUseCases = {
    start: (...args) => {
      calls.push(args);
      return Promise.resolve("v-1");
    },
    get: (...args) => {
      calls.push(args);
      return Promise.resolve(progress);
    },
  };
  const method = verifyMethods(verify, locate).find(({ desc }) => desc.name === name);
  const answer = await (await method?.fromJson(Buffer.from(JSON.stringify(value))))?.run(never);
  return { answer: JSON.parse(String(await answer?.json())) as Record<string, unknown>, calls };
}

const locate = async (namespace: string, splitId: string): Promise<SplitLocation> => {
  deepEqual([namespace, splitId], ["plays", "c11psr2pyb"]);
  return LOCATION;
};

test("a comparison starts for one partition, one slice, or all", async () => {
  const cases: readonly (readonly [object, object])[] = [
    [{}, {}],
    [{ timeSlice: "data_20261114" }, { timeSlice: "data_20261114" }],
    [{ partition: PARTITION }, { location: LOCATION }],
    [{ splitId: "c11psr2pyb" }, { location: LOCATION }],
  ];
  for (const [given, target] of cases) {
    const { answer, calls } = await ask("StartVerify", { namespace: "plays", ...given });
    deepEqual(answer, { verifyId: "v-1" });
    deepEqual(calls, [["plays", target]]);
  }
});

test("a comparison that cannot start is refused with every problem", async () => {
  await rejects(ask("StartVerify", { namespace: "plays", timeSlice: "s", partition: {} }), {
    code: "REQUEST_INVALID",
    message: /not both; partition\.timeSeriesId is missing; partition\.timeSlice is missing$/,
  });
  await rejects(ask("StartVerify", { namespace: "plays", timeSlice: "s".repeat(65) }), {
    code: "REQUEST_INVALID",
  });
  await rejects(ask("GetVerify", { namespace: "plays" }), { message: /^verifyId is missing/ });
  await rejects(ask("GetVerify", { namespace: "plays", verifyId: "v".repeat(129) }), {
    code: "REQUEST_INVALID",
  });
});

test("differences are returned with their location and number", async () => {
  const request = { namespace: "plays", verifyId: "v-1" };
  const { answer, calls } = await ask("GetVerify", request);
  deepEqual(calls, [["plays", "v-1"]]);
  deepEqual(answer, {
    state: "DONE",
    eventsCompared: "50",
    bytesCompared: "600",
    differences: [
      {
        partition: PARTITION,
        kind: "other bytes",
        eventTime: "2026-11-15T12:00:00.000001Z",
        eventId: "e-1",
        detail: "at 7",
      },
    ],
    differencesFound: "9",
    verifyId: "v-1",
    namespace: "plays",
    splitsDone: "3",
    splitsTotal: "4",
    startTime: "2026-11-15T12:00:00Z",
    endTime: "2026-11-15T12:00:02Z",
    reason: "",
    bytesTotal: "1200",
    eventsTotal: "100",
    owner: "worker-1",
  });
  const running = await ask("GetVerify", request, { ...PROGRESS, state: "RUNNING", endedAt: 0 });
  equal(running.answer["state"], "RUNNING");
  equal("endTime" in running.answer, false);
});
