/**
 * The kit of the console in a real browser: every part with made-up data, on /kit.
 *
 * @needs chromium
 */
import { equal, match, ok } from "node:assert/strict";
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

for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
] as const) {
  test(`the kit has no violation in ${colours} colours at ${width} pixels`, async () => {
    await using view = await browser.open(`${server.url}/kit`, { colours, width });
    await view.page.getByRole("img", { name: /^Widths/ }).waitFor();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`kit-${colours}-${width}`);
    view.check();
  });
}

test("N7: a long table has only the rows in view on the page, and sort and filter are in the address", async () => {
  await using view = await browser.open(`${server.url}/kit`);
  const { page } = view;
  const table = page.getByRole("table", { name: "Made-up partitions" });
  const rows = table.locator("tbody tr:not(.gap)");
  await rows.first().waitFor();
  ok((await rows.count()) < 200);
  const scroller = page.getByRole("group", { name: "Made-up partitions" });
  await scroller.evaluate((element) => {
    Reflect.set(element, "scrollTop", Reflect.get(element, "scrollHeight"));
  });
  await table.getByText("0 B", { exact: true }).first().waitFor();

  await table.getByRole("button", { name: "Id" }).click();
  equal(new URL(page.url()).searchParams.get("sort"), "id");
  await page.getByRole("searchbox", { name: "Filter partitions" }).fill("device-12 splitting");
  await page.getByText(/^\d+ of 5,000 partitions$/).waitFor();
  equal(new URL(page.url()).searchParams.get("filter"), "device-12 splitting");
  await page.reload();
  await page.getByText(/^\d+ of 5,000 partitions$/).waitFor();
  view.check();
});

test("every chart has a table of the same figures", async () => {
  await using view = await browser.open(`${server.url}/kit`);
  const { page } = view;
  for (const name of ["Latency", "Partition sizes", "Widths"]) {
    await page.getByRole("button", { name: `Table of ${name}` }).click();
    const table = page.getByRole("table", { name, exact: true });
    await table.waitFor();
    ok((await table.getByRole("row").count()) > 10, name);
  }
  view.check();
});

test("cells of a heat map are chosen by keyboard and by mouse", async () => {
  await using view = await browser.open(`${server.url}/kit`);
  const { page } = view;
  const cells = page.getByRole("group", { name: /^Widths: arrow keys/ });
  await cells.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByText("Chosen: columns 1 to 1, rows 1 to 1.").waitFor();
  const box = await cells.boundingBox();
  ok(box !== null);
  await page.mouse.move(box.x + 2, box.y + box.height - 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
  await page.getByText(/Chosen: columns 0 to 2[34], rows 0 to (?:9|10)\./).waitFor();
  view.check();
});

test("a change asks for a reason, shows an error, and is sent once it is given", async () => {
  await using view = await browser.open(`${server.url}/kit`);
  const { page } = view;
  await page.getByRole("button", { name: "Roll back" }).click();
  const dialog = page.getByRole("dialog", { name: "Roll back 6313825" });
  await dialog.getByLabel(/^Reason/).fill("fail");
  await page.keyboard.press("Enter");
  await dialog.getByText("It failed.").waitFor();
  await view.checkAccessibility();
  await dialog.getByLabel(/^Reason/).fill("the parts differ");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "hidden" });
  await page.getByText("the parts differ").waitFor();
  view.check();
});

test("a view can be copied as commands, quoted for a shell", async () => {
  await using view = await browser.open(`${server.url}/kit`);
  const { page } = view;
  await page.getByRole("button", { name: "Copy as…" }).click();
  const dialog = page.getByRole("dialog", { name: "Copy as" });
  const said = await dialog.locator("pre").allTextContents();
  equal(said[0], `braid ns show plays --url ${server.url}`);
  equal(
    said[1],
    `curl --json '{"namespace":"it'\\''s"}' ${server.url}/braid.v1.ControlService/GetNamespace`,
  );
  match(
    said[2] ?? "",
    /^grpcurl -plaintext -d '.*' 127\.0\.0\.1:\d+ braid\.v1\.ControlService\/GetNamespace$/,
  );
  match(said[3] ?? "", /client\.getNamespace\("plays"\)/);
  view.check();
});
