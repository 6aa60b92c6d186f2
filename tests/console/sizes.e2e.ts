/**
 * The pages about sizes in a real browser, on slices that a real server has walked: the width
 * map, sizes with tuning, and a plan before there are any.
 *
 * @needs chromium
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient, NewEvent } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import { eventually, SOON } from "../e2e/splits-support.ts";
import {
  keepWriting,
  readOnce,
  shortSlices,
  SLICE,
  TOO_NARROW,
  untilTuning,
} from "../e2e/tuning-support.ts";
import { openBrowser } from "../support/browser.ts";
import type { ConsoleBrowser } from "../support/browser.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const WALK_SOON = { BRAID_WALK_EVERY: "200ms", BRAID_WALK_CURRENT_EVERY: "200ms" };
const TUNE_SOON = { BRAID_TUNING_EVERY: "200ms" };
const SLICE_SECONDS = 600;
const BUCKET_SECONDS = 20;

let server: StartedServer;
let browser: ConsoleBrowser;
let client: BraidClient;
/** A slice that has ended, with ids of very different sizes. */
let slice = "";
/** Writes to a namespace with too narrow buckets, until the tuner has a proposal. */
let writing: AsyncDisposable | undefined;

before(async () => {
  [server, browser] = await Promise.all([
    startServer({ env: { ...SOON, ...WALK_SOON, ...TUNE_SOON } }),
    openBrowser(),
  ]);
  client = connect(server.url);
  const { traffic, partition, target } = TOO_NARROW;
  await client.createNamespace("tuned", shortSlices(partition, { mode: "PROPOSE", ...target }));
  writing = keepWriting(client, "tuned", new Ledger(), traffic);
  await readOnce(client, "tuned");
  await client.createNamespace("plays", {
    timePartition: {
      secondsPerTimeSlice: SLICE_SECONDS,
      secondsPerTimeBucket: BUCKET_SECONDS,
    },
    tuning: { densityMinBytes: "4096", densityMaxBytes: "65536" },
    widePartition: { bytesMax: "65536", targetBytes: "65536" },
    acceptLimit: "1800s",
    futureLimit: "1s",
    retention: { closeAfter: "18000s", deleteAfter: "36000s" },
  });
  const startMs = (Math.floor(Date.now() / 1_000 / SLICE_SECONDS) - 1) * SLICE_SECONDS * 1_000;
  for (let id = 0; id < 12; id++) await client.writeSync("plays", eventsOf(id, startMs));
  const slices = await client.listTimeSlices("plays");
  slice = slices.find(({ start }) => Date.parse(start) === startMs)?.name ?? "";
  await eventually(
    "the slice has a map",
    () => client.getWidthMap("plays", slice),
    ({ asOf, overLimit }) => asOf !== undefined && overLimit !== "0",
  );
});

after(async () => {
  await writing?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

/** Three events in each time bucket; each id has larger ones than the one before. */
function eventsOf(id: number, startMs: number): NewEvent[] {
  const payload = "x".repeat(Math.round(100 * 1.8 ** id));
  return Array.from({ length: 3 * (SLICE_SECONDS / BUCKET_SECONDS) }, (_, nth) => ({
    timeSeriesId: `profile:${id}`,
    eventTime: new Date(startMs + nth * (BUCKET_SECONDS / 3) * 1_000),
    eventId: `e${nth}`,
    // Some ids are quiet for a while.
    items: { payload: Math.sin(nth / 9 + id) > -0.3 ? payload : "x" },
  }));
}

for (const colours of ["light", "dark"] as const) {
  test(`the width map says what is wrong, and a selection lists its partitions, in ${colours} colours`, async () => {
    const address = `${server.url}/width-map?namespace=plays&slice=${slice}`;
    await using view = await browser.open(address, { colours });
    const { page } = view;
    await page
      .getByText(/partitions over 64KiB: profile:11/)
      .first()
      .waitFor();
    await page.getByText("limit 64 KiB").waitFor();
    await page.getByText("target 4 KiB to 64 KiB", { exact: true }).waitFor();
    await page.getByRole("link", { name: "profile:11" }).first().waitFor();
    await view.checkAccessibility();
    await view.picture(`width-map-${colours}`);

    // By keyboard: the topmost row with partitions, in the first columns.
    const map = await client.getWidthMap("plays", slice);
    const top = map.cells.reduce((a, b) => (b.row > a.row ? b : a));
    await page.getByRole("group", { name: /Partitions by time and size: arrow keys/ }).focus();
    for (let row = 0; row < top.row; row++) await page.keyboard.press("ArrowUp");
    for (let column = 0; column < top.column; column++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Partitions of the chosen cells" }).waitFor();
    await page
      .getByRole("status")
      .filter({ hasText: /^1 partition/ })
      .waitFor();
    match(page.url(), new RegExp(`cells=${top.column}\\.${top.row}-${top.column}\\.${top.row}`));
    equal(await page.getByRole("link", { name: "profile:11" }).count(), 1);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("heading", { name: "The largest partitions" }).waitFor();

    await page.getByText("By id", { exact: true }).click();
    await page.getByText("Partitions by time and hash of the id").first().waitFor();
    await view.checkAccessibility();
    await view.picture(`width-map-ids-${colours}`);
    view.check();
  });
}

test("a click on a partition of the width map explains how it is read", async () => {
  const address = `${server.url}/width-map?namespace=plays&slice=${slice}&filter=profile:11`;
  await using view = await browser.open(address);
  await view.page.getByRole("link", { name: "profile:11" }).first().click();
  await view.page.getByRole("heading", { name: "Explain a read" }).waitFor();
  ok(view.page.url().includes("id=profile%3A11"));
  view.check();
});

for (const colours of ["light", "dark"] as const) {
  test(`sizes are drawn with the target and over slices, in ${colours} colours`, async () => {
    const address = `${server.url}/histogram?namespace=plays&slice=${slice}`;
    await using view = await browser.open(address, { colours });
    const { page } = view;
    await page.getByText(/% of the partitions are in the target of 4 KiB to 64 KiB/).waitFor();
    await page.getByRole("img", { name: /Partitions by size/ }).waitFor();
    await page.getByText("Nothing to propose:").waitFor();
    await page.getByRole("link", { name: slice }).waitFor();
    await view.checkAccessibility();
    await view.picture(`histogram-${colours}`);
    view.check();
  });
}

test("a proposal of the tuner is accepted with a reason, by keyboard", async () => {
  const { id, evidence } = await untilTuning(client, "tuned", "PROPOSED");
  await using view = await browser.open(`${server.url}/histogram?namespace=tuned`);
  const { page } = view;
  await page.getByText(/The tuner proposes a change of later slices/).waitFor();
  await page.getByLabel("Slice", { exact: true }).selectOption(evidence[0] ?? "");
  await page.getByText(/p99 as proposed$/).waitFor();
  await view.checkAccessibility();
  await view.picture("histogram-proposal");
  await page.getByRole("button", { name: "Accept…" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Accept the proposal" });
  await dialog.getByLabel(/^Reason/).fill("reads touch too many partitions");
  await view.checkAccessibility();
  await page.keyboard.press("Enter");
  await page.getByRole("cell", { name: "reads touch too many partitions" }).waitFor();
  const { tunings } = await client.listTunings("tuned");
  const accepted = tunings.find((tuning) => tuning.id === id);
  deepEqual(
    accepted?.history.map(({ by, to }) => [by, to]),
    [
      ["tuner", "PROPOSED"],
      ["console", "APPLIED"],
    ],
  );
  equal(accepted?.to.secondsPerTimeBucket, SLICE);
  view.check();
});

for (const colours of ["light", "dark"] as const) {
  test(`a plan changes with its sliders, by keyboard, and is exported, in ${colours} colours`, async () => {
    await using view = await browser.open(`${server.url}/plan`, { colours });
    const { page } = view;
    await page.getByRole("heading", { name: "Infrastructure" }).waitFor();
    const command = page.locator("code").filter({ hasText: "braid plan" });
    match((await command.textContent()) ?? "", /--ids 500000,1000000,2000000 /);
    await page.getByRole("slider", { name: "Ids, slider" }).focus();
    await page.keyboard.press("End");
    await page.waitForURL(/ids=1000000000/);
    match((await command.textContent()) ?? "", /--ids 500000000,1000000000,2000000000 /);
    await page.getByText("of the workload before").waitFor({ state: "hidden" });
    await page.getByText(/Cassandra nodes and \d+ servers? are enough/).waitFor();
    await view.checkAccessibility();
    await view.picture(`plan-${colours}`);
    view.check();
  });
}

test("a namespace is created from its plan", async () => {
  await using view = await browser.open(`${server.url}/plan?ids=10000&eventsPerDay=50`);
  const { page } = view;
  await page.getByLabel("Name of the namespace").fill("planned");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "planned", exact: true }).waitFor();
  ok((await client.getNamespace("planned")).provisioned !== undefined);
  view.check();
});

test("pages about sizes fit 420 pixels", async () => {
  for (const path of ["/width-map", "/histogram", "/plan"]) {
    const address = `${server.url}${path}?namespace=plays&slice=${slice}`;
    await using view = await browser.open(address, { width: 420 });
    await view.page.getByRole("heading", { level: 2 }).first().waitFor();
    await view.page.getByRole("table").first().waitFor();
    await view.checkWidth();
    await view.picture(`${path.slice(1)}-narrow`);
    view.check();
  }
});
