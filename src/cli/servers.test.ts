import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";

const SERVER = {
  name: "server-5f0c2a9d4b71",
  role: "SERVER",
  version: "0.2.0",
  build: "abc",
  nodeVersion: "v24.11.1",
  engine: "cassandra",
  queue: "kafka",
  host: "braid-1",
  startTime: "2026-11-15T09:00:00Z",
  lastSeenTime: "2026-11-15T10:00:00Z",
  silent: false,
  draining: false,
  namespaces: 1,
  oldestViewAge: "1.200s",
  oldestFilterAge: "2.500s",
  clockInDoubt: false,
};
const { oldestFilterAge: _none, ...WITHOUT_FILTERS } = SERVER;
const DEAD = {
  ...WITHOUT_FILTERS,
  name: "worker-0d1f77a2c3e4",
  role: "WORKER",
  version: "0.1.0",
  host: "braid-2",
  lastSeenTime: "2026-11-15T09:55:00Z",
  silent: true,
  clockInDoubt: true,
};
const LIST = {
  servers: [SERVER, DEAD],
  answeredBy: SERVER.name,
  unreadable: 0,
  viewMaxAge: "10s",
  serverTime: "2026-11-15T10:00:00Z",
};

test("servers shows every process, and what is wrong with them", async () => {
  await using server = await fakeBraid(() => LIST);
  const { code, out, err } = await runBraid(["servers"], { url: server.url });
  equal(code, 0);
  equal(server.requests[0]?.method, "ListServers");
  equal(
    out,
    `NAME                 ROLE    STATE   VERSION      HOST     UP  SEEN    VIEW  FILTER  ENGINE     CLOCK
server-5f0c2a9d4b71  SERVER  LIVE    0.2.0 (abc)  braid-1  1h  now     1.2s    2.5s  cassandra  ok
worker-0d1f77a2c3e4  WORKER  SILENT  0.1.0 (abc)  braid-2  1h  5m ago  1.2s          cassandra  IN DOUBT
`,
  );
  match(err, /2 versions run: 0\.2\.0 \(abc\), 0\.1\.0 \(abc\)/);
  match(err, /1 process has not announced itself for 30 s/);
  match(err, /worker-0d1f77a2c3e4: the clock is in doubt/);
});

test("servers prints a head in CSV also without a process, and says what it cannot show", async () => {
  await using server = await fakeBraid(() => ({ ...LIST, servers: [], unreadable: 2 }));
  const { out, err } = await runBraid(["servers", "-o", "csv"], { url: server.url });
  match(out, /^name,role,version,build,nodeVersion,/);
  match(err, /2 of a newer version cannot be shown/);
});
