/**
 * The doctor and blocked ids in a real browser.
 *
 * @needs chromium
 */
import { rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let browser: ConsoleBrowser;
let client: BraidClient;

before(async () => {
  [server, browser] = await Promise.all([
    startServer({ env: { BRAID_VIEW_MAX_AGE: "500ms" } }),
    openBrowser(),
  ]);
  client = connect(server.url);
  await client.createNamespace("plays");
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

for (const colours of ["light", "dark"] as const) {
  test(`an id is blocked with a reason, its writes are refused, and it is unblocked, in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/blocked?namespace=plays`, { colours });
    const { page } = view;
    await page.getByText("Nothing is blocked.").waitFor();
    await view.checkAccessibility();
    await page.getByLabel("Id", { exact: true }).fill("bot:1");
    await page.getByRole("button", { name: "Block…" }).click();
    await page.getByLabel("Reason, recorded with the change").fill("a loop");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByRole("cell", { name: "a loop" }).waitFor();
    await view.checkAccessibility();
    await view.picture(`blocked-${colours}`);
    const event = { timeSeriesId: "bot:1", eventTime: new Date(), eventId: "e", items: {} };
    await rejects(client.writeSync("plays", [event]), /blocked/i);

    await page.getByRole("button", { name: "Unblock…" }).click();
    await page.getByLabel("Reason, recorded with the change").fill("mended");
    await page.getByRole("button", { name: "Unblock", exact: true }).click();
    await page.getByText("Nothing is blocked.").waitFor();
    view.check();
  });

  test(`the doctor names each problem with its remedy, in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/doctor?namespace=plays`, { colours });
    const { page } = view;
    const [first] = await client.getRemedies("plays");
    await page.getByRole("heading", { name: first?.problem ?? "none" }).waitFor();
    await view.checkAccessibility();
    await view.picture(`doctor-${colours}`);
    view.check();
  });
}

test("at 420 pixels nothing is wider than the window", async () => {
  for (const path of ["doctor", "blocked"]) {
    await using view = await browser.open(`${server.url}/${path}?namespace=plays`, { width: 420 });
    await view.page.locator(".panel").first().waitFor();
    await view.checkWidth();
    view.check();
  }
});
