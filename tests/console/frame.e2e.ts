/**
 * The frame of the console in a real browser.
 *
 * @needs chromium
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { after, before, test } from "node:test";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let browser: ConsoleBrowser;

before(async () => {
  [server, browser] = await Promise.all([startServer(), openBrowser()]);
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

for (const colours of ["light", "dark"] as const) {
  test(`the overview opens without an error and without a violation in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/`, { colours });
    await view.page.getByText("has no namespace yet").waitFor();
    await view.checkAccessibility();
    await view.picture(`overview-empty-${colours}`);
    view.check();
  });
}

test("the console is used by keyboard: skip link, navigation, shortcuts and their list", async () => {
  await using view = await browser.open(`${server.url}/`);
  const { page } = view;
  await page.keyboard.press("Tab");
  const focused = () => page.evaluate<string>("document.activeElement?.textContent ?? ''");
  equal(await focused(), "Skip to the page");
  await page.keyboard.press("Enter");
  equal(await page.evaluate<string>("document.activeElement?.id ?? ''"), "main");

  await page.getByRole("link", { name: "Overview" }).focus();
  await page.keyboard.press("Enter");
  equal(new URL(page.url()).pathname, "/");

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await view.checkAccessibility();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });

  await page.keyboard.press("t");
  await page.getByRole("button", { name: "Colours: Light" }).waitFor();
  await page.keyboard.press("z");
  await page
    .getByText(/UTC\+0[12]:00/)
    .first()
    .waitFor();
  view.check();
});

test("at 420 pixels nothing is wider than the window, and the menu opens", async () => {
  await using view = await browser.open(`${server.url}/`, { width: 420 });
  const { page } = view;
  await page.getByText("has no namespace yet").waitFor();
  await view.checkWidth();
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Overview" }).waitFor();
  await view.checkWidth();
  await view.checkAccessibility();
  await view.picture("overview-narrow");
  view.check();
});

test("an address without a page says so and leads back", async () => {
  await using view = await browser.open(`${server.url}/no-such-page`);
  await view.page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await view.page.getByRole("link", { name: "overview", exact: true }).click();
  await view.page.getByRole("heading", { name: "Overview" }).waitFor();
  view.check();
});

test("N6: a server that is away is a banner on the page, and the banner goes when it is back", async () => {
  await using own = await startServer();
  await using view = await browser.open(`${own.url}/`, {
    expected:
      /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING/,
  });
  const { page } = view;
  await page.getByText("has no namespace yet").waitFor();
  await own.stop("SIGTERM");
  await page.keyboard.press("r");
  await page.getByText("The server does not answer").waitFor();
  await own.start();
  await page.keyboard.press("r");
  await page.getByText("The server does not answer").waitFor({ state: "detached" });
  view.check();
});

test("Z14: files are served with their type, compressed, and kept by browsers; others are not served", async () => {
  const start = await fetch(`${server.url}/`);
  equal(start.status, 200);
  equal(start.headers.get("cache-control"), "no-cache");
  match(start.headers.get("content-security-policy") ?? "", /script-src 'self'; style-src 'self'/);
  const html = await start.text();
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? "";
  const served = await fetch(`${server.url}${script}`);
  equal(served.headers.get("cache-control"), "public, max-age=31536000, immutable");
  equal(served.headers.get("content-encoding"), "gzip");
  equal(served.headers.get("content-type"), "text/javascript; charset=utf-8");
  const others = ["/assets/none.js", "/assets/../files.json", "/files.json", "/package.json"];
  deepEqual(
    await Promise.all(others.map(async (path) => (await fetch(`${server.url}${path}`)).status)),
    [404, 404, 404, 404],
  );
});

test("pages of other origins reach neither methods nor pages; a link to the console may be followed", async () => {
  // Not fetch, which sets such headers itself.
  const ask = async (path: string, headers: Record<string, string>): Promise<number> => {
    const [answer] = (await once(get(`${server.url}${path}`, { headers }), "response")) as [
      IncomingMessage,
    ];
    answer.resume();
    return answer.statusCode ?? 0;
  };
  const method = "/braid.v1.ControlService/GetStatus?connect=v1&encoding=json&message=%7B%7D";
  const from = (site: string, mode: string, dest: string) => ({
    "sec-fetch-site": site,
    "sec-fetch-mode": mode,
    "sec-fetch-dest": dest,
  });
  equal(await ask(method, from("same-origin", "cors", "empty")), 200);
  equal(await ask(method, from("cross-site", "navigate", "document")), 400);
  equal(await ask("/metrics", from("same-site", "no-cors", "script")), 400);
  equal(await ask("/", from("cross-site", "no-cors", "iframe")), 400);
  equal(await ask("/", from("cross-site", "navigate", "document")), 200);
  equal(await ask("/", { origin: "http://evil.example" }), 400);
});
