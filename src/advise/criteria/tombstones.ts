/** Tombstones: a read that meets many of them is slow, and fails at Cassandra's threshold. */
import { formatDurationMs } from "../../lib/units.ts";
import { short, shortBeside } from "../number-text.ts";
import { verdictOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";

export const tombstones: Criterion = {
  name: "TOMBSTONES",
  title: "tombstones",
  isPrice: false,
  judge({ tombstones: { max } }, { limits, facts }) {
    if (!facts.hasDeletes) {
      const why = "no row is deleted or expires (--delete-share, --ttl, --deleted say otherwise)";
      return { verdict: "UP", number: 0, why };
    }
    const grace = formatDurationMs(limits.gcGraceMicros / 1_000);
    const verdict = verdictOf(max, limits.tombstonesWarn, limits.tombstonesFail);
    const limit = max > limits.tombstonesFail ? limits.tombstonesFail : limits.tombstonesWarn;
    const why =
      `up to ${shortBeside(max, limit)} tombstones in one partition within ${grace}; Cassandra warns at ` +
      `${short(limits.tombstonesWarn)} and fails at ${short(limits.tombstonesFail)}`;
    return { verdict, number: max, why };
  },
};
