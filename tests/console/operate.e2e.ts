/**
 * The pages of operators in a real browser: live latency, Bloom filters, queue, and ids by prefix.
 * The server is real, with a split and with reads that never stop.
 *
 * @needs chromium
 */
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { makeWide, SOON, splitWide } from "../support/split-namespace.ts";
import type { WideNamespace } from "../support/split-namespace.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let browser: ConsoleBrowser;
let client: BraidClient;
let wide: WideNamespace;
let traffic: Promise<void>;
const stopped = new AbortController();

before(async () => {
  [server, browser] = await Promise.all([startServer({ env: SOON }), openBrowser()]);
  client = connect(server.url, { retries: { attemptsMax: 1 } });
  wide = await makeWide(client, "plays");
  await splitWide(client, "plays", wide);
  traffic = readAlways();
});

after(async () => {
  stopped.abort();
  await traffic;
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Reads both ids all the time; each turn one call is refused. */
async function readAlways(): Promise<void> {
  const { start, end } = wide;
  while (!stopped.signal.aborted) {
    for (const timeSeriesId of ["wide", "narrow"]) {
      for await (const event of client.read("plays", { timeSeriesId, start, end })) void event;
    }
    await client.getNamespace("no-such").catch(() => undefined);
  }
}

for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
] as const) {
  test(`live latency moves while reads run, in ${colours} colours at ${width} pixels`, async () => {
    await using view = await browser.open(`${server.url}/latency`, { colours, width, height: 900 });
    const { page } = view;
    const { process } = await client.getStatus();
    await page.locator(".panel-note code", { hasText: process }).waitFor();
    const row = page.getByRole("row", { name: /^Original/ });
    await row.filter({ hasText: /[1-9].*\/s.* ms/ }).waitFor();
    await page.getByRole("rowheader", { name: "NAMESPACE_NOT_FOUND" }).waitFor();
    const before = (await row.textContent()) ?? "";
    await row.filter({ hasNotText: before }).waitFor();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`latency-${colours}-${width}`);
    view.check();
  });
}

test("the chosen time of the latency is in the address", async () => {
  await using view = await browser.open(`${server.url}/latency`);
  const { page } = view;
  await page.getByText("24 h by minute").click();
  await page.waitForURL(/window=24h/);
  await page.getByRole("table", { name: "Latency of the last minute by route" }).waitFor();
  view.check();
});
