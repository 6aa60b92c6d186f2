/** Conditions that a test waits for instead of a time. */
import { setTimeout as pause } from "node:timers/promises";

/** The runner ends a run that hangs; this names the condition sooner. */
const TRIES_MAX = 3_000;

export async function until(claim: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await claim()); tries++) {
    if (tries >= TRIES_MAX) throw new Error(`the condition never became true: ${String(claim)}`);
    await pause(10);
  }
}

/** The value of a metric; 0 if the server has not seen it yet. */
export async function metricOf(url: string, series: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}
