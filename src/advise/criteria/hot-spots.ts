/** Hot spots: writes that go to one partition keep its replicas busy and leave the others idle. */
import { formatDurationMs } from "../../lib/units.ts";
import { keyText, percent, short } from "../number-text.ts";
import { hotRateMin } from "../partition-load.ts";
import { worseOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";

/** If most rows are written to a hot partition, it is no burst but the rule. */
const HOT_SHARE_MAX = 0.5;

export const hotSpots: Criterion = {
  name: "HOT_SPOTS",
  title: "hot spots",
  isPrice: false,
  judge({ hotSpots: hot }, { facts, limits }) {
    const { peakPerSecond, nodePerSecond, hotShare, peakKey, windowSeconds, timed } = hot;
    const number = nodePerSecond === 0 ? 0 : peakPerSecond / nodePerSecond;
    const isHot = number > 1 && peakPerSecond > hotRateMin(facts, limits);
    const verdict = worseOf(
      isHot ? "QUESTION" : "UP",
      isHot && timed && hotShare > HOT_SHARE_MAX ? "DOWN" : "UP",
    );
    if (!timed) {
      const why =
        `${percent(number / limits.nodes)} of all rows are in one partition; without a time column ` +
        "nothing says when they are written";
      return { verdict, number: isHot ? number : Math.min(1, number), why };
    }
    const window = formatDurationMs(windowSeconds * 1_000);
    const rate = `${short(peakPerSecond)} rows/s to one partition in its busiest ${window}`;
    const share = `one of ${limits.nodes} nodes has ${short(nodePerSecond)} rows/s of the busiest ${window}`;
    const rows = `${percent(hotShare)} of all rows are written to a hot partition`;
    const why = isHot
      ? `${rate} (key ${keyText(peakKey)}); ${share}; ${rows}`
      : `${rate}; ${share}`;
    return { verdict, number: isHot ? number : Math.min(1, number), why };
  },
};
