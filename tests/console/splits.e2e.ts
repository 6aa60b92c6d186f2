/**
 * Splits and read modes in a real browser: a split is watched from its detection until reads use
 * it, then verified, rolled back and retried.
 *
 * @needs chromium
 */
import { equal, match } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient, Split } from "../../client/connect.ts";
import { readsAreRight } from "../e2e/splits-support.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { makeWide, SOON, splitWide } from "../support/split-namespace.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let browser: ConsoleBrowser;
let client: BraidClient;
let split: Split;

before(async () => {
  [server, browser] = await Promise.all([startServer({ env: SOON }), openBrowser()]);
  client = connect(server.url);
  split = await splitWide(client, "plays", await makeWide(client, "plays"));
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

test("a split is watched from its detection until reads use it", async () => {
  const wide = await makeWide(client, "watched");
  await client.splits.pause("watched", { reason: "to see it detected" });
  await using view = await browser.open(`${server.url}/splits?namespace=watched`);
  const { page } = view;
  await page.getByText("No split here.").waitFor();
  await readsAreRight([client], "watched", wide.ledger, "wide", wide.bucket);
  await page
    .getByRole("region", { name: "Detected" })
    .getByRole("link", { name: "wide" })
    .waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByLabel("Reason, recorded with the change").fill("seen");
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page
    .getByRole("region", { name: "Completed" })
    .getByRole("link", { name: "wide" })
    .waitFor();
  await view.picture("splits-watched");

  // Reads compare it and the mode advances by itself; the page of read modes shows each step.
  await page.goto(`${server.url}/read-modes?namespace=watched`);
  const serving = page.locator(".mode-step.is-now", { hasText: "SERVE" });
  for (let reads = 0; (await serving.count()) === 0 && reads < 200; reads++) {
    await readsAreRight([client], "watched", wide.ledger, "wide", wide.bucket);
  }
  await serving.waitFor();
  view.check();
});

for (const colours of ["light", "dark"] as const) {
  test(`the board, the table and one split in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/splits`, { colours });
    const { page } = view;
    await page.getByRole("region", { name: "Completed" }).getByRole("link").first().waitFor();
    await view.checkAccessibility();
    await view.picture(`splits-${colours}`);
    await page.getByText("Table", { exact: true }).first().click();
    await page.getByRole("table").first().waitFor();
    await view.checkAccessibility();
    await page.goto(`${server.url}/splits/plays/${split.splitId}`);
    await page.getByRole("heading", { name: "wide" }).waitFor();
    await page.locator(".badge", { hasText: "equal" }).waitFor();
    await view.checkAccessibility();
    await view.picture(`split-${colours}`);
    view.check();
  });
}

test("a split is verified, rolled back with a reason and retried, by keyboard alone", async () => {
  await using view = await browser.open(`${server.url}/splits/plays/${split.splitId}`);
  const { page } = view;
  await page.getByRole("button", { name: "Verify" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("1,500 events compared, all equal").waitFor();

  await page.getByRole("button", { name: "Roll back…" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog input:focus").waitFor();
  await page.keyboard.type("to try it");
  await page.keyboard.press("Enter");
  await page.getByText(/It is held by .*: .*to try it/).waitFor();
  equal((await client.splits.get("plays", { splitId: split.splitId })).state, "INVALIDATED");
  await view.checkAccessibility();

  await page.getByRole("button", { name: "Retry…" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog input:focus").waitFor();
  await page.keyboard.type("tried");
  await page.keyboard.press("Enter");
  await page.getByText("equal to the original and confirmed").waitFor({ timeout: 120_000 });
  view.check();
});

for (const colours of ["light", "dark"] as const) {
  test(`a mode is set by force and the kill switch is used, in ${colours} colours`, async () => {
    await client.splits.setReadMode("plays", "SHADOW", { force: true, autoAdvance: false });
    await using view = await browser.open(`${server.url}/read-modes?namespace=plays`, { colours });
    const { page } = view;
    await page.locator(".mode-step.is-now", { hasText: "SHADOW" }).waitFor();
    await view.checkAccessibility();
    await view.picture(`read-modes-${colours}`);
    await page.getByRole("button", { name: "Set SERVE…" }).click();
    await page.getByLabel("Reason, recorded with the change").fill("in a hurry");
    await page.getByRole("button", { name: "Set SERVE", exact: true }).click();
    await page.locator(".mode-step.is-now", { hasText: "SERVE" }).waitFor();
    match((await client.splits.getReadMode("plays")).reason, /in a hurry/);

    await page.getByRole("button", { name: "Switch on…" }).click();
    await page.getByLabel("Reason, recorded with the change").fill("an exercise");
    await page.getByRole("button", { name: "Switch on", exact: true }).click();
    await page.getByRole("button", { name: "Switch off…" }).waitFor();
    equal((await client.splits.getKillSwitch()).on, true);
    await page.getByRole("button", { name: "Switch off…" }).click();
    await page.getByLabel("Reason, recorded with the change").fill("over");
    await page.getByRole("button", { name: "Switch off", exact: true }).click();
    await page.getByRole("button", { name: "Switch on…" }).waitFor();
    equal((await client.splits.getKillSwitch()).on, false);
    view.check();
  });
}

test("at 420 pixels nothing is wider than the window", async () => {
  for (const path of ["/splits", `/splits/plays/${split.splitId}`, "/read-modes?namespace=plays"]) {
    await using view = await browser.open(`${server.url}${path}`, { width: 420 });
    await view.page.locator(".panel").first().waitFor();
    await view.checkWidth();
    view.check();
  }
});

test("a split that does not exist is said in words", async () => {
  await using view = await browser.open(`${server.url}/splits/plays/00000000`, {
    expected: /40\d/,
  });
  await view.page.getByRole("alert").waitFor();
  await view.checkAccessibility();
  view.check();
});
