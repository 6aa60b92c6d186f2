/**
 * The pages of events and of explained reads in a real browser, on a namespace with a real split.
 *
 * @needs chromium
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFile } from "node:fs/promises";
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
/** Of the wide id. */
let address: string;

before(async () => {
  [server, browser] = await Promise.all([startServer({ env: SOON }), openBrowser()]);
  client = connect(server.url);
  wide = await makeWide(client, "plays");
  await splitWide(client, "plays", wide);
  const { start, end } = wide;
  address = String(new URLSearchParams({ namespace: "plays", id: "wide", start, end }));
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

for (const colours of ["light", "dark"] as const) {
  test(`a read is explained by its address, run, and compared, in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/explain?${address}`, { colours });
    const { page } = view;
    const { partitions } = await client.explain("plays", {
      timeSeriesId: "wide",
      start: wide.start,
      end: wide.end,
    });
    equal(partitions.length, 1);
    await page.getByText("filter: may be split").waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText(/^100 events in .* of it in the server$/).waitFor();
    await page.getByRole("button", { name: "Compare original and split" }).click();
    await page.getByText("1,500 events compared, all equal").waitFor();
    await view.checkAccessibility();
    await view.picture(`explain-${colours}`);
    await page.getByRole("button", { name: "Table of Routes" }).click();
    match((await page.getByRole("group", { name: "Routes" }).textContent()) ?? "", /data_/);
    await view.checkAccessibility();
    view.check();
  });
}

test("a read is explained by keyboard, and an id that is not split says why it reads the original", async () => {
  const { start, end } = wide;
  const query = new URLSearchParams({ namespace: "plays", start, end });
  await using view = await browser.open(`${server.url}/explain?${String(query)}`);
  const { page } = view;
  await page.getByText("No id yet.").waitFor();
  await page.getByLabel("Id", { exact: true }).focus();
  await page.keyboard.type("narrow");
  await page.keyboard.press("Enter");
  await page.getByText("filter: not split").waitFor();
  equal(new URL(page.url()).searchParams.get("id"), "narrow");
  view.check();
});

for (const colours of ["light", "dark"] as const) {
  test(`events are read, paged, shown as hex and exported, in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/events?${address}`, { colours });
    const { page } = view;
    await page.getByText("100 events on the first page.").waitFor();
    await view.checkAccessibility();
    await view.picture(`events-${colours}`);
    await page.getByRole("button", { name: "Read 100 more events" }).click();
    await page.getByText("200 events", { exact: true }).waitFor();
    await page.getByText("Hex").click();
    await page
      .getByText(/^(?:69 6f 73|74 76)$/)
      .first()
      .waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export NDJSON" }).click(),
    ]);
    const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\n");
    equal(lines.length, 1_500);
    ok(lines.every((line) => JSON.parse(line).timeSeriesId === "wide"));
    view.check();
  });
}

test("events are filtered by an item, and an id that was read is offered again", async () => {
  await using view = await browser.open(`${server.url}/events?${address}&where=device%3Dtv`);
  const { page } = view;
  await page.getByRole("heading", { name: "wide", exact: true }).waitFor();
  const devices = await page.locator(".event-items dd:first-of-type").allTextContents();
  deepEqual([...new Set(devices.filter((text) => text === "tv" || text === "ios"))], ["tv"]);
  await page.goto(`${server.url}/events?namespace=plays`);
  await page.getByRole("button", { name: "wide", exact: true }).first().click();
  await page.getByRole("heading", { name: "wide", exact: true }).waitFor();
  view.check();
});

test("an id without events and an interval that is none are said in words", async () => {
  await using view = await browser.open(`${server.url}/events?namespace=plays&id=nobody`, {
    expected: /400/,
  });
  const { page } = view;
  await page.getByText("There is no event in this interval").waitFor();
  const wrong = "namespace=plays&id=wide&start=2026-11-18T02:00:00Z&end=2026-11-18T01:00:00Z";
  await page.goto(`${server.url}/events?${wrong}`);
  await page.getByText("REQUEST_INVALID").waitFor();
  await view.checkAccessibility();
  view.check();
});

test("at 420 pixels nothing is wider than the window", async () => {
  for (const path of ["explain", "events"]) {
    await using view = await browser.open(`${server.url}/${path}?${address}`, { width: 420 });
    await view.page.getByText(path === "events" ? "on the first page" : "may be split").waitFor();
    await view.checkWidth();
    await view.picture(`${path}-narrow`);
    view.check();
  }
});

test("what is copied as curl is accepted by the server", async () => {
  for (const [path, method] of [
    ["explain", "ExplainRead"],
    ["events", "ReadEventRecords"],
  ] as const) {
    await using view = await browser.open(`${server.url}/${path}?${address}`);
    const { page } = view;
    await page.getByText(path === "events" ? "on the first page" : "may be split").waitFor();
    await page.getByRole("button", { name: "Copy as…" }).click();
    const curl =
      (await page.locator(".copy-as code", { hasText: "curl --json" }).textContent()) ?? "";
    const [, body = ""] = /--json '(.*)' http/.exec(curl) ?? [];
    const answer = await fetch(`${server.url}/braid.v1.TimeSeriesService/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    equal(answer.status, 200, await answer.text());
    view.check();
  }
});
