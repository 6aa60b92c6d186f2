/** Runs the commands of docs/advise.md, unchanged and in order, and compares what the page shows. */
import { ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { test } from "node:test";

interface Example {
  readonly script: string;
  /** Lines that the output has, or that a line of it begins with. */
  readonly lines: readonly string[];
}

function examplesOf(page: string): Example[] {
  const fence = "```";
  const blocks = [...page.matchAll(new RegExp(`^${fence}(sh|text)\n([^]*?)^${fence}$`, "gm"))];
  return blocks.flatMap(([, language, text = ""], at) => {
    if (language !== "sh") return [];
    const [, next, shown = ""] = blocks[at + 1] ?? [];
    return [{ script: text, lines: next === "text" ? shown.trimEnd().split("\n") : [] }];
  });
}

test("the walk of docs/advise.md leads from a sample to a decision", () => {
  const examples = examplesOf(readFileSync("docs/advise.md", "utf8"));
  ok(examples.length >= 3 && examples.some(({ lines }) => lines.length > 5));
  const folder = mkdtempSync(join(tmpdir(), "braid-advise-docs-"));
  const path = `${resolve("bin")}${delimiter}${process.env["PATH"] ?? ""}`;
  try {
    for (const { script, lines } of examples) {
      const env = { ...process.env, PATH: path, LC_ALL: "C.UTF-8" };
      const options = { cwd: folder, encoding: "utf8", env } as const;
      const said = execFileSync("sh", ["-e", "-c", script], options).split("\n");
      for (const line of lines) {
        ok(
          said.some((each) => each.startsWith(line)),
          `${line}\nis not in\n${said.join("\n")}`,
        );
      }
    }
    ok(existsSync(join(folder, "views.html")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
