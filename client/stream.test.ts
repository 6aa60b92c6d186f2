import { deepEqual, equal, rejects } from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test as testOnce } from "node:test";
import {
  CLIENT_WIRES,
  collect,
  fakeBraid,
  pageJson,
  refuse,
  SkippingTiming,
  streamedPage,
  streamEnd,
} from "../tests/support/fake-braid.ts";
import { connect as connectBy } from "./connect.ts";
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
  end: "2026-11-16T00:00:00Z",
};

async function send(response: ServerResponse, chunk: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve) => {
    response.write(chunk, () => resolve());
  });
}

test("pages of a stream are complete wherever its chunks are cut", async () => {
  await using server = await fakeBraid(async (_request, response) => {
    const bytes = Buffer.concat([
      streamedPage(response, pageJson(["ä", "b"], "t")),
      streamedPage(response, pageJson(["漢"], "")),
      streamEnd(response),
    ]);
    for (let at = 0; at < bytes.length; at += 7) await send(response, bytes.subarray(at, at + 7));
    response.end();
  });
  const ids: string[] = [];
  for await (const event of connect(server.url).stream("plays", QUERY)) ids.push(event.eventId);
  deepEqual(ids, ["ä", "b", "漢"]);
  equal(server.requests[0]?.method, "StreamEventRecords");
});

test("N3: a stream that breaks continues after its last complete page", async () => {
  await using server = await fakeBraid(async (request, response) => {
    if (server.requests.length === 1) {
      await send(response, streamedPage(response, pageJson(["a", "b"], "after-b")));
      await send(response, streamedPage(response, pageJson(["c"], "after-c")).subarray(0, 50));
      request.raw.socket.destroy();
    } else if (server.requests.length === 2) {
      // Ends without an error, but before the end of the stream.
      response.end(streamedPage(response, pageJson(["c"], "after-c")));
    } else {
      response.write(streamedPage(response, pageJson(["d"], "")));
      response.end(streamEnd(response));
    }
  });
  const client = connect(server.url, { timing: new SkippingTiming() });
  const events = await collect(client.stream("plays", QUERY));
  deepEqual(
    events.map((event) => event.eventId),
    ["a", "b", "c", "d"],
  );
  deepEqual(
    server.requests.map((request) => request.body["pageToken"]),
    ["", "after-b", "after-c"],
  );
});

test("an error at the end of a stream is thrown, or retried if it is temporary", async () => {
  await using server = await fakeBraid((request, response) => {
    const passing = request.body["pageToken"] === "";
    const [id, code] = passing ? ["a", "STORAGE_UNAVAILABLE"] : ["b", "DATA_LOSS"];
    response.write(streamedPage(response, pageJson([id], `after-${id}`)));
    response.end(streamEnd(response, { code, message: "no" }));
    return undefined;
  });
  const ids: string[] = [];
  const client = connect(server.url, { timing: new SkippingTiming() });
  await rejects(
    async () => {
      for await (const event of client.stream("plays", QUERY)) ids.push(event.eventId);
    },
    { name: "BraidError", code: "DATA_LOSS", outcome: "failed" },
  );
  deepEqual(ids, ["a", "b"]);
});

test("a stream that may lack an event is neither continued nor retried", async () => {
  const body = { code: "CONFLICT", message: "begin the read again, without a page token" };
  await using server = await fakeBraid((_request, response) => {
    response.write(streamedPage(response, pageJson(["a"], "after-a")));
    response.end(streamEnd(response, body));
    return undefined;
  });
  const client = connect(server.url, { timing: new SkippingTiming() });
  await rejects(collect(client.stream("plays", QUERY)), { code: "CONFLICT", outcome: "failed" });
  equal(server.requests.length, 1);
});

test("a page that may lack an event is not requested again", async () => {
  await using server = await fakeBraid((_request, response) =>
    refuse(response, 409, "CONFLICT", { headers: { "retry-after": "1" } }),
  );
  const client = connect(server.url, { timing: new SkippingTiming() });
  await rejects(collect(client.read("plays", QUERY)), { code: "CONFLICT", outcome: "failed" });
  equal(server.requests.length, 1);
});

test("N2: leaving the loop makes the server stop", async () => {
  const gone = Promise.withResolvers<undefined>();
  await using server = await fakeBraid(async (_request, response) => {
    response.once("close", () => gone.resolve(undefined));
    await send(response, streamedPage(response, pageJson(["a", "b"], "t")));
  });
  for await (const event of connect(server.url).stream("plays", QUERY)) {
    equal(event.eventId, "a");
    break;
  }
  await gone.promise;
});

test("a stream may last longer than the deadline, a page of it may not", async () => {
  const timing = new SkippingTiming();
  await using server = await fakeBraid(async (_request, response) => {
    await send(response, streamedPage(response, pageJson(["a"], "t1")));
    await send(response, streamedPage(response, pageJson(["b"], "t2")));
  });
  const events = connect(server.url, { timing, deadlineMs: 30_000 }).stream("plays", QUERY);
  const pages = events.pages();
  await pages.next();
  timing.pass(60_000);
  await pages.next();
  const third = pages.next();
  timing.pass(30_000);
  await rejects(third, { code: "DEADLINE_EXCEEDED" });
  equal(server.requests.length, 1);
});
