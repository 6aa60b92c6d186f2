/**
 * What the number of libuv's threads does to speed and memory: servers with different numbers of
 * them take the same writes to many namespaces, in turn, in one run. Node's own number is 4.
 */
import {
  closeSide,
  describe,
  load,
  measure,
  memoryOf,
  openSide,
} from "./support/many-namespaces.ts";
import { note, Report } from "./support/report.ts";
import { median } from "./support/stats.ts";

const SIZES = [4, 16, 64, 128];
const NAMESPACES = 40;
const ROUNDS = 3;
const WARM_UP = 1;

export async function benchThreads(): Promise<Report> {
  const report = new Report("threads");
  const sides = await Array.fromAsync(SIZES, (size) =>
    openSide(NAMESPACES, { UV_THREADPOOL_SIZE: String(size) }),
  );
  try {
    for (const side of sides) await load(side);
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      for (const side of sides) await measure(side, round >= WARM_UP);
      note(`round ${round}`);
    }
    const [base] = sides;
    for (const [nth, side] of sides.entries()) {
      const ratio = median(side.rates.map((rate, i) => rate / (base?.rates[i] ?? Number.NaN)));
      report.add({
        name: `writes to ${NAMESPACES} namespaces, ${SIZES[nth]} threads against ${SIZES[0]}`,
        figure: `${describe(side)}; ${Math.round(await memoryOf(side))} MiB without mapped files`,
        value: ratio,
        goal: ">= 0.9 times",
        met: ratio >= 0.9,
      });
    }
  } finally {
    for (const side of sides) await closeSide(side);
  }
  return report;
}
