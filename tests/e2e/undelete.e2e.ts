/** Deletes and restores namespaces of a real server through the CLI, also across crashes. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { until } from "../support/conditions.ts";
import { braid, startServer } from "../support/started-server.ts";

const START = (Date.now() - 60_000) * 1000;
const INTERVAL = { start: formatTime(START), end: formatTime(START + 10_000_000) };
const COUNT = 500;

async function write(client: BraidClient, namespace: string): Promise<void> {
  const events = Array.from({ length: COUNT }, (_, index) => ({
    timeSeriesId: "p",
    eventTime: formatTime(START + index),
    eventId: `e-${index}`,
    items: {},
  }));
  equal((await client.writeSync(namespace, events)).written, COUNT);
}

async function idsOf(client: BraidClient, namespace: string, pageToken = ""): Promise<string[]> {
  const ids: string[] = [];
  const query = { timeSeriesId: "p", ...INTERVAL, order: "OLDEST_FIRST", pageSize: 100 } as const;
  for await (const event of client.read(namespace, { ...query, pageToken }))
    ids.push(event.eventId);
  return ids;
}

const ALL = Array.from({ length: COUNT }, (_, index) => `e-${index}`);

test("C26: a deleted namespace comes back through the CLI with every event, after a crash too", async () => {
  await using server = await startServer();
  const { url } = server;
  const client = connect(url);
  const run = (line: string) => braid(line.split(" "), url);
  const { id } = await client.createNamespace("plays");
  await write(client, "plays");
  await client.blockIds("plays", [{ timeSeriesId: "bot", reason: "spam" }]);
  let pageToken = "";
  const query = { timeSeriesId: "p", ...INTERVAL, order: "OLDEST_FIRST", pageSize: 100 } as const;
  for await (const page of client.read("plays", query).pages()) {
    pageToken = page.nextPageToken;
    break;
  }

  const removed = await run("ns rm plays --yes --reason mistake");
  match(removed.out, /^deleted plays; until .* restore it with: braid ns undelete plays$/m);
  const lost = await run("read plays p");
  deepEqual([lost.code, /NAMESPACE_NOT_FOUND/.test(lost.err)], [3, true], lost.err);
  match((await run("ns ls --deleted")).out, new RegExp(`^plays +${id} .*500 +\\S+ +mistake$`, "m"));
  await server.restart("SIGKILL");
  const restored = await run("ns undelete plays");
  equal(restored.code, 0, restored.err);
  match(restored.out, new RegExp(`^id +${id}$`, "m"));
  deepEqual(await idsOf(client, "plays"), ALL);
  deepEqual(await idsOf(client, "plays", pageToken), ALL.slice(100), "its page tokens are valid");
  match((await run("block ls plays")).out, /^bot /m);
  await client.writeSync("plays", [
    { timeSeriesId: "q", eventTime: formatTime(START), eventId: "new", items: {} },
  ]);

  await run("ns rm plays --yes");
  await client.createNamespace("plays");
  const taken = await run("ns undelete plays");
  deepEqual([taken.code, /NAMESPACE_EXISTS/.test(taken.err)], [4, true], taken.err);
  equal((await run(`ns undelete ${id} --as-name plays_old`)).code, 0);
  deepEqual(await idsOf(client, "plays_old"), ALL);
  deepEqual(await idsOf(client, "plays"), []);

  await run("ns rm plays_old --yes");
  const refused = await run("ns rm plays_old --purge --yes");
  equal(refused.code, 3);
  match(refused.err, new RegExp(`this name: ${id}; purge .*: braid ns rm ${id} --purge$`, "m"));
  const freed = await run(`ns rm ${id} --purge --yes`);
  match(freed.out, new RegExp(`^purged plays_old \\(${id}\\) with all its events$`, "m"));
  equal((await run(`ns undelete ${id}`)).code, 3);
  match((await run("ns ls --deleted")).err, /there is no deleted namespace/);
  match((await run("ns rm plays --yes")).out, /^deleted plays; it held no events$/m);
});

test("C26: a namespace whose grace is over is purged, also one deleted before a crash", async () => {
  await using server = await startServer({ env: { BRAID_DROP_GRACE: "4s" } });
  const client = connect(server.url);
  await client.createNamespace("plays");
  await write(client, "plays");
  const { restorableUntil = "" } = await client.deleteNamespace("plays");
  ok(Date.parse(restorableUntil) > Date.now());
  await server.restart("SIGKILL");
  await until(async () => {
    const left = await Array.fromAsync(client.listDeletedNamespaces());
    return left.length === 0;
  });
});

test("C26: when space runs short, Braid names the command that purges", async () => {
  // More than the disk has: events are refused from the start.
  await using server = await startServer({ env: { BRAID_SERVER_FREE_SPACE_MIN: "1024GiB" } });
  const { url } = server;
  const client = connect(url, { retries: { attemptsMax: 1 } });
  const { disk } = await client.getStatus();
  ok(Number(disk.freeBytes) > 0);
  deepEqual([disk.readOnly, disk.freeBytesMin], [true, String(2 ** 40)]);
  match(disk.message, /braid ns rm ID --purge.*braid slices purge/);
  match((await braid(["status"], url)).out, /^disk +.* free, at least 1.*READ ONLY/m);
  match(await (await fetch(`${url}/readyz`)).text(), /braid ns rm ID --purge/);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  match(metrics, /^braid_disk_read_only 1$/m);
  match(metrics, /^braid_disk_free_bytes \d/m);
});
