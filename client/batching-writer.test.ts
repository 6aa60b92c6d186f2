import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";
import { SkippingTiming } from "../tests/support/fake-braid.ts";
import { BatchingWriter } from "./batching-writer.ts";
import type { SendBatch, WriteFailure, WriterOptions } from "./batching-writer.ts";
import { BraidError } from "./braid-error.ts";
import type { Codec } from "./codec.ts";
import type { JsonEvent } from "./events.ts";
import { jsonCodec } from "./json-codec.ts";
import type { EventFailure } from "./messages.ts";

/** A server in memory: keeps every batch, and answers as the test decides. */
class Sink {
  readonly batches: string[][] = [];
  inFlight = 0;
  inFlightMax = 0;
  readonly #answer: (ids: readonly string[], batch: number) => Promise<EventFailure[]>;

  constructor(answer: (ids: readonly string[], batch: number) => Promise<EventFailure[]>) {
    this.#answer = answer;
  }

  readonly send: SendBatch = async (_codec, body) => {
    const request = JSON.parse(Buffer.from(body as Uint8Array).toString()) as {
      events: { eventId: string }[];
    };
    const ids = request.events.map((event) => event.eventId);
    this.batches.push(ids);
    this.inFlight += 1;
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
    try {
      return { failures: await this.#answer(ids, this.batches.length) };
    } finally {
      this.inFlight -= 1;
    }
  };
}

function event(eventId: string): JsonEvent & { readonly id: string } {
  return { id: eventId, json: Buffer.from(JSON.stringify({ eventId })) };
}

type Event = ReturnType<typeof event>;
const EVENT_BYTES = event("0").json.length;

function writerTo(sink: Sink, options: WriterOptions<Event> = {}): BatchingWriter<Event> {
  // Delays of ten seconds and more never end by themselves.
  const transport = {
    timing: new SkippingTiming(),
    codec: jsonCodec,
    inCodec: <R>(run: (codec: Codec) => Promise<R>) => run(jsonCodec),
  };
  return new BatchingWriter("plays", transport, sink.send, { maxDelayMs: 10_000, ...options });
}

const allWell = async (): Promise<EventFailure[]> => [];

test("events leave in batches of the given size, and the rest at a flush", async () => {
  const sink = new Sink(allWell);
  const writer = writerTo(sink, { maxEvents: 3, concurrency: 1 });
  for (const id of "1234567") await writer.add(event(id));
  await writer.flush();
  deepEqual(sink.batches, [["1", "2", "3"], ["4", "5", "6"], ["7"]]);
  equal(writer.written, 7);
});

test("a batch is closed before it has too many bytes", async () => {
  const sink = new Sink(allWell);
  const writer = writerTo(sink, { maxBytes: EVENT_BYTES * 2 + 1, concurrency: 1 });
  for (const id of "12345") await writer.add(event(id));
  await writer.close();
  deepEqual(sink.batches, [["1", "2"], ["3", "4"], ["5"]]);
  await rejects(writer.add(event("6")), /closed/);
});

test("an event that has waited long enough leaves without a flush", async () => {
  const sent = Promise.withResolvers<readonly string[]>();
  const sink = new Sink(async (ids) => {
    sent.resolve(ids);
    return [];
  });
  const writer = writerTo(sink, { maxDelayMs: 5 });
  await writer.add(event("1"));
  deepEqual(await sent.promise, ["1"]);
  await writer.close();
});

test("add waits while too many bytes have no answer, and continues when one comes", async () => {
  const answers: (() => void)[] = [];
  const sink = new Sink(async () => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return [];
  });
  const writer = writerTo(sink, { maxPendingBytes: EVENT_BYTES * 2, maxEvents: 100 });
  await writer.add(event("1"));
  await writer.add(event("2"));
  let entered = false;
  const third = writer.add(event("3")).then(() => {
    entered = true;
  });
  for (let i = 0; i < 5; i++) await setImmediate();
  equal(entered, false);
  deepEqual(sink.batches, [["1", "2"]], "what is full is sent without waiting for its delay");
  answers.shift()?.();
  await third;
  const closing = writer.close();
  while (answers.length === 0) await setImmediate();
  answers.shift()?.();
  await closing;
  equal(writer.written, 3);
});

test("the number of requests in flight stays within its limit", async () => {
  const sink = new Sink(async () => {
    await setImmediate();
    return [];
  });
  const writer = writerTo(sink, { maxEvents: 1, concurrency: 3 });
  await Promise.all(Array.from({ length: 20 }, async (_, i) => writer.add(event(String(i)))));
  await writer.close();
  equal(sink.inFlightMax, 3);
  equal(writer.written, 20);
});

test("a failure comes with its event, and the other events are written", async () => {
  const reported: WriteFailure<Event>[] = [];
  const sink = new Sink(async () => [{ index: 1, code: "EVENT_TOO_OLD", message: "too old" }]);
  const writer = writerTo(sink, { onFailure: (failure) => reported.push(failure) });
  for (const id of "123") await writer.add(event(id));
  await writer.close();
  equal(writer.written, 2);
  equal(writer.failed, 1);
  equal(reported[0]?.event.id, "2");
  equal(reported[0].error.code, "EVENT_TOO_OLD");
  equal(reported[0].scope, "event");
});

test("without a callback, flush throws the failures", async () => {
  const sink = new Sink(async () => [{ index: 0, code: "EVENT_TOO_NEW", message: "too new" }]);
  const writer = writerTo(sink);
  await writer.add(event("1"));
  await rejects(writer.flush(), (error: unknown) => {
    ok(error instanceof AggregateError);
    equal((error.errors[0] as BraidError).code, "EVENT_TOO_NEW");
    return true;
  });
  await writer.close();
});

test("an event refused for a temporary reason is sent again, alone", async () => {
  const sink = new Sink(async (_ids, batch) =>
    batch === 1 ? [{ index: 1, code: "OVERLOADED", message: "later" }] : [],
  );
  const writer = writerTo(sink);
  for (const id of "123") await writer.add(event(id));
  await writer.close();
  deepEqual(sink.batches, [["1", "2", "3"], ["2"]]);
  equal(writer.written, 3);
});

test("an event whose outcome stays unknown is reported as such after a bounded number of tries", async () => {
  const reported: WriteFailure<Event>[] = [];
  const sink = new Sink(async () => [
    { index: 0, code: "OUTCOME_UNKNOWN", message: "not confirmed" },
  ]);
  const writer = writerTo(sink, { onFailure: (failure) => reported.push(failure) });
  await writer.add(event("1"));
  await writer.close();
  equal(reported.length, 1);
  equal(reported[0]?.error.outcome, "unknown");
  equal(sink.batches.length, 6);
});

test("an event the server cannot decode is found, and the rest of its batch is written once each", async () => {
  const reported: string[] = [];
  const written: string[] = [];
  const sink = new Sink(async (ids) => {
    if (ids.includes("5"))
      throw new BraidError("REQUEST_INVALID", "unknown field", { status: 400 });
    written.push(...ids);
    return [];
  });
  const writer = writerTo(sink, {
    onFailure: ({ event: { id }, scope }) => reported.push(id, scope),
  });
  for (const id of "0123456789") await writer.add(event(id));
  await writer.close();
  deepEqual(reported, ["5", "event"]);
  deepEqual(written.join(""), "012346789");
});

test("a failed request fails its events and says that the request failed", async () => {
  const reported: WriteFailure<Event>[] = [];
  const sink = new Sink(async () => {
    throw new BraidError("SERVER_UNREACHABLE", "gone", { outcome: "unknown" });
  });
  const writer = writerTo(sink, { onFailure: (failure) => reported.push(failure) });
  for (const id of "12") await writer.add(event(id));
  await writer.close();
  deepEqual(
    reported.map(({ event: { id }, scope, error }) => [id, scope, error.outcome]),
    [
      ["1", "request", "unknown"],
      ["2", "request", "unknown"],
    ],
  );
});

test("without a callback, the next add throws the failures and takes no event", async () => {
  const answered = Promise.withResolvers<undefined>();
  const sink = new Sink(async (ids) => {
    answered.resolve(undefined);
    return ids[0] === "1" ? [{ index: 0, code: "EVENT_TOO_OLD", message: "too old" }] : [];
  });
  const writer = writerTo(sink, { maxEvents: 1 });
  await writer.add(event("1"));
  await answered.promise;
  while (writer.failed === 0) await setImmediate();
  await rejects(writer.add(event("2")), AggregateError);
  await writer.add(event("3"));
  await writer.close();
  deepEqual(sink.batches, [["1"], ["3"]]);
});

test("later failures are reported even if a callback throws", async () => {
  const reported: string[] = [];
  const sink = new Sink(async () => {
    throw new BraidError("SERVER_UNREACHABLE", "gone", { outcome: "unknown" });
  });
  const onFailure = ({ event: { id } }: WriteFailure<Event>): void => {
    reported.push(id);
    throw new Error(`not ${id}`);
  };
  const writer = writerTo(sink, { onFailure });
  for (const id of "123") await writer.add(event(id));
  await rejects(writer.close(), (error: unknown) => {
    ok(error instanceof AggregateError);
    deepEqual(error.errors.map(String), ["Error: not 1", "Error: not 2", "Error: not 3"]);
    return true;
  });
  deepEqual(reported, ["1", "2", "3"]);
  equal(writer.failed, 3);
});

test("an answer about an event that was not sent leaves every outcome unknown", async () => {
  const reported: WriteFailure<Event>[] = [];
  const sink = new Sink(async () => [{ index: 7, code: "EVENT_TOO_OLD", message: "too old" }]);
  const writer = writerTo(sink, { onFailure: (failure) => reported.push(failure) });
  for (const id of "12") await writer.add(event(id));
  await writer.close();
  equal(writer.written, 0);
  deepEqual(
    reported.map(({ error: { code, outcome } }) => [code, outcome]),
    [
      ["ANSWER_INVALID", "unknown"],
      ["ANSWER_INVALID", "unknown"],
    ],
  );
});
