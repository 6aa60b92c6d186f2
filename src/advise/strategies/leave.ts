/** The table as it is: what every split is compared with. */
import type { ColumnRoles } from "../roles.ts";
import type { Strategy } from "./strategy.ts";

export function leave({ partitionKey }: ColumnRoles): Strategy {
  return {
    option: "LEAVE",
    name: "as it is",
    place: ({ rows }) => new Uint8Array(rows.length),
    ask: () => ({ partitions: 1, merged: 1 }),
    unknownValues: () => 0,
    order: "BY_TIME",
    text: {
      added: [],
      writes: "nothing changes",
      reads: `the partition of ${partitionKey.join(", ")}`,
    },
  };
}
