/**
 * Watch against a real server: over JSON lines, Connect and gRPC, through a broken connection and a
 * restart, and with more watchers than a server takes.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { connect as connectSocket, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BraidError, connect } from "../../client/connect.ts";
import type { WatchChange, WatchUpdate } from "../../client/connect.ts";
import {
  WatchRequest_Topic,
  WatchRequestSchema,
  WatchResponseSchema,
} from "../../src/gen/braid/v1/control_service_pb.js";
import { metricOf, until } from "../support/conditions.ts";
import { cancel, openRawCall } from "../support/raw-grpc.ts";
import { startServer } from "../support/started-server.ts";

const WATCH = "braid.v1.ControlService/Watch";

async function next(watch: AsyncGenerator<WatchUpdate, void>): Promise<WatchUpdate> {
  const { value, done } = await watch.next();
  ok(done !== true && value !== undefined, "the watch has not ended");
  return value;
}

/** The next change of a topic that has what the test waits for. */
async function untilChange(
  watch: AsyncGenerator<WatchUpdate, void>,
  wanted: (change: WatchChange) => boolean,
): Promise<WatchChange> {
  for (;;) {
    const update = await next(watch);
    if (update.kind === "change" && wanted(update)) return update;
  }
}

function names({ namespaces }: WatchChange): string[] {
  return namespaces.map(({ namespace }) => namespace).toSorted();
}

/** A way to the server that a test can cut. */
async function proxyTo(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connectSocket(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      proxy.close();
      cut();
    },
  };
}

test("a watch resumes after a broken connection with what it missed, and after a restart with all", async () => {
  await using server = await startServer();
  await using proxy = await proxyTo(server.url);
  const direct = connect(server.url);
  await direct.createNamespace("plays");
  const leaving = new AbortController();
  const watch = connect(proxy.url).watch({ topics: ["NAMESPACES"], signal: leaving.signal });
  const first = await next(watch);
  ok(first.kind === "change");
  deepEqual([names(first), first.snapshot, first.topic], [["plays"], true, "NAMESPACES"]);

  proxy.cut();
  const away = await next(watch);
  ok(away.kind === "away" && away.error instanceof BraidError && away.retryInMs > 0);
  await direct.createNamespace("shows");
  const missed = await untilChange(watch, ({ topic }) => topic === "NAMESPACES");
  deepEqual([names(missed), missed.snapshot], [["shows"], false]);

  await direct.deleteNamespace("shows");
  const removed = await untilChange(watch, (change) => change.removed.length > 0);
  deepEqual(removed.removed, ["shows"]);

  const restarted = server.restart("SIGTERM");
  const ending = await untilChange(watch, (change) => change.ending !== "");
  ok(ending.ending.includes("resume"));
  equal((await next(watch)).kind, "away");
  const again = await untilChange(watch, ({ topic }) => topic === "NAMESPACES");
  deepEqual([names(again), again.snapshot], [["plays"], true]);
  ok(again.process !== first.process);
  await restarted;
  leaving.abort();
  await rejects(watch.next(), { name: "AbortError" });
});

test("changes of several topics arrive, and what ends a watch is an error", async () => {
  await using server = await startServer();
  const client = connect(server.url);
  await client.createNamespace("plays");
  const watch = client.watch({
    topics: ["STATUS", "READ_MODE", "SLICES", "METRICS", "SPLITS", "TUNINGS", "SERVERS"],
    namespace: "plays",
    series: ["written_events"],
  });
  const seen = new Set<string>();
  while (seen.size < 7) {
    const { topic } = await untilChange(watch, (change) => change.topic !== undefined);
    seen.add(topic ?? "");
  }
  await client.splits.setKillSwitch(true, { reason: "a test" });
  const switched = await untilChange(watch, ({ status }) => status?.killSwitch.on === true);
  equal(switched.status?.killSwitch.reason, "a test");
  const held = await untilChange(watch, ({ readMode }) => readMode?.killSwitch.on === true);
  equal(held.snapshot, false);
  const eventTime = new Date();
  await client.writeSync("plays", [{ timeSeriesId: "a", eventTime, eventId: "1" }]);
  await untilChange(watch, ({ metrics }) =>
    (metrics?.series ?? []).some(({ values }) => values.some((value) => (value ?? 0) > 0)),
  );
  await client.deleteNamespace("plays");
  await rejects(async () => {
    for (;;) await watch.next();
  }, /NAMESPACE_NOT_FOUND|does not exist|no namespace/i);
  await rejects(client.watch({ topics: [] }).next(), /topics is missing/);
  await rejects(client.watch({ topics: ["SLICES"] }).next(), /namespace is missing/);
  const long = { topics: ["STATUS"], cursor: "x".repeat(2_000) } as const;
  await rejects(client.watch(long).next(), /cursor is not one/);
  const many = client.watch({ topics: Array.from({ length: 5_000 }, () => "STATUS" as const) });
  await rejects(many.next(), BraidError);
});

test("gRPC and Connect, binary and JSON, speak it too", async () => {
  await using server = await startServer();
  const message = toBinary(
    WatchRequestSchema,
    create(WatchRequestSchema, { topics: [WatchRequest_Topic.NAMESPACES] }),
  );
  const call = openRawCall(server.url, WATCH, message);
  const [chunk] = (await once(call.stream, "data")) as [Buffer];
  equal(fromBinary(WatchResponseSchema, chunk.subarray(5)).snapshot, true);
  cancel(call);
  for (const codec of ["proto", "json"]) {
    const text = Buffer.from(JSON.stringify({ topics: ["NAMESPACES"], cursor: "unknown" }));
    const body = codec === "proto" ? message : text;
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(body.length, 1);
    const leaving = new AbortController();
    const response = await fetch(`${server.url}/${WATCH}`, {
      method: "POST",
      headers: { "content-type": `application/connect+${codec}`, "connect-protocol-version": "1" },
      body: Buffer.concat([prefix, body]),
      signal: leaving.signal,
    });
    equal(response.status, 200);
    const reader = response.body?.getReader();
    const { value = new Uint8Array() } = (await reader?.read()) ?? {};
    const first = value.subarray(5);
    const answer =
      codec === "proto"
        ? fromBinary(WatchResponseSchema, first)
        : (JSON.parse(Buffer.from(first).toString()) as { snapshot: boolean });
    equal(answer.snapshot, true);
    leaving.abort();
  }
  await until(async () => (await metricOf(server.url, "braid_watchers")) === 0);
});

test("a server refuses watchers beyond its limit, and its other methods stay usable", async () => {
  const limit = 20;
  await using server = await startServer({ env: { BRAID_SERVER_WATCHERS: String(limit) } });
  const leaving = new AbortController();
  const open = async (): Promise<number> => {
    const response = await fetch(`${server.url}/${WATCH}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ topics: ["STATUS"] }),
      signal: leaving.signal,
    });
    if (response.status === 429) {
      const refusal = (await response.json()) as { code: string; message: string };
      equal(refusal.code, "OVERLOADED");
      ok(refusal.message.includes("server.watchers"), refusal.message);
    }
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: 300 }, open));
  equal(statuses.filter((status) => status === 200).length, limit);
  equal(statuses.filter((status) => status === 429).length, 300 - limit);
  const client = connect(server.url);
  equal((await client.getStatus()).ready, true);
  await client.createNamespace("plays");
  leaving.abort();
  await until(async () => (await metricOf(server.url, "braid_watchers")) === 0);
});
