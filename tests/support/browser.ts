/**
 * The console in a real Chromium, against a real server.
 *
 * A page that logs an error, throws, breaks its content security policy or asks another host for
 * anything fails its test. Screenshots are build output, in `dist-test/screenshots`.
 */
import { deepEqual, equal } from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { buildConsole, consoleIsStale } from "../../scripts/build-console.ts";
import { findChromium } from "../../scripts/find-chromium.ts";

export type { Page } from "playwright-core";

const SCREENSHOTS = "dist-test/screenshots";

/** How long a condition may take on slow cores that other tests keep busy. */
const WAIT_MS_MAX = 120_000;

export type Colours = "light" | "dark";

export interface OpenOptions {
  readonly colours?: Colours;
  /** Of the window; 1280 by 800 if not given. */
  readonly width?: number;
  readonly height?: number;
  /** Errors that the test causes on purpose: the server is away, a call is refused. */
  readonly expected?: RegExp;
  /** A script that runs before those of the page. */
  readonly before?: string;
}

export interface ConsoleBrowser {
  /** Opens `/path` of a server in a window of its own. */
  open(url: string, options?: OpenOptions): Promise<ConsolePage>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ConsolePage {
  readonly page: Page;
  /** Fails if anything went wrong since the page was opened. */
  check(): void;
  /** Fails if axe finds a violation. */
  checkAccessibility(): Promise<void>;
  /** Fails if the page can be scrolled sideways. */
  checkWidth(): Promise<void>;
  /** Keeps a picture as `name.png`. */
  picture(name: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openBrowser(): Promise<ConsoleBrowser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("there is no Chromium on this machine");
  if (consoleIsStale()) await buildConsole();
  const asRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath, args: asRoot ? ["--no-sandbox"] : [] });
  return {
    open: (url, options) => openPage(browser, url, options),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function openPage(
  browser: Browser,
  url: string,
  { colours = "light", width = 1280, height = 800, expected, before }: OpenOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: colours,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "Europe/Madrid",
  });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(url);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.origin !== origin && asked.protocol !== "data:") problems.push(`asks ${asked.href}`);
  });
  if (before !== undefined) await page.addInitScript(before);
  await page.goto(url);
  await page.locator("h1").first().waitFor();
  return {
    page,
    check: () =>
      deepEqual(
        problems.filter((problem) => expected?.test(problem) !== true),
        [],
      ),
    checkAccessibility: () => checkAccessibility(page),
    checkWidth: () => checkWidth(page),
    picture: (name) => takePicture(page, name),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

async function checkAccessibility(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: AxeViolation[] }>(
    "axe.run(document, { resultTypes: ['violations'] })",
  );
  const found = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map((node) => `${node.html} ${node.failureSummary ?? ""}`).join("; ")}`,
  );
  deepEqual(found, []);
}

async function checkWidth(page: Page): Promise<void> {
  const beyond = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  equal(beyond, 0, `the page is ${beyond} px wider than its window`);
}

async function takePicture(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
