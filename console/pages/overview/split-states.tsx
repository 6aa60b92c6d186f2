/** How many splits are in each state. */
import type { ServerStatus } from "../../../client/connect.ts";
import { hrefOf } from "../../frame/router.ts";
import { Bars } from "../../kit/bars.tsx";
import { Empty } from "../../kit/empty.tsx";
import { nounText } from "../../kit/format.ts";
import type { Tone } from "../../kit/state-badge.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  COMPLETED: "ok",
  FAILED: "bad",
  PARKED: "warn",
  REFUSED: "idle",
  INVALIDATED: "idle",
  DETECTED: "idle",
};

export function SplitStates({ status }: { status: ServerStatus }) {
  const bars = status.splits
    .map(({ state, count }) => ({
      label: state,
      value: Number(count),
      tone: TONES[state] ?? ("busy" as const),
      href: hrefOf("/splits", { state }),
    }))
    .filter(({ value }) => value > 0);
  if (bars.length === 0) {
    return (
      <Empty title="No splits yet" command="braid partitions plays">
        When a read finds a partition wider than its limit, Braid splits it. This lists the largest
        partitions of a namespace:
      </Empty>
    );
  }
  return (
    <Bars caption="Splits by state" bars={bars} format={(count) => nounText(count, "split")} />
  );
}
