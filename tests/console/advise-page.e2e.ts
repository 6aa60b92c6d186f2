/**
 * The page of `braid advise --html` in a real browser.
 *
 * @needs chromium
 */
import { equal, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { queryOf } from "../../src/advise/examples/example.ts";
import { advicePage } from "../../src/advise/html/page.ts";
import { adviceOn, sampleOf, VIEW_ROLES } from "../support/advise-table.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";

const folder = mkdtempSync(join(tmpdir(), "braid-advise-page-"));
let browser: ConsoleBrowser;
let url: string;

before(async () => {
  browser = await openBrowser();
  // A video with a thousand views and some with few, over ten days.
  const rows = Array.from({ length: 1_500 }, (_, nth) => ({
    video: nth % 3 === 0 ? `v${nth % 100}` : "v-popular",
    id: `${nth}`,
    at: 1_700_000_000 + nth * 576,
    device: nth % 2 === 0 ? "tv" : "web",
    user: nth,
  }));
  const queries = [
    queryOf("all views of a video", ["video"]),
    queryOf("the newest views of a video", ["video"], { limit: 20, keys: "BUSY" }),
    queryOf("views of a device", ["device"]),
  ];
  const advice = adviceOn(await sampleOf(rows), { queries, limits: { rowsMax: 200 } });
  url = written("views.html", advicePage(advice, ["braid ns create views"]));
});

after(async () => {
  await browser?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function written(name: string, html: string): string {
  const path = join(folder, name);
  writeFileSync(path, html);
  return pathToFileURL(path).href;
}

for (const [colours, width] of [
  ["light", 1280],
  ["dark", 1280],
  ["light", 420],
  ["dark", 420],
] as const) {
  test(`the page has no violation in ${colours} colours at ${width} pixels`, async () => {
    await using view = await browser.open(url, { colours, width });
    await view.page.getByText("The numbers behind the verdicts").click();
    await view.checkAccessibility();
    await view.checkWidth();
    await view.picture(`advise-${colours}-${width}`);
    view.check();
  });
}

test("what the rows hold is text on the page, and runs nothing", async () => {
  const evil = '<img src=x onerror="document.title=1"></style></script>"\'&';
  const rows = Array.from({ length: 60 }, (_, nth) => ({
    [evil]: evil,
    id: `${nth % 50}`,
    at: 1_700_000_000 + nth,
    device: nth % 2 === 0 ? evil : "web",
  }));
  const roles = { ...VIEW_ROLES, table: evil, partitionKey: [evil], candidates: ["device"] };
  const advice = adviceOn(await sampleOf(rows, roles), { limits: { rowsMax: 40 } });
  await using view = await browser.open(written("evil.html", advicePage(advice, [evil])));
  equal(await view.page.title(), `How to split ${evil}`);
  equal(await view.page.locator("img, script").count(), 0);
  ok((await view.page.locator("body").innerText()).includes(evil));
  view.check();
});
