import { deepEqual, equal, match } from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { createLog } from "./log.ts";

/** A terminal, as far as the log uses one. */
function screen(): { stream: typeof process.stderr; shown: () => string } {
  let shown = "";
  const write = (line: string): boolean => {
    shown += line;
    return true;
  };
  // Only the members that the log uses.
  const stream = { isTTY: true, hasColors: () => false, write } as unknown as typeof process.stderr;
  return { stream, shown: () => shown };
}

test("on a terminal, log lines are readable text and an error is followed by its stack", () => {
  const { stream, shown } = screen();
  const log = createLog("info", stream);
  log.warn({ queue: "kafka", lag: 3 }, "behind");
  match(shown(), /^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: behind \{"queue":"kafka","lag":3\}\n$/);
  log.error({ err: new Error("it broke") }, "cannot write");
  match(shown(), /ERROR: cannot write[^]*it broke[^]*at /);
  log.debug("too fine");
  equal(shown().includes("too fine"), false);
});

test("O7: a line that repeats passes a bounded number of times, and the next one says how many did not", async () => {
  const { stream, shown } = screen();
  const clock = new VirtualClock(0);
  const log = createLog("info", stream, clock);
  const lines = (text: string): string[] =>
    shown()
      .split("\n")
      .filter((line) => line.includes(text));
  for (let nth = 0; nth < 5_000; nth++) log.warn({ nth }, "a comparison failed");
  log.warn("another");
  equal(lines("a comparison failed").length, 20);
  match(lines("a comparison failed").at(-1) ?? "", /\{"nth":19\}$/);
  equal(lines("another").length, 1);
  await clock.advance(10_000);
  log.warn({ nth: 5_000 }, "a comparison failed");
  log.warn({ nth: 5_001 }, "a comparison failed");
  deepEqual(
    lines("a comparison failed")
      .slice(20)
      .map((line) => line.slice(line.indexOf("{"))),
    ['{"nth":5000,"leftOut":4980}', '{"nth":5001}'],
  );
});

test("without a terminal, each log line is JSON and is written at once", async () => {
  const url = new URL("./log.ts", import.meta.url).href;
  const script = `import { createLog } from "${url}"; createLog("info").info({ a: 1 }, "x"); process.exit(0);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
  const line = JSON.parse(await text(child.stderr)) as Record<string, unknown>;
  equal(line["msg"], "x");
  equal(line["a"], 1);
  equal(line["level"], 30);
});
