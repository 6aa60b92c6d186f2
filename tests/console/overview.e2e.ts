/**
 * The overview in a real browser: empty, with traffic, and with something switched off.
 *
 * @needs chromium
 */
import { match } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let browser: ConsoleBrowser;
const ended = new AbortController();
let traffic: Promise<void>;

before(async () => {
  [server, browser] = await Promise.all([startServer(), openBrowser()]);
  traffic = makeTraffic(server.url, ended.signal);
});

after(async () => {
  ended.abort();
  await traffic;
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Writes and reads all the time; now and then a call is refused. */
async function makeTraffic(url: string, signal: AbortSignal): Promise<void> {
  const client = connect(url, { retries: { attemptsMax: 1 } });
  for (const name of ["plays", "orders"]) await client.createNamespace(name);
  for (let turn = 0; !signal.aborted; turn++) {
    const eventTime = new Date();
    const id = `profile:${turn % 7}`;
    const event = { timeSeriesId: id, eventTime, eventId: `e-${turn}`, items: { song: "Blue" } };
    await client.writeSync(turn % 3 === 0 ? "orders" : "plays", [event]);
    const start = new Date(eventTime.getTime() - 3_600_000);
    for await (const read of client.read("plays", { timeSeriesId: id, start, end: eventTime }))
      void read;
    if (turn % 200 === 0) await client.getNamespace("no-such").catch(() => undefined);
  }
}

for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
] as const) {
  test(`the overview shows traffic in ${colours} colours at ${width} pixels`, async () => {
    await using view = await browser.open(`${server.url}/`, { colours, width, height: 900 });
    const { page } = view;
    await page.getByText(/(?:requests were refused|Healthy: 2 namespaces)/).waitFor();
    const reads = page.locator(".figure", { hasText: "Reads" }).locator(".figure-value");
    await reads.filter({ hasText: /[1-9].*\/s/ }).waitFor();
    await page
      .locator(".figure", { hasText: /p50 .*s.*p99 .*s/ })
      .first()
      .waitFor();
    await page.getByRole("rowheader", { name: "NAMESPACE_NOT_FOUND" }).waitFor();
    const table = page.getByRole("table", { name: "Servers and workers" });
    await table.getByText("server and worker").waitFor();
    await table.getByText("running").waitFor();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`overview-${colours}-${width}`);
    view.check();
  });
}

test("the chosen time and namespace are in the address, and a chart shows as a table", async () => {
  await using view = await browser.open(`${server.url}/?window=24h&namespace=plays`);
  const { page } = view;
  await page.getByRole("radio", { name: "24 h" }).waitFor();
  await page.getByRole("combobox", { name: "Figures of" }).waitFor();
  await page.getByRole("button", { name: "Table of Reads and writes" }).click();
  await page.getByRole("table", { name: "Reads and writes" }).getByText(/\/s$/).first().waitFor();
  match(page.url(), /window=24h&namespace=plays&table=traffic$/);
  view.check();
});

test("the kill switch and paused splits are a banner on every page", async () => {
  await using own = await startServer();
  const client = connect(own.url, { operator: "ada@example.com" });
  await client.createNamespace("plays");
  await client.splits.pause("plays", { reason: "a test" });
  await client.splits.setKillSwitch(true, { reason: "parts differ" });
  await using view = await browser.open(`${own.url}/kit`);
  const { page } = view;
  await page.getByText("The kill switch is on.").waitFor();
  await page.getByText(/Set by ada@example.com\. Reason: parts differ/).waitFor();
  await page.getByText("Splits are paused.").waitFor();
  await view.checkAccessibility();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("Reads use originals only, because the kill switch is on.").waitFor();
  await view.picture("overview-kill-switch");
  view.check();
});

test("a busy server is healthy, and says so", async () => {
  await using view = await browser.open(`${server.url}/`, { colours: "dark", height: 820 });
  await view.page.getByText(/^Healthy: 2 namespaces, .* Nothing needs attention\.$/).waitFor();
  await view.page.locator(".uplot").nth(3).waitFor();
  await view.picture("overview-healthy");
  view.check();
});
