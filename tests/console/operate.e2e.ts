/**
 * The pages of operators in a real browser: live latency, Bloom filters, queue, and ids by prefix.
 * The server is real, with a split and with reads that never stop.
 *
 * @needs chromium
 */
import { deepEqual } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { EXAMPLES } from "../../src/api/examples.ts";
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
  client = connect(server.url);
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
  const impatient = connect(server.url, { retries: { attemptsMax: 1 } });
  while (!stopped.signal.aborted) {
    for (const timeSeriesId of ["wide", "narrow"]) {
      const events = impatient.read("plays", { timeSeriesId, start, end });
      // A server on a busy machine may refuse a read; the next turn asks again.
      await Array.fromAsync(events).catch(() => undefined);
    }
    await impatient.getNamespace("no-such").catch(() => undefined);
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

for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
] as const) {
  test(`the filter of a split slice counts checks, in ${colours} colours at ${width} pixels`, async () => {
    const address = `${server.url}/filters?namespace=plays`;
    await using view = await browser.open(address, { colours, width, height: 900 });
    const { page } = view;
    await page.getByText(/filters? in .* answered [1-9]/).waitFor();
    const elements = page.locator(".figure", { hasText: /^Elements/ }).locator(".figure-value");
    await elements.filter({ hasText: "1 element" }).waitFor();
    const checks = page.locator(".figure", { hasText: /^Checks/ }).locator(".figure-value");
    const before = (await checks.textContent()) ?? "";
    await checks.filter({ hasNotText: before }).waitFor();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`filters-${colours}-${width}`);
    view.check();
  });
}

for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
] as const) {
  test(`an id is found by its prefix, in ${colours} colours at ${width} pixels`, async () => {
    const address = `${server.url}/events?namespace=plays`;
    await using view = await browser.open(address, { colours, width, height: 900 });
    const { page } = view;
    await page.getByLabel("Id begins with").fill("nar");
    await page.getByRole("button", { name: "Find", exact: true }).click();
    await page.getByText(/^1 id that begins with “nar”/).waitFor();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`find-ids-${colours}-${width}`);
    await page.getByRole("button", { name: "narrow", exact: true }).click();
    await page.waitForURL(/id=narrow/);
    view.check();
  });
}

test("an engine that cannot search ids by prefix is said in words", async () => {
  await using view = await browser.open(`${server.url}/events?namespace=plays&id=wide`, {
    expected: /501/,
  });
  const { page } = view;
  await page.route("**/ListIds", (route) =>
    route.fulfill({ status: 501, json: { code: "NOT_SUPPORTED", message: "no", details: {} } }),
  );
  await page.goto(`${server.url}/events?namespace=plays`);
  await page.getByText("they cannot be searched by prefix").waitFor();
  view.check();
});

test("the queue of a server without dead letters says so", async () => {
  await using view = await browser.open(`${server.url}/queue`);
  const { page } = view;
  await page.getByText("There is no dead letter.", { exact: true }).waitFor();
  await page.getByText("embedded queue, seen by").waitFor();
  await view.checkAccessibility();
  view.check();
});

// A server decodes whatever it detects itself, so these answers are those of the API's documents.
for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
] as const) {
  test(`a dead letter is inspected and dropped with a reason, in ${colours} colours at ${width} pixels`, async () => {
    await using view = await browser.open(server.url, { colours, width, height: 900 });
    const { page } = view;
    for (const method of ["GetQueue", "ListDeadDetections"]) {
      await page.route(`**/${method}`, (route) =>
        route.fulfill({ json: EXAMPLES[method]?.answer }),
      );
    }
    const sent: unknown[] = [];
    await page.route("**/DropDeadDetections", (route) => {
      sent.push(route.request().postDataJSON());
      return route.fulfill({ json: EXAMPLES["DropDeadDetections"]?.answer });
    });
    await page.goto(`${server.url}/queue`);
    await page.getByText(/^1 detection could not be decoded/).waitFor();
    await page.getByRole("button", { name: "Inspect 0:17" }).click();
    await page.getByText('{"version":-1}').waitFor();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`queue-${colours}-${width}`);
    await page.getByRole("button", { name: "Drop", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Drop dead letter 0:17" });
    await dialog.getByLabel(/^Reason/).fill("from a test");
    await dialog.getByRole("button", { name: "Drop" }).click();
    await page.getByText("1 dead letter was dropped; not there any more: 0:3.").waitFor();
    deepEqual(sent, [{ positions: ["0:17"], all: false, reason: "from a test" }]);
    view.check();
  });
}
