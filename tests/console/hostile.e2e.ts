/**
 * What callers store, and how much of it, does not harm the console: it shows markup as text, text
 * that steers direction as escapes, and thousands of namespaces without their rows.
 *
 * @needs chromium
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const MARKUP = "<img src=x onerror=alert(1)>";
const REVERSED = "\u202Etxt.exe";
const BIG_BYTES = 1_000_000;

let server: StartedServer;
let browser: ConsoleBrowser;

before(async () => {
  [server, browser] = await Promise.all([startServer(), openBrowser()]);
  const client = connect(server.url);
  await client.createNamespace("plays");
  const event = (timeSeriesId: string, nth: number, value: string | Uint8Array) => ({
    timeSeriesId,
    eventTime: new Date(Date.now() - 1_000 * nth),
    eventId: `<b>${nth}</b>`,
    items: { "<i>key</i>": value },
  });
  await client.writeSync("plays", [
    event(MARKUP, 1, "</script><script>alert(1)</script>"),
    event(MARKUP, 2, new Uint8Array([0, 255, 128, 27])),
    event(REVERSED, 1, "x"),
  ]);
  await client.writeSync("plays", [event("big", 1, "A".repeat(BIG_BYTES))]);
  await client.blockIds("plays", [{ timeSeriesId: REVERSED, reason: `because ${REVERSED}` }]);
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

test("markup in ids, keys and values is text", async () => {
  const id = encodeURIComponent(MARKUP);
  for (const path of [`/events?namespace=plays&id=${id}`, `/explain?namespace=plays&id=${id}`]) {
    await using view = await browser.open(`${server.url}${path}`);
    const { page } = view;
    page.on("dialog", () => ok(false, "a value was run as a script"));
    await page.getByRole("table").or(page.getByText("Partitions in the order")).first().waitFor();
    equal(await page.locator("img, main b, main i, main script").count(), 0);
    await view.checkAccessibility();
    view.check();
  }
});

test("an id cannot turn the text around it: what steers direction is shown as an escape", async () => {
  await using view = await browser.open(`${server.url}/blocked?namespace=plays`);
  const { page } = view;
  const row = page.getByRole("row").filter({ hasText: "txt.exe" });
  await row.waitFor();
  const texts = await row.getByRole("cell").allTextContents();
  deepEqual(texts.slice(0, 2), ["\\u{202e}txt.exe", "because \\u{202e}txt.exe"]);
  view.check();
});

test("a value of a megabyte is shown in part, and neither stops nor widens the page", async () => {
  await using view = await browser.open(`${server.url}/events?namespace=plays&id=big`, {
    width: 420,
  });
  const { page } = view;
  await page.getByText("AAAA").first().waitFor();
  const shown = (await page.locator("main").textContent()) ?? "";
  ok(shown.length < BIG_BYTES / 10, `${shown.length} characters are on the page`);
  await view.checkWidth();
  view.check();
});

test("ten thousand namespaces are listed, filtered and led to, with the rows in view only", async () => {
  await using view = await browser.open(server.url);
  const { page } = view;
  const one = await connect(server.url).getNamespace("plays");
  await page.route("**/ListNamespaces", (route) => {
    const asked = route.request().postDataJSON() as { pageToken?: string }; // The client's own.
    const from = Number(asked.pageToken ?? "0");
    const to = from + 1_000;
    const names = Array.from({ length: 1_000 }, (_, nth) => `ns_${from + nth}`);
    const namespaces = names.map((name) => ({ ...one, namespace: name, id: name }));
    const nextPageToken = to < 10_000 ? String(to) : "";
    return route.fulfill({ json: { namespaces, nextPageToken } });
  });
  await page.goto(`${server.url}/namespaces`);
  await page.getByText("10,000 namespaces", { exact: true }).waitFor();
  ok((await page.locator("tbody tr").count()) < 200);
  await page.getByRole("searchbox").fill("ns_999");
  await page.getByText("11 of 10,000 namespaces").waitFor();

  await page.goto(`${server.url}/width-map?namespace=plays`);
  await page.getByLabel("Namespace").selectOption({ label: "another…" });
  await page.getByRole("heading", { name: "Namespaces", exact: true }).waitFor();
  equal(new URL(page.url()).pathname, "/namespaces");
});
