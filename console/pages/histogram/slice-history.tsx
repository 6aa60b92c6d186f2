/** Sizes over slices: what the last walk over each found. */
import { useMemo } from "preact/hooks";
import type { SliceHistogram } from "../../../client/connect.ts";
import { hrefOf } from "../../frame/router.ts";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { bytesText } from "../../kit/format.ts";
import { LineChart } from "../../kit/line-chart.tsx";
import { Panel } from "../../kit/page.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { When } from "../../kit/when.tsx";
import {
  changedSlices,
  PARTITIONING_HEAD,
  partitioningText,
  shortPartitioning,
} from "../namespaces/partitioning.ts";

export function SliceHistory({
  namespace,
  history,
}: {
  namespace: string;
  history: readonly SliceHistogram[];
}) {
  const changed = useMemo(
    () => changedSlices(history.map((each) => ({ ...each, name: each.timeSlice }))),
    [history],
  );
  const columns = useMemo(() => columnsOf(namespace, changed), [namespace, changed]);
  const held = useMemo(() => history.filter(({ bytes }) => bytes.count !== "0"), [history]);
  const times = useMemo(() => held.map(({ start }) => Date.parse(start)), [held]);
  const lines = useMemo(() => linesOf(held), [held]);
  return (
    <Panel title="Over slices" note="as each slice was measured last; ◆ is a new partitioning">
      {held.length > 1 && (
        <LineChart
          title="Partition sizes by the start of the slice"
          name="slices"
          times={times}
          lines={lines}
          format={bytesText}
          scale="log"
          unit="bytes"
        />
      )}
      <DataTable
        caption={`Sizes of the slices of ${namespace}`}
        columns={columns}
        rows={history}
        rowKey={({ timeSlice }) => timeSlice}
        noun="slice"
        order="-slice"
        empty={
          <Empty title="No slice is measured yet.">
            A slice is walked while it takes events, and again when it is sealed.
          </Empty>
        }
      />
    </Panel>
  );
}

function linesOf(history: readonly SliceHistogram[]) {
  return (["p50", "p99", "max"] as const).map((name) => ({
    label: name === "max" ? "largest" : name,
    values: history.map(({ bytes }) => Number(bytes[name]) || null),
  }));
}

function columnsOf(
  namespace: string,
  changed: ReadonlySet<string>,
): readonly Column<SliceHistogram>[] {
  const size = (key: "p50" | "p95" | "p99" | "max", head: string): Column<SliceHistogram> => ({
    key,
    head,
    cell: ({ bytes }) => <Bytes value={bytes[key]} />,
    sort: ({ bytes }) => Number(bytes[key]),
    align: "end",
  });
  return [
    {
      key: "slice",
      head: "Slice",
      cell: ({ timeSlice }) => (
        <a href={hrefOf("/histogram", { namespace, slice: timeSlice })}>{timeSlice}</a>
      ),
      sort: ({ start }) => start,
      text: ({ timeSlice }) => timeSlice,
    },
    {
      key: "partitions",
      head: "Partitions",
      cell: ({ bytes }) => <Count value={bytes.count} noun="partition" />,
      sort: ({ bytes }) => Number(bytes.count),
      align: "end",
    },
    size("p50", "p50"),
    size("p95", "p95"),
    size("p99", "p99"),
    size("max", "Largest"),
    {
      key: "measured",
      head: "Measured",
      cell: ({ asOf, sealed }) => (
        <>
          <When time={asOf} /> {sealed ? "final" : "still takes events"}
        </>
      ),
      sort: ({ asOf }) => asOf,
    },
    {
      key: "partitioning",
      head: PARTITIONING_HEAD,
      cell: ({ timeSlice, timePartition }) => (
        <>
          {changed.has(timeSlice) && <span title="It differs from the slice before">◆ </span>}
          <span title={partitioningText(timePartition)}>{shortPartitioning(timePartition)}</span>
        </>
      ),
      sort: ({ timePartition }) => timePartition.secondsPerTimeBucket,
      text: ({ timePartition }) => partitioningText(timePartition),
    },
  ];
}
