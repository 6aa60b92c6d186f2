/** Size limit: large partitions are slow to read, to compact and to repair. */
import { bytesText, keyText, percent, rowsText, short, shortQuantity } from "../number-text.ts";
import { verdictOf, worseOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";

/** Newer versions of Cassandra survive a partition ten times the limit, as an exception. */
const TIMES_MAX = 10;
/** Beyond this share of the rows it is no exception. */
const ROWS_SHARE_MAX = 0.5;

export const sizeLimit: Criterion = {
  name: "SIZE_LIMIT",
  title: "size limit",
  isPrice: false,
  judge({ sizes }, { limits }) {
    const { fill, rows, bytes, largestKey, atLeast, partitionsBeyond, rowsBeyondShare } = sizes;
    const verdict = worseOf(
      verdictOf(fill.max, 1, TIMES_MAX),
      rowsBeyondShare > ROWS_SHARE_MAX ? "DOWN" : "UP",
    );
    const least = atLeast ? "at least " : "";
    const largest = `the largest partition has ${least}${rowsText(rows.max, limits.rowsMax)} and ${bytesText(bytes.max)}`;
    const limit = `${short(limits.rowsMax)} rows or ${bytesText(limits.bytesMax)}`;
    const why =
      fill.max <= 1
        ? `${largest}, ${percent(fill.max)} of the limit`
        : `${largest} (key ${keyText(largestKey)}), ${timesText(fill.max)} the limit of ${limit}; ` +
          `${shortQuantity(partitionsBeyond, "partition")} with ${percent(rowsBeyondShare)} of all rows are beyond it`;
    return { verdict, number: fill.max, why };
  },
};

function timesText(fill: number): string {
  return fill < 1.1 ? "a little above" : `${short(fill)} times`;
}
