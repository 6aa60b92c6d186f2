/** Reports a test run: a line per file, and all details of what failed. */
import { relative, resolve } from "node:path";
import { finished } from "node:stream/promises";
import type { run } from "node:test";
import { inspect } from "node:util";

/** How much of the output of a failed file is shown, from its end. */
const OUTPUT_CHARS_MAX = 8_000;
const ERROR_CHARS_MAX = 4_000;

/** Follows one run after another; reports failures at the end, where people look. */
export class TestReport {
  readonly #outputs = new Map<string, string>();
  readonly #failures = new Map<string, string[]>();
  passed = 0;
  failed = 0;

  async follow(events: ReturnType<typeof run>): Promise<void> {
    const keepOutput = (event: { file: string; message: string }): void => {
      const file = resolve(event.file);
      const output = (this.#outputs.get(file) ?? "") + event.message;
      this.#outputs.set(file, output.slice(-OUTPUT_CHARS_MAX));
    };
    events.on("test:stdout", keepOutput);
    events.on("test:stderr", keepOutput);
    events.on("test:pass", ({ details }) => {
      if (details.type !== "suite") this.passed++;
    });
    events.on("test:fail", ({ name, details, file: path = "" }) => {
      const file = resolve(path);
      const error: unknown = details.error.cause ?? details.error;
      // A suite fails because of a test inside it, which is in the list already.
      if (inspect(details.error).includes("subtestsFailed")) return;
      this.failed++;
      const failures = this.#failures.get(file) ?? [];
      failures.push(`  ${name}\n${indent(textOf(error))}`);
      this.#failures.set(file, failures);
    });
    events.on("test:summary", ({ file, success, counts, duration_ms: ms }) => {
      if (file === undefined) return;
      const mark = success ? "ok  " : "FAIL";
      const seconds = (ms / 1000).toFixed(1);
      console.log(`${mark} ${relative(".", file)} (${counts.tests} tests, ${seconds} s)`);
      if (success) this.#outputs.delete(file);
    });
    await finished(events.resume());
  }

  printFailures(): void {
    for (const [file, failures] of this.#failures) {
      console.log(`\n${relative(".", file)}\n${failures.join("\n")}`);
      const output = this.#outputs.get(file);
      if (output !== undefined) console.log(`  it printed:\n${indent(output)}`);
    }
  }
}

/** A failed assertion's stack has its message; its values once more would only bury it. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : inspect(error);
  return text.slice(0, ERROR_CHARS_MAX);
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}
