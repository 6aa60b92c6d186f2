/**
 * Ten active namespaces against two hundred, at the same total load.
 *
 * Each namespace has an open slice of its own, with its own log and its own fsyncs. One server has
 * ten namespaces and another has two hundred; both run at the same time and are measured in turn,
 * so noise of the machine meets both.
 */
import {
  closeSide,
  describe,
  IN_FLIGHT,
  load,
  measure,
  memoryOf,
  openSide,
} from "./support/many-namespaces.ts";
import { note, Report } from "./support/report.ts";
import { median } from "./support/stats.ts";

const FEW = 10;
const MANY = 200;
const ROUNDS = 5;
const WARM_UP = 1;
export async function benchManyNamespaces(): Promise<Report> {
  const report = new Report("many-namespaces");
  const few = await openSide(FEW);
  const many = await openSide(MANY);
  try {
    for (const side of [few, many]) await load(side);
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      for (const side of [few, many]) await measure(side, round >= WARM_UP);
      note(`round ${round}: ${describe(few)}; ${describe(many)}`);
    }
    const ratio = median(many.rates.map((rate, i) => rate / (few.rates[i] as number)));
    report.add({
      name: `writes of one event, ${MANY} namespaces against ${FEW}, ${IN_FLIGHT} in flight`,
      figure: `${describe(many)}; ${describe(few)}`,
      value: ratio,
      goal: ">= 0.5 times",
      met: ratio >= 0.5,
    });
    const [fewMemory, manyMemory] = [await memoryOf(few), await memoryOf(many)];
    report.add({
      name: `most memory without mapped files, ${MANY} namespaces, MiB`,
      figure: `${Math.round(manyMemory)} MiB against ${Math.round(fewMemory)} MiB`,
      value: manyMemory,
      goal: "< 512 MiB",
      met: manyMemory < 512,
    });
  } finally {
    for (const side of [few, many]) await closeSide(side);
  }
  return report;
}
