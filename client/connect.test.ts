import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test as testOnce } from "node:test";
import { inspect } from "node:util";
import {
  CLIENT_WIRES,
  collect,
  fakeBraid,
  freePort,
  pageJson,
  recordJson,
  refuse,
  SkippingTiming,
} from "../tests/support/fake-braid.ts";
import { BraidError, connect as connectBy, EventsFailedError } from "./connect.ts";
import type { BraidClient, ConnectOptions } from "./connect.ts";

/** Every test runs over each way to a server. */
function test(title: string, run: () => Promise<void>): void {
  for (const [suffix, options] of CLIENT_WIRES) {
    testOnce(`${title}${suffix}`, async () => {
      wire = options;
      await run();
    });
  }
}

let wire: ConnectOptions = {};

function connect(url: string, options: ConnectOptions = {}): BraidClient {
  return connectBy(url, { ...wire, ...options });
}

const QUERY = {
  timeSeriesId: "profile:1",
  start: "2026-11-15T00:00:00Z",
  end: new Date("2026-11-16T00:00:00Z"),
};
const EVENT = {
  timeSeriesId: "profile:1",
  eventTime: "2026-11-15T10:00:00.000001Z",
  eventId: "e-1",
  items: { device: "ios", raw: new Uint8Array([0, 255]) },
};

async function failure(promise: Promise<unknown>): Promise<BraidError> {
  try {
    await promise;
  } catch (error) {
    ok(error instanceof BraidError, String(error));
    return error;
  }
  throw new Error("it did not fail");
}

test("a write is sent in the contract's form, with exact microseconds and bytes", async () => {
  await using server = await fakeBraid(() => ({ written: 1, failures: [] }));
  const result = await connect(`${server.url}/`).writeSync("plays", [EVENT]);
  equal(result.written, 1);
  equal(server.requests[0]?.method, "WriteEventRecordsSync");
  deepEqual(server.requests[0].body, {
    namespace: "plays",
    events: [
      {
        timeSeriesId: "profile:1",
        eventTime: "2026-11-15T10:00:00.000001Z",
        eventId: "e-1",
        eventItems: [
          { eventItemKey: "device", eventItemValue: "aW9z" },
          { eventItemKey: "raw", eventItemValue: "AP8=" },
        ],
      },
    ],
  });
});

test("an event that was read keeps its microseconds, decodes its values, and prints as the API answered", async () => {
  await using server = await fakeBraid(() => pageJson(["a"], ""));
  const events = await collect(connect(server.url).read("plays", QUERY));
  const [event] = events;
  ok(event !== undefined);
  equal(event.timeMicros, Date.UTC(2026, 10, 15, 10) * 1000 + 1);
  equal(event.eventTime, "2026-11-15T10:00:00.000001Z");
  deepEqual(event.get("device"), new Uint8Array([105, 111, 115]));
  equal(event.items[0]?.text, "ios");
  equal(event.get("missing"), undefined);
  deepEqual(JSON.parse(JSON.stringify(event)), recordJson("a"));
});

test("a read follows the tokens to the end, also over empty pages", async () => {
  const pages = [pageJson(["a", "b"], "t1"), pageJson([], "t2"), pageJson(["c"], "")];
  await using server = await fakeBraid(() => pages[server.requests.length - 1]);
  const reading = connect(server.url).read("plays", { ...QUERY, filters: { device: "ios" } });
  const ids: string[] = [];
  for await (const event of reading) ids.push(event.eventId);
  deepEqual(ids, ["a", "b", "c"]);
  deepEqual(
    server.requests.map((request) => request.body["pageToken"]),
    ["", "t1", "t2"],
  );
  const interval = server.requests[0]?.body["timeInterval"] as { start: string; end: string };
  equal(interval.start, "2026-11-15T00:00:00Z");
  match(interval.end, /^2026-11-16T00:00:00(?:\.000)?Z$/);
  deepEqual(server.requests[0]?.body["eventFilters"], [
    { matchEventItemKey: "device", matchEventItemValue: "aW9z" },
  ]);
});

test("pages have their cost, and a query continues from a token", async () => {
  await using server = await fakeBraid(() => pageJson(["a"], ""));
  const query = { ...QUERY, pageToken: "from-before", pageSize: 10, totalRecordLimit: 20 };
  for await (const page of connect(server.url).read("plays", query).pages()) {
    equal(page.context?.bytesRead, "100");
    equal(page.nextPageToken, "");
  }
  equal(server.requests[0]?.body["pageToken"], "from-before");
  equal(server.requests[0].body["pageSize"], 10);
  equal(server.requests[0].body["totalRecordLimit"], "20");
});

test("N2: leaving the loop requests no further page", async () => {
  await using server = await fakeBraid(() => pageJson(["a", "b"], "more"));
  for await (const event of connect(server.url).read("plays", QUERY)) {
    equal(event.eventId, "a");
    break;
  }
  equal(server.requests.length, 1);
});

test("O2: a call to an overloaded server is retried, not before the delay it gave", async () => {
  const timing = new SkippingTiming();
  await using server = await fakeBraid((_request, response) =>
    server.requests.length < 3
      ? refuse(response, 429, "OVERLOADED", { headers: { "retry-after": "2" } })
      : { written: 1, failures: [] },
  );
  await connect(server.url, { timing }).writeSync("plays", [EVENT]);
  equal(server.requests.length, 3);
  equal(timing.slept.length, 2);
  ok(timing.slept.every((ms) => ms >= 2000));
});

test("the client does not wait for a hint beyond the deadline", async () => {
  const timing = new SkippingTiming();
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 429, "OVERLOADED", { headers: { "retry-after": "120" } }),
  );
  const error = await failure(connect(server.url, { timing }).writeSync("plays", [EVENT]));
  equal(error.code, "OVERLOADED");
  equal(error.retryAfterMs, 120_000);
  equal(error.outcome, "failed");
  equal(server.requests.length, 1);
});

test("a permanent error is thrown at once, with all its problems", async () => {
  const problems = ["pageSize: too large", "timeInterval.end: missing"];
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 400, "REQUEST_INVALID", { details: { problems }, message: "two problems" }),
  );
  const error = await failure(connect(server.url).explain("plays", QUERY));
  equal(error.code, "REQUEST_INVALID");
  equal(error.status, 400);
  equal(error.message, "two problems");
  deepEqual(error.problems, problems);
  equal(server.requests.length, 1);
});

test("O2: tries are bounded, and their delays grow", async () => {
  const timing = new SkippingTiming();
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 503, "STORAGE_UNAVAILABLE"),
  );
  const client = connect(server.url, { timing, retries: { attemptsMax: 4 } });
  const error = await failure(client.getNamespace("plays"));
  equal(error.code, "STORAGE_UNAVAILABLE");
  equal(server.requests.length, 4);
  deepEqual(timing.slept, [37.5, 75, 150]);
});

test("O2: a client whose calls keep failing stops retrying them", async () => {
  const timing = new SkippingTiming();
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 503, "STORAGE_UNAVAILABLE"),
  );
  const client = connect(server.url, { timing });
  for (let i = 0; i < 20; i++) await failure(client.getNamespace("plays"));
  equal(server.requests.length, 20 + 100);
});

test("N1: a write whose connection breaks every time has an unknown outcome, a read has failed", async () => {
  const timing = new SkippingTiming();
  await using server = await fakeBraid((request) => {
    request.raw.socket.destroy();
    return undefined;
  });
  const client = connect(server.url, { timing, retries: { attemptsMax: 3 } });
  const write = await failure(client.writeSync("plays", [EVENT]));
  equal(write.code, "SERVER_UNREACHABLE");
  equal(write.outcome, "unknown");
  equal(server.requests.length, 3);
  const read = await failure(collect(client.read("plays", QUERY)));
  equal(read.outcome, "failed");
});

test("a write that never reached a server has failed for certain", async () => {
  const client = connect(`http://127.0.0.1:${await freePort()}`, {
    timing: new SkippingTiming(),
    retries: { attemptsMax: 2 },
  });
  const error = await failure(client.writeSync("plays", [EVENT]));
  equal(error.code, "SERVER_UNREACHABLE");
  equal(error.outcome, "failed");
});

test("N1: one lost answer makes the outcome unknown, whatever later answers say", async () => {
  await using server = await fakeBraid((request, response) => {
    if (server.requests.length > 1) return refuse(response, 403, "ID_BLOCKED");
    request.raw.socket.destroy();
    return undefined;
  });
  const client = connect(server.url, { timing: new SkippingTiming() });
  const error = await failure(client.writeSync("plays", [EVENT]));
  equal(error.code, "ID_BLOCKED");
  equal(error.outcome, "unknown");
});

test("N1: CreateNamespace is not retried unless the server refused it before any work", async () => {
  await using server = await fakeBraid((_request, response) =>
    server.requests.length === 1
      ? refuse(response, 429, "OVERLOADED")
      : refuse(response, 504, "OUTCOME_UNKNOWN"),
  );
  const client = connect(server.url, { timing: new SkippingTiming() });
  const error = await failure(client.createNamespace("plays"));
  equal(error.code, "OUTCOME_UNKNOWN");
  equal(error.outcome, "unknown");
  equal(server.requests.length, 2);
});

test("a call to a server that does not answer ends at the deadline", async () => {
  const timing = new SkippingTiming();
  const arrived = Promise.withResolvers<undefined>();
  const gone = Promise.withResolvers<undefined>();
  await using server = await fakeBraid((_request, response) => {
    response.once("close", () => gone.resolve(undefined));
    arrived.resolve(undefined);
    return undefined;
  });
  const client = connect(server.url, { timing, deadlineMs: 30_000 });
  const writing = failure(client.writeSync("plays", [EVENT]));
  await arrived.promise;
  timing.pass(30_000);
  const error = await writing;
  equal(error.code, "DEADLINE_EXCEEDED");
  equal(error.outcome, "unknown");
  await gone.promise;
  equal(timing.waiting, 0, "no timer is left behind");
});

test("the caller's signal stops a call with the caller's reason", async () => {
  const stop = new AbortController();
  const gone = Promise.withResolvers<undefined>();
  await using server = await fakeBraid((_request, response) => {
    response.once("close", () => gone.resolve(undefined));
    stop.abort(new Error("enough"));
    return undefined;
  });
  const reading = connect(server.url).read("plays", { ...QUERY, signal: stop.signal });
  await rejects(collect(reading), /^Error: enough$/);
  await gone.promise;
});

test("an answer that is not Braid's is recognised", async () => {
  await using server = await fakeBraid((_request, response) => {
    response.end("<html>hello</html>");
    return undefined;
  });
  const error = await failure(connect(server.url).getNamespace("plays"));
  equal(error.code, "ANSWER_INVALID");
  throws(() => connect("localhost:8420"), /not an address/);
});

test("lists are read over all their pages", async () => {
  await using server = await fakeBraid((request) =>
    request.body["pageToken"] === ""
      ? { namespaces: [{ namespace: "a" }], nextPageToken: "n" }
      : { namespaces: [{ namespace: "b" }], nextPageToken: "" },
  );
  const names = await collect(connect(server.url).listNamespaces());
  deepEqual(
    names.map(({ namespace }) => namespace),
    ["a", "b"],
  );
});

const TOO_OLD = { index: 1, code: "EVENT_TOO_OLD", message: "older than acceptLimit" };
const LATER = { index: 2, code: "OUTCOME_UNKNOWN", message: "repeat it" };

for (const name of ["writeSync", "write"] as const) {
  test(`${name} throws when an event fails, and says which and why`, async () => {
    const failures = [TOO_OLD];
    await using server = await fakeBraid(() => ({ written: 2, accepted: 2, failures }));
    const client = connect(server.url);
    const error = await failure(client[name]("plays", [EVENT, EVENT, EVENT]));
    ok(error instanceof EventsFailedError);
    equal(error.code, "EVENTS_FAILED");
    deepEqual(error.failures, failures);
    equal(error.written, 2);
    equal(error.outcome, "failed");
    match(error.message, /^1 of 3 events failed \(1 EVENT_TOO_OLD\); event 1: older/);
    equal(server.requests.length, 1);
  });

  test(`${name} returns failures to a caller that asks for them`, async () => {
    const count = name === "writeSync" ? { written: 2 } : { accepted: 2 };
    const answer = { ...count, failures: [TOO_OLD], responseContext: [COST_NOTHING] };
    await using server = await fakeBraid(() => answer);
    const events = [EVENT, EVENT, EVENT];
    deepEqual(await connect(server.url)[name]("plays", events, { failures: "return" }), answer);
  });
}

/** As the client shows it. */
const COST_NOTHING = {
  namespace: "plays",
  timeTaken: "0.001s",
  partitionsRead: 0,
  splitPartitionsRead: 0,
  bytesRead: "0",
  partial: false,
  partialReason: "",
};

test("one event of unknown outcome makes the outcome of the write unknown", async () => {
  await using server = await fakeBraid(() => ({ written: 1, failures: [TOO_OLD, LATER] }));
  const error = await failure(connect(server.url).writeSync("plays", [EVENT, EVENT, EVENT]));
  equal(error.outcome, "unknown");
  match(error.message, /^2 of 3 events failed \(1 EVENT_TOO_OLD, 1 OUTCOME_UNKNOWN\)/);
});

test("an event shows its values as text, or as bytes where they are not text", async () => {
  const raw = { eventItemKey: "raw", eventItemValue: "AP8=" };
  const eventItems = [{ eventItemKey: "device", eventItemValue: "aW9z" }, raw];
  const records = [{ ...recordJson("a"), eventItems }];
  await using server = await fakeBraid(() => ({ ...pageJson([], ""), records }));
  const [event] = await collect(connect(server.url).read("plays", QUERY));
  ok(event !== undefined);
  equal(event.text("device"), "ios");
  equal(event.text("missing"), undefined);
  const shown = inspect(event, { breakLength: Infinity });
  match(
    shown,
    /^ReceivedEvent \{ timeSeriesId: 'profile:1', eventTime: '2026-[^']+', eventId: 'a',/,
  );
  match(shown, /items: \{ device: 'ios', raw: Uint8Array\(2\) \[ 0, 255 \] \} \}$/);
  equal(inspect(event.items[0]), "ReceivedItem { key: 'device', value: 'ios' }");
  equal(inspect({ a: { b: { c: event } } }), "{ a: { b: { c: [ReceivedEvent] } } }");
  deepEqual(JSON.parse(JSON.stringify(event.items[1])), raw);
});

test("an event that was read can be written again unchanged", async () => {
  await using server = await fakeBraid(({ method }) =>
    method === "ReadEventRecords" ? pageJson(["a"], "") : { written: 1, failures: [] },
  );
  const client = connect(server.url);
  const [event] = await collect(client.read("plays", QUERY));
  ok(event !== undefined);
  await client.writeSync("plays", [event.toObject()]);
  deepEqual(server.requests[1]?.body["events"], [recordJson("a")]);
});

test("control calls send the operator's name, and other calls do not", async () => {
  await using server = await fakeBraid(() => ({ written: 1, failures: [] }));
  const client = connect(server.url, { operator: "ada@example.com" });
  await client.getNamespace("plays");
  await client.splits.getKillSwitch();
  await client.writeSync("plays", [EVENT]);
  deepEqual(
    server.requests.map(({ raw }) => raw.headers["braid-operator"]),
    ["ada@example.com", "ada@example.com", undefined],
  );
  for (const operator of ["", " ada", "zoë", "a\nb", "a".repeat(129)]) {
    throws(() => connect(server.url, { operator }), /operator/);
  }
});

test("a workload is sent with the choices that were made, to plan and to create", async () => {
  await using server = await fakeBraid(() => ({ chosen: {} }));
  const braid = connect(server.url);
  const workload = { ids: { mid: 1_000 }, eventsPerDayPerId: { mid: 10 }, retention: "2592000s" };
  await braid.planNamespace(workload);
  await braid.planNamespace(workload, { seed: 7, worlds: 16 });
  await braid.createNamespace("plays", { futureLimit: "30s" }, { workload });
  deepEqual(
    server.requests.map(({ method, body }) => [method, body]),
    [
      ["PlanNamespace", { workload }],
      ["PlanNamespace", { workload, seed: 7, worlds: 16 }],
      ["CreateNamespace", { namespace: "plays", config: { futureLimit: "30s" }, workload }],
    ],
  );
});
