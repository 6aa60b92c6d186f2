/**
 * The service as Connect clients see it: connect-es over HTTP/1.1 and HTTP/2, and its form for
 * browsers on `fetch`.
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { Client, Transport } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport } from "@connectrpc/connect-node";
import { createConnectTransport as createWebTransport } from "@connectrpc/connect-web";
import { create, equals } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ControlService } from "../../src/gen/braid/v1/control_service_pb.js";
import { EventRecordSchema } from "../../src/gen/braid/v1/event_pb.js";
import type { EventRecord } from "../../src/gen/braid/v1/event_pb.js";
import {
  ReadEventRecordsRequest_Order,
  TimeSeriesService,
} from "../../src/gen/braid/v1/time_series_service_pb.js";
import type { ReadEventRecordsRequestSchema } from "../../src/gen/braid/v1/time_series_service_pb.js";
import { ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.js";
import { metricOf, until } from "../support/conditions.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;

/** A minute ago, so that every event is inside the accept limit. */
const START_MS = Date.now() - 60_000;

before(async () => {
  server = await startServer();
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

/** What a transport can be asked for, whichever it is. */
interface TransportOptions {
  readonly baseUrl: string;
  readonly useBinaryFormat: boolean;
}

/** Transports of connect-es, by what they put on the wire. */
const TRANSPORTS: Readonly<Record<string, (options: TransportOptions) => Transport>> = {
  "HTTP/1.1": (options) => createConnectTransport({ ...options, httpVersion: "1.1" }),
  "HTTP/2": (options) => createConnectTransport({ ...options, httpVersion: "2" }),
  "HTTP/2 with gzip both ways": (options) =>
    createConnectTransport({
      ...options,
      httpVersion: "2",
      sendCompression: compressionGzip,
      acceptCompression: [compressionGzip],
      compressMinBytes: 1,
    }),
  "HTTP/1.1 with gzip both ways": (options) =>
    createConnectTransport({
      ...options,
      httpVersion: "1.1",
      sendCompression: compressionGzip,
      acceptCompression: [compressionGzip],
      compressMinBytes: 1,
    }),
  "HTTP/1.1 with GET": (options) =>
    createConnectTransport({ ...options, httpVersion: "1.1", useHttpGet: true }),
  "fetch, as in a browser": (options) => createWebTransport(options),
  "fetch with GET": (options) => createWebTransport({ ...options, useHttpGet: true }),
};

function eventsOf(timeSeriesId: string, count: number): EventRecord[] {
  return Array.from({ length: count }, (_, i) =>
    create(EventRecordSchema, {
      timeSeriesId,
      eventTime: timestampFromMs(START_MS + i),
      eventId: `e-${i}`,
      eventItems: [{ eventItemKey: "raw", eventItemValue: new Uint8Array(300).fill(i) }],
    }),
  );
}

function queryOf(namespace: string): MessageInitShape<typeof ReadEventRecordsRequestSchema> {
  return {
    namespace,
    timeSeriesId: "profile:1",
    timeInterval: { start: timestampFromMs(START_MS), end: timestampFromMs(START_MS + 60_000) },
    order: ReadEventRecordsRequest_Order.OLDEST_FIRST,
    pageSize: 400,
  };
}

function assertSame(read: readonly EventRecord[], written: readonly EventRecord[]): void {
  equal(read.length, written.length);
  for (const [i, event] of written.entries()) {
    ok(equals(EventRecordSchema, event, read[i] as EventRecord), `event ${i}`);
  }
}

let namespaces = 0;

for (const [name, open] of Object.entries(TRANSPORTS)) {
  for (const useBinaryFormat of [true, false]) {
    suite(`${name}, ${useBinaryFormat ? "proto" : "json"}`, () => {
      const namespace = `plays_${namespaces++}`;
      let data: Client<typeof TimeSeriesService>;
      let control: Client<typeof ControlService>;

      before(() => {
        const transport = open({ baseUrl: server.url, useBinaryFormat });
        data = createClient(TimeSeriesService, transport);
        control = createClient(ControlService, transport);
      });

      test("a client writes events and reads the same by pages and as a stream", async () => {
        const made = await control.createNamespace({ namespace });
        equal(made.namespace, namespace);
        const events = eventsOf("profile:1", 900);
        const wrote = await data.writeEventRecordsSync({ namespace, events });
        deepEqual([wrote.written, wrote.failures], [900, []]);
        const read: EventRecord[] = [];
        let pageToken = "";
        do {
          const page = await data.readEventRecords({ ...queryOf(namespace), pageToken });
          read.push(...page.records);
          pageToken = page.nextPageToken;
        } while (pageToken !== "");
        assertSame(read, events);
        const streamed: EventRecord[] = [];
        for await (const page of data.streamEventRecords(queryOf(namespace))) {
          streamed.push(...page.records);
        }
        assertSame(streamed, events);
      });

      test("an error has a code, the headers name Braid's code, and the details explain it", async () => {
        const missing = queryOf("nowhere");
        const failures = [
          await failureOf(() => data.readEventRecords(missing)),
          await failureOf(async () => {
            for await (const page of data.streamEventRecords(missing)) ok(page);
          }),
        ];
        for (const error of failures) {
          equal(error.code, Code.NotFound);
          match(error.rawMessage, /nowhere/);
          equal(error.metadata.get("braid-code"), "NAMESPACE_NOT_FOUND");
          const [info] = error.findDetails(ErrorInfoSchema);
          deepEqual(
            [info?.reason, info?.domain, info?.metadata],
            ["NAMESPACE_NOT_FOUND", "braid", { namespace: "nowhere" }],
          );
          deepEqual(error.findDetails(RetryInfoSchema), []);
        }
      });

      test("a call that is not over at its deadline is deadline_exceeded", async () => {
        const late = await failureOf(() =>
          data.readEventRecords(queryOf(namespace), { headers: { "connect-timeout-ms": "0" } }),
        );
        equal(late.code, Code.DeadlineExceeded);
        const [retry] = late.findDetails(RetryInfoSchema);
        ok(retry !== undefined);
      });

      test("a caller that leaves a stream leaves nothing behind", async () => {
        const leaving = new AbortController();
        const pages = data.streamEventRecords(
          { ...queryOf(namespace), pageSize: 1 },
          { signal: leaving.signal },
        );
        const error = await failureOf(async () => {
          for await (const page of pages) if (page.records.length > 0) leaving.abort();
        });
        equal(error.code, Code.Canceled);
        await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
        await until(
          async () => (await metricOf(server.url, "braid_request_bytes_in_flight")) === 0,
        );
      });
    });
  }
}

/** Rejects if the call succeeds. */
async function failureOf(call: () => Promise<unknown>): Promise<ConnectError> {
  let caught: unknown;
  await rejects(async () => {
    try {
      await call();
    } catch (error) {
      caught = error;
      throw error;
    }
  });
  return ConnectError.from(caught);
}
