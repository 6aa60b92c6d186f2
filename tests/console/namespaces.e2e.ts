/**
 * The pages of namespaces in a real browser: the list, one namespace, and creating one.
 *
 * @needs chromium
 */
import { deepEqual, equal } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let browser: ConsoleBrowser;

before(async () => {
  [server, browser] = await Promise.all([startServer(), openBrowser()]);
  const client = connect(server.url);
  await client.createNamespace("plays", { acceptLimit: "1800s", slos: { read: { max: "2s" } } });
  const events = Array.from({ length: 50 }, (_, nth) => ({
    timeSeriesId: `profile:${nth % 5}`,
    eventTime: new Date(Date.now() - nth * 1_000),
    eventId: `e${nth}`,
    items: { device: "tv" },
  }));
  await client.writeSync("plays", events);
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

for (const colours of ["light", "dark"] as const) {
  test(`namespaces are listed, and one is shown with the origin of its values, in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/namespaces`, { colours });
    const { page } = view;
    await page.getByRole("heading", { name: "Namespaces", exact: true }).waitFor();
    await page.getByRole("link", { name: "plays" }).waitFor();
    await view.checkAccessibility();
    await view.picture(`namespaces-${colours}`);

    await page.getByRole("link", { name: "plays" }).click();
    await page.getByRole("heading", { name: "plays", exact: true }).waitFor();
    await page.getByText("50 events, about").waitFor();
    const origin = (setting: string) =>
      page.getByRole("row").filter({ hasText: setting }).getByRole("cell").last().textContent();
    deepEqual(await Promise.all(["acceptLimit", "slos.read.max", "slos.read.target"].map(origin)), [
      "given by an operator",
      "given by an operator",
      "the default",
    ]);
    await view.checkAccessibility();
    await view.picture(`namespace-${colours}`);
    view.check();
  });
}

test("the time line of slices is also a table, and its address can be shared", async () => {
  await using view = await browser.open(`${server.url}/namespaces/plays?table=slices`);
  await view.page.getByRole("group", { name: "Slices over time" }).waitFor();
  equal(await view.page.getByRole("button", { name: "Chart of Slices over time" }).count(), 1);
  await view.checkAccessibility();
  view.check();
});

test("a namespace is created by keyboard, and the command of the page creates the same", async () => {
  await using view = await browser.open(`${server.url}/namespaces/new`);
  const { page } = view;
  await page.getByLabel("Name").focus();
  await page.keyboard.type("from_keys");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("2d");
  const command = (await page.locator("code").last().textContent()) ?? "";
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "from_keys", exact: true }).waitFor();
  await page.getByText("It has no event yet.").waitFor();
  view.check();

  const words = command
    .replaceAll("'", "")
    .replace("from_keys", "from_command")
    .split(" ")
    .slice(1);
  equal((await braid(words, server.url)).code, 0);
  const client = connect(server.url);
  deepEqual(
    (await client.getNamespace("from_command")).config,
    (await client.getNamespace("from_keys")).config,
  );
});

test("a name that is taken is refused in words, and nothing is lost", async () => {
  await using view = await browser.open(`${server.url}/namespaces/new?name=plays&bucket=2h`, {
    expected: /409/,
  });
  const { page } = view;
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText("NAMESPACE_EXISTS").waitFor();
  equal(await page.getByLabel("Time bucket").inputValue(), "2h");
  await view.checkAccessibility();
  view.check();
});

test("a namespace is deleted with a reason, and the list no longer has it", async () => {
  await connect(server.url).createNamespace("short_lived");
  await using view = await browser.open(`${server.url}/namespaces/short_lived`);
  const { page } = view;
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByLabel("Reason, recorded with the change").fill("a test");
  await view.checkAccessibility();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { name: "Namespaces", exact: true }).waitFor();
  await page.getByRole("link", { name: "plays" }).waitFor();
  equal(await page.getByRole("link", { name: "short_lived" }).count(), 0);
  view.check();
});

test("at 420 pixels nothing is wider than the window", async () => {
  for (const path of ["/namespaces", "/namespaces/plays", "/namespaces/new"]) {
    await using view = await browser.open(`${server.url}${path}`, { width: 420 });
    await view.page.getByRole("heading", { level: 1 }).waitFor();
    await view.checkWidth();
    if (path.endsWith("plays")) await view.picture("namespace-narrow");
    view.check();
  }
});
