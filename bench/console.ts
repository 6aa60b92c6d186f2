/**
 * How long the console takes until it can be used, and how much it loads: a real Chromium with an
 * empty cache, a real server on this machine.
 *
 * Interactive is the moment when the overview has its heading: by then the frame listens to keys and
 * clicks. Complete is when the first figures of the server are there.
 */
import { openBrowser } from "../tests/support/browser.ts";
import type { Page } from "../tests/support/browser.ts";
import { startServer } from "../tests/support/started-server.ts";
import { Report } from "./support/report.ts";
import { median } from "./support/stats.ts";

const ROUNDS = 7;

/** Runs in the page before its scripts: notes when an element first appears. */
const NOTE_TIMES = `
  window.seenAt = {};
  const wanted = { interactive: "main h1", complete: "main .figure" };
  new MutationObserver(() => {
    for (const [name, selector] of Object.entries(wanted)) {
      if (!(name in window.seenAt) && document.querySelector(selector)) window.seenAt[name] = performance.now();
    }
  }).observe(document, { childList: true, subtree: true });
`;

interface Load {
  readonly interactiveMs: number;
  readonly completeMs: number;
  readonly bytes: number;
  readonly requests: number;
}

export async function benchConsole(): Promise<Report> {
  const report = new Report("console");
  await using server = await startServer();
  await using browser = await openBrowser();
  const loads: Load[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await using view = await browser.open(`${server.url}/`, { before: NOTE_TIMES });
    await view.page.locator("main .figure").first().waitFor();
    loads.push(await loadOf(view.page));
  }
  const interactive = median(loads.map(({ interactiveMs }) => interactiveMs));
  const complete = median(loads.map(({ completeMs }) => completeMs));
  const bytes = Math.max(...loads.map((load) => load.bytes));
  const requests = Math.max(...loads.map((load) => load.requests));
  report.add({
    name: "time to interactive, s",
    figure: `median of ${ROUNDS}, the slowest ${Math.round(Math.max(...loads.map(({ interactiveMs }) => interactiveMs)))} ms`,
    value: interactive / 1000,
    goal: "< 1",
    met: interactive < 1000,
  });
  report.add({
    name: "time to the first figures, s",
    figure: `median of ${ROUNDS}`,
    value: complete / 1000,
    goal: "",
    met: true,
  });
  report.add({
    name: "scripts and styles of the first page, KB as they travel",
    figure: `${requests} files`,
    value: bytes / 1000,
    goal: "< 150",
    met: bytes < 150_000,
  });
  return report;
}

async function loadOf(page: Page): Promise<Load> {
  return page.evaluate<Load>(`(() => {
    const files = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/assets/"));
    const page = performance.getEntriesByType("navigation")[0];
    return {
      interactiveMs: window.seenAt.interactive,
      completeMs: window.seenAt.complete,
      bytes: files.reduce((sum, { transferSize }) => sum + transferSize, page.transferSize),
      requests: files.length + 1,
    };
  })()`);
}
