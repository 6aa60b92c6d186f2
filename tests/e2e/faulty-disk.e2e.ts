/**
 * The real process on a full or slow disk, as callers see it over HTTP and gRPC.
 *
 * @needs cc
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { BraidError, connect } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { onFaultyDisk } from "../engines/embedded/faulty-disk.ts";
import { metricOf, until } from "../support/conditions.ts";
import { collect } from "../support/fake-braid.ts";
import { errorFacts, ReflectedClient } from "../support/reflected-client.ts";
import { startServer } from "../support/started-server.ts";

const WRITE = "braid.v1.TimeSeriesService/WriteEventRecordsSync";
const START = (Date.now() - 60_000) * 1000;

/** The codes that an unacknowledged write may get, each with its HTTP status and gRPC status. */
const REFUSALS: Readonly<Record<string, readonly [number, number]>> = {
  OUTCOME_UNKNOWN: [504, status.DEADLINE_EXCEEDED],
  STORAGE_UNAVAILABLE: [503, status.UNAVAILABLE],
};

function event(index: number) {
  return { timeSeriesId: "p", eventTime: formatTime(START + index), eventId: `e-${index}` };
}

test("W15: on a full disk both protocols refuse writes and serve reads; writes work again once there is space", () =>
  onFaultyDisk(async (disk) => {
    const options = { data: disk.directory, env: disk.env, flags: ["--log-level", "silent"] };
    await using server = await startServer(options);
    const client = connect(server.url, { retries: { attemptsMax: 1 } });
    const grpc = await ReflectedClient.connect(server.url);
    await client.createNamespace("plays");
    equal((await client.writeSync("plays", [event(0)])).written, 1);
    const ids = async (): Promise<string[]> => {
      const interval = { start: formatTime(START), end: formatTime(START + 1_000_000) };
      const query = { timeSeriesId: "p", ...interval, order: "OLDEST_FIRST" } as const;
      return (await collect(client.read("plays", query))).map(({ eventId }) => eventId);
    };

    await disk.set("full");
    let next = 1;
    /** Events with an unknown outcome may be stored; refused ones may not. */
    const unknown = new Set<string>();
    const refusedOverHttp = async (): Promise<string> => {
      const sent = event(next++);
      try {
        await client.writeSync("plays", [sent], { failures: "return" });
      } catch (error) {
        ok(error instanceof BraidError);
        equal(error.status, REFUSALS[error.code]?.[0], error.code);
        if (error.code === "OUTCOME_UNKNOWN") unknown.add(sent.eventId);
        return error.code;
      }
      throw new Error("a full disk stored an event");
    };
    const refusedOverGrpc = async (): Promise<string> => {
      const sent = event(next++);
      const body = { namespace: "plays", events: [sent] };
      const { status: grpcStatus, trailers } = await grpc.call(WRITE, body);
      const [code] = trailers.get("braid-code").map(String);
      equal(grpcStatus, REFUSALS[code ?? ""]?.[1], code);
      const [rich] = trailers.get("grpc-status-details-bin");
      const { reason, retryMs } = errorFacts(rich as Buffer);
      deepEqual([reason, retryMs !== undefined], [code, true]);
      if (code === "OUTCOME_UNKNOWN") unknown.add(sent.eventId);
      return code ?? "";
    };
    equal(await refusedOverHttp(), "OUTCOME_UNKNOWN", "the first one may be half written");
    await until(async () => (await refusedOverHttp()) === "STORAGE_UNAVAILABLE");
    await until(async () => (await refusedOverGrpc()) === "STORAGE_UNAVAILABLE");
    deepEqual(await ids(), ["e-0"]);

    await disk.set("ok");
    const last = event(next);
    await until(async () => {
      const outcome = await client.writeSync("plays", [last]).catch((error: unknown) => error);
      return !(outcome instanceof BraidError);
    });
    const found = await ids();
    deepEqual(
      found.filter((id) => !unknown.has(id)),
      ["e-0", last.eventId],
    );
    await server.restart("SIGTERM");
    deepEqual(await ids(), found);
    grpc.close();
  }));

test("a server that gets SIGTERM while its disk is slow writes all queued events before it exits", () =>
  onFaultyDisk(async (disk) => {
    await using server = await startServer({ data: disk.directory, env: disk.env });
    const client = connect(server.url, { retries: { attemptsMax: 1 } });
    await client.createNamespace("plays");
    await disk.set("hold");
    // Several times the size of one flush.
    const batches = 40;
    const value = Buffer.alloc(100 * 1024, 7);
    for (let i = 0; i < batches; i++) {
      const { accepted } = await client.write("plays", [{ ...event(i), items: { value } }]);
      equal(accepted, 1);
    }
    ok((await metricOf(server.url, "braid_write_queue_bytes")) > 3 * 1024 * 1024);
    const stopped = server.stop("SIGTERM");
    await until(() =>
      fetch(`${server.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    await disk.set("ok");
    equal(await stopped, 0);
    await server.start();
    const interval = { start: formatTime(START), end: formatTime(START + 1_000_000) };
    const query = { timeSeriesId: "p", ...interval, order: "OLDEST_FIRST" } as const;
    const found = await collect(client.stream("plays", query));
    deepEqual(
      found.map(({ eventId }) => eventId),
      Array.from({ length: batches }, (_, i) => `e-${i}`),
    );
  }));
