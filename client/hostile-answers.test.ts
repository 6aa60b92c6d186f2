/** Servers, proxies and networks that answer wrongly, break off, or send too much. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test as testOnce } from "node:test";
import { setImmediate } from "node:timers/promises";
import {
  CLIENT_WIRES,
  collect,
  envelope,
  fakeBraid,
  pageJson,
  SkippingTiming,
  streamedPage,
  streamEnd,
} from "../tests/support/fake-braid.ts";
import { BraidError, connect as connectBy } from "./connect.ts";
import type { BraidClient, ConnectOptions } from "./connect.ts";
import { encodeEvent } from "./encode-request.ts";
import { readEnvelopes } from "./envelopes.ts";

/** Every test runs over each way of binary to a server. */
function test(title: string, run: () => Promise<void>): void {
  for (const [suffix, options] of CLIENT_WIRES.slice(0, 2)) {
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
const EVENT = { timeSeriesId: "a", eventTime: "2026-11-15T10:00:00Z", eventId: "e" };

/** The error of a call, whose tries are bounded and take no time. */
async function errorOf(
  answer: (response: ServerResponse) => void,
  call: (client: BraidClient) => Promise<unknown>,
): Promise<BraidError> {
  await using server = await fakeBraid((_request, response) => {
    answer(response);
    return undefined;
  });
  const client = connect(server.url, { timing: new SkippingTiming(), retries: { attemptsMax: 3 } });
  try {
    await call(client);
  } catch (error) {
    ok(error instanceof BraidError, String(error));
    return error;
  }
  throw new Error("it did not fail");
}

const readPage = (client: BraidClient): Promise<unknown> => collect(client.read("plays", QUERY));
const readStream = (client: BraidClient): Promise<unknown> =>
  collect(client.stream("plays", QUERY));
const write = (client: BraidClient): Promise<unknown> => client.writeSync("plays", [EVENT]);

test("a page that is no message is refused", async () => {
  const event = encodeEvent(EVENT);
  const record = (length: number): Buffer => Buffer.concat([Buffer.from([0x0a, length]), event]);
  const bodies = [
    Buffer.alloc(0),
    Buffer.from("<html>hello</html>"),
    record(event.length + 1),
    record(event.length - 1),
    // Cut off behind a field, as by a proxy that does not say how long the answer is.
    record(event.length),
    Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
    Buffer.from([0x0b]),
  ];
  for (const body of bodies) {
    for (const call of [readPage, write]) {
      const error = await errorOf((response) => response.end(body), call);
      equal(error.code, "ANSWER_INVALID", body.toString("hex"));
      equal(error.outcome, call === write ? "unknown" : "failed");
    }
    const error = await errorOf((response) => response.end(envelope(0, body)), readStream);
    equal(error.code, "ANSWER_INVALID", body.toString("hex"));
  }
});

test("an answer of another kind than asked for is refused", async () => {
  for (const type of ["text/html", "application/json", "application/proto; charset=utf-8"]) {
    const answer = (response: ServerResponse): void => {
      response.setHeader("content-type", type).end("{}");
    };
    for (const call of [readPage, readStream, write]) {
      equal((await errorOf(answer, call)).code, "ANSWER_INVALID");
    }
  }
});

test("a body that breaks off is not read as a shorter one", async () => {
  for (const call of [readPage, readStream, write]) {
    const error = await errorOf((response) => {
      response.setHeader("content-length", "1000");
      response.write(Buffer.from([0x10, 0x01]), () => response.destroy());
    }, call);
    equal(error.code, "SERVER_UNREACHABLE");
    equal(error.outcome, call === write ? "unknown" : "failed");
  }
});

test("a stream without its end yields every page once, and then fails", async () => {
  let opened = 0;
  const seen: string[] = [];
  const error = await errorOf(
    (response) => {
      opened++;
      // The token stands for the place: after the first page the server breaks off again and again.
      if (opened === 1) response.write(streamedPage(response, pageJson(["a"], "t")));
      else response.write(streamedPage(response, pageJson(["b"], "")));
      response.end();
    },
    async (client) => {
      for await (const event of client.stream("plays", QUERY)) seen.push(event.eventId);
    },
  );
  equal(error.code, "SERVER_UNREACHABLE");
  deepEqual(seen, ["a"], "the last page waits for the end of its stream");
});

test("a truncated message, prefix or end of a stream ends in an error", async () => {
  await using server = await fakeBraid((request, response) => {
    const whole = Buffer.concat([
      streamedPage(response, pageJson(["a", "b"], "")),
      streamEnd(response),
    ]);
    response.end(whole.subarray(0, whole.length - Number(request.body["pageToken"])));
    return undefined;
  });
  const client = connect(server.url, { timing: new SkippingTiming(), retries: { attemptsMax: 1 } });
  for (let missing = 1; missing < 100; missing += 3) {
    const reading = client.stream("plays", { ...QUERY, pageToken: String(missing) });
    await rejects(collect(reading), { code: "SERVER_UNREACHABLE" }, `${missing} bytes less`);
  }
});

test("an end of a stream that is no JSON, or has a broken error, ends in an error", async () => {
  for (const end of ["", "nonsense", "[]", "null", '{"error":5}', '{"error":{}}']) {
    const error = await errorOf((response) => {
      response.write(streamedPage(response, pageJson(["a"], "")));
      response.end(envelope(2, Buffer.from(end)));
    }, readStream);
    equal(error.code, "ANSWER_INVALID", end);
  }
});

test("details that cannot be decoded leave an error its code and message", async () => {
  const details = [
    { type: "google.rpc.ErrorInfo", value: "!!!" },
    { type: "google.rpc.ErrorInfo", value: "Cv//" },
    { type: 5 },
    null,
  ];
  const error = await errorOf((response) => {
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: "permission_denied", message: "no", details }));
  }, readPage);
  equal(error.code, "PERMISSION_DENIED");
  equal(error.message, "no");
});

test("messages after the end, pages after the last one and compressed messages are refused", async () => {
  const cases: ((response: ServerResponse) => Buffer[])[] = [
    (response) => [streamEnd(response), streamEnd(response)],
    (response) => [
      streamedPage(response, pageJson([], "")),
      streamEnd(response),
      envelope(0, Buffer.alloc(2)),
    ],
    (response) => [
      streamedPage(response, pageJson([], "")),
      streamedPage(response, pageJson([], "t")),
    ],
    () => [envelope(1, Buffer.from("zipped"))],
  ];
  for (const messages of cases) {
    const error = await errorOf((response) => {
      response.end(Buffer.concat(messages(response)));
    }, readStream);
    equal(error.code, "ANSWER_INVALID");
  }
});

test("an answer that never ends is given up when it is too long", async () => {
  const chunk = Buffer.alloc(1024 * 1024);
  const flood = (response: ServerResponse): void => {
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
  };
  equal((await errorOf(flood, readPage)).code, "ANSWER_INVALID");
  const prefix = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
  const error = await errorOf((response) => {
    response.write(prefix);
    flood(response);
  }, readStream);
  equal(error.code, "ANSWER_INVALID");
});

test("a stream is read only as fast as its pages are wanted", async () => {
  const value = Buffer.alloc(100_000, "x").toString("base64");
  const page = (token: string): object => {
    const record = { ...EVENT, eventItems: [{ eventItemKey: "k", eventItemValue: value }] };
    return { records: [record], nextPageToken: token };
  };
  const PAGES = 600;
  let sent = 0;
  await using server = await fakeBraid((_request, response) => {
    const middle = streamedPage(response, page("t"));
    const more = (): void => {
      while (sent < PAGES) {
        sent++;
        const next = sent === PAGES ? streamedPage(response, page("")) : middle;
        if (!response.write(next)) return;
      }
      response.end(streamEnd(response));
    };
    response.on("drain", more);
    more();
    return undefined;
  });
  const pages = connect(server.url).stream("plays", QUERY).pages();
  await pages.next();
  // What the sockets and buffers between the two hold fills up, and then nothing moves.
  let before = -1;
  for (let still = 0; still < 200; still = sent === before ? still + 1 : 0) {
    before = sent;
    await setImmediate();
  }
  ok(sent < PAGES / 2, `${sent} pages of 100 kB were sent while one was wanted`);
  let count = 1;
  for await (const { events } of pages) count += events.length;
  equal(count, PAGES);
});

test("a server that does not speak Connect gets JSON, from the first refusal on", async () => {
  const types: (string | undefined)[] = [];
  await using server = await fakeBraid((request, response) => {
    types.push(request.raw.headers["content-type"]);
    if (request.raw.headers["content-type"] !== "application/json") {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: "REQUEST_INVALID", message: "not JSON", details: {} }));
      return undefined;
    }
    if (request.method !== "StreamEventRecords") {
      return request.method === "ReadEventRecords"
        ? pageJson(["a"], "")
        : { written: 1, failures: [] };
    }
    response.end(`${JSON.stringify({ result: pageJson(["a"], "") })}\n`);
    return undefined;
  });
  for (const call of [readPage, readStream, write]) await call(connect(server.url));
  const client = connect(server.url);
  const writer = client.batchingWriter("plays");
  await writer.add(EVENT);
  await writer.close();
  equal(writer.written, 1);
  deepEqual(server.requests.at(-1)?.body["events"], [{ ...EVENT, eventItems: [] }]);
  types.length = 0;
  await readPage(client);
  deepEqual(types, ["application/json"]);
  await rejects(readPage(connect(server.url, { protocol: "binary" })), /does not speak Connect/);
});

test("calls of next that overlap get the events in order, and return ends them", async () => {
  const pages = [pageJson(["a", "b"], "t1"), pageJson([], "t2"), pageJson(["c"], "")];
  await using server = await fakeBraid(() => pages[server.requests.length - 1]);
  const events = connect(server.url).read("plays", QUERY)[Symbol.asyncIterator]();
  const results = await Promise.all(Array.from({ length: 5 }, () => events.next()));
  deepEqual(
    results.map((result) => (result.done === true ? undefined : result.value.eventId)),
    ["a", "b", "c", undefined, undefined],
  );
  const others = connect(server.url).read("plays", QUERY)[Symbol.asyncIterator]();
  equal((await others.return?.())?.done, true);
  equal((await others.next()).done, true);
});

testOnce("messages do not depend on where the chunks are cut", async () => {
  const messages = [0, 1, 4, 5, 70_000].map((length) => Buffer.alloc(length, length));
  const bytes = Buffer.concat(messages.map((message) => envelope(0, message)));
  for (const step of [1, 2, 3, 5, 64, 4096, bytes.length]) {
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
    };
    const read = await collect(readEnvelopes(chunks(), 100_000));
    deepEqual(
      read.map((each) => Buffer.from(each.bytes)),
      messages,
    );
    ok(read.every((each) => each.bytes.buffer.byteLength === each.bytes.length));
  }
});
