/**
 * The service as Go clients see it: grpcurl knows only the address and checks reflection strictly.
 * The test builds it once and keeps it outside the tree.
 *
 * @needs go
 */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatTime } from "../../src/wire/time-text.ts";
import { installedOnce, runProgram } from "../support/go-programs.ts";
import type { Said } from "../support/go-programs.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let program: string;
let server: StartedServer;

before(async () => {
  program = await installedOnce("github.com/fullstorydev/grpcurl/cmd/grpcurl", "v1.9.3");
  server = await startServer();
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
});

function grpcurl(...args: readonly string[]): Promise<Said> {
  return runProgram(program, ["-plaintext", "-max-time", "30", ...args]);
}

function address(): string {
  return new URL(server.url).host;
}

/** Calls a method with a message and returns its answer. */
async function ask(method: string, message: object, ...flags: readonly string[]): Promise<object> {
  const { code, out, err } = await grpcurl(
    ...flags,
    "-d",
    JSON.stringify(message),
    address(),
    method,
  );
  equal(code, 0, err);
  return JSON.parse(out) as object;
}

test("reflection lists the services, and describes them, health and the details of errors", async () => {
  const listed = await grpcurl(address(), "list");
  equal(listed.code, 0, listed.err);
  const services = listed.out.trim().split("\n");
  for (const name of ["braid.v1.ControlService", "braid.v1.TimeSeriesService"]) {
    ok(services.includes(name), listed.out);
  }
  ok(services.includes("grpc.health.v1.Health"), listed.out);
  for (const symbol of [...services, "google.rpc.ErrorInfo", "braid.v1.Split"]) {
    const described = await grpcurl(address(), "describe", symbol);
    equal(described.code, 0, `${symbol}: ${described.err}`);
    notEqual(described.out, "");
  }
});

test("health is checked and listed", async () => {
  deepEqual(await ask("grpc.health.v1.Health/Check", {}), { status: "SERVING" });
  const listed = await ask("grpc.health.v1.Health/List", {});
  const statuses: unknown = Reflect.get(listed, "statuses");
  deepEqual(Reflect.get(statuses as object, "braid.v1.ControlService"), { status: "SERVING" });
});

test("grpcurl writes and reads an event and names the operator", async () => {
  await ask("braid.v1.ControlService/CreateNamespace", { namespace: "plays" });
  const now = Date.now() * 1000;
  const event = {
    timeSeriesId: "profile:1",
    eventTime: formatTime(now),
    eventId: "e-1",
    eventItems: [{ eventItemKey: "device", eventItemValue: "aW9z" }],
  };
  const service = "braid.v1.TimeSeriesService";
  const batch = { namespace: "plays", events: [event] };
  const written = await ask(`${service}/WriteEventRecordsSync`, batch);
  equal(Reflect.get(written, "written"), 1);
  const timeInterval = { start: formatTime(now), end: formatTime(now + 1) };
  const query = { namespace: "plays", timeSeriesId: "profile:1", timeInterval };
  const read = await ask(`${service}/ReadEventRecords`, query);
  deepEqual(Reflect.get(read, "records"), [event]);
  const pause = { namespace: "plays", reason: "a load test" };
  const as = ["-H", "braid-operator: ana@ops-1"];
  const paused = await ask("braid.v1.ControlService/PauseSplits", pause, ...as);
  equal(Reflect.get(Reflect.get(paused, "pause") as object, "by"), "ana@ops-1");
});

test("an error shows its details, and a time in nanoseconds is refused with its field", async () => {
  const service = "braid.v1.TimeSeriesService/ReadEventRecords";
  const start = "2026-11-15T10:00:00.000000001Z";
  const end = "2026-11-15T11:00:00Z";
  const query = { namespace: "plays", timeSeriesId: "p", timeInterval: { start, end } };
  const { code, err } = await grpcurl("-d", JSON.stringify(query), address(), service);
  notEqual(code, 0);
  match(err, /Code: InvalidArgument/);
  match(err, /timeInterval\.start .*microsecond/);
  match(err, /type\.googleapis\.com\/google\.rpc\.ErrorInfo/);
  match(err, /"reason": "REQUEST_INVALID"/);
});
