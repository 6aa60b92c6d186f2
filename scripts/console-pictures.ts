/**
 * Makes the README's pictures from the screenshots of the last test run (`npm test -- console`):
 * `node scripts/console-pictures.ts`. Chromium itself scales and compresses them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { findChromium } from "./find-chromium.ts";

const FROM = "dist-test/screenshots";
const TO = "docs/images";
/** Screenshots by the name of their picture. */
const PICTURES: Readonly<Record<string, string>> = {
  "console-overview": "overview-healthy",
  "console-width-map": "width-map-dark",
  "console-split": "split-light",
};
const QUALITY = 0.8;

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("install chromium first");
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
await using browser = await chromium.launch({ executablePath, args });
const page = await browser.newPage();
for (const [name, screenshot] of Object.entries(PICTURES)) {
  const source = readFileSync(join(FROM, `${screenshot}.png`)).toString("base64");
  const encoded = await page.evaluate<string>(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${source}";
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", ${QUALITY}).split(",")[1];
  })()`);
  const bytes = Buffer.from(encoded, "base64");
  writeFileSync(join(TO, `${name}.webp`), bytes);
  console.log(`${join(TO, `${name}.webp`)}: ${bytes.length} bytes`);
}
