/**
 * Every part of the kit with made-up data, for those who write pages and for the tests of the kit.
 * It is not in the navigation: open /kit.
 */
import { useSignal } from "@preact/signals";
import { AskReason } from "../../kit/ask-reason.tsx";
import { Bars } from "../../kit/bars.tsx";
import { Choice, Select } from "../../kit/choice.tsx";
import { CopyAs } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { bytesText, countText, durationText, nounText } from "../../kit/format.ts";
import { Freshness } from "../../kit/freshness.tsx";
import { HeatMap } from "../../kit/heat-map.tsx";
import type { CellRange } from "../../kit/cell-range.ts";
import { Histogram } from "../../kit/histogram.tsx";
import { LineChart } from "../../kit/line-chart.tsx";
import { Facts, Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Progress } from "../../kit/progress.tsx";
import { Bytes, Count, Duration, Percent, Rate } from "../../kit/quantity.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import { When } from "../../kit/when.tsx";
import { BUCKETS, CELLS, PARTITIONS, TIMES, WAVES } from "./made-up.ts";
import type { MadeUpPartition } from "./made-up.ts";

const MIB = 1024 * 1024;

const COLUMNS: readonly Column<MadeUpPartition>[] = [
  { key: "id", head: "Id", cell: ({ id }) => <code>{id}</code>, sort: ({ id }) => id },
  {
    key: "bytes",
    head: "Size",
    cell: ({ bytes }) => <Bytes value={bytes} />,
    sort: ({ bytes }) => bytes,
    align: "end",
  },
  {
    key: "state",
    head: "State",
    cell: ({ tone, state }) => <StateBadge tone={tone}>{state}</StateBadge>,
    sort: ({ state }) => state,
  },
];

export function Page() {
  const choice = useSignal<"bytes" | "events">("bytes");
  const chosen = useSignal("plays");
  const reason = useSignal("");
  return (
    <PageLayout
      title="Kit"
      tone="ok"
      sentence="Every part that pages are made of, with made-up data."
      actions={
        <CopyAs
          method="ControlService/GetNamespace"
          request={{ namespace: "it's" }}
          cli="ns show plays"
          typescript='client.getNamespace("plays")'
        />
      }
    >
      <Panel title="Figures" note={<Freshness at="2026-01-01T00:00:00Z">sampled 1 %</Freshness>}>
        <Figures>
          <Figure label="Reads">
            <Rate value={1234.5} noun="reads" />
          </Figure>
          <Figure label="Wide" tone="warn" note="of 48,211 partitions">
            <Percent value={0.0312} />
          </Figure>
          <Figure label="Timeouts" tone="bad">
            <Count value={12} noun="timeout" />
          </Figure>
          <Figure label="p99">
            <Duration value={41.3} />
          </Figure>
          <Figure label="Unknown">
            <Bytes value={undefined} />
          </Figure>
        </Figures>
      </Panel>
      <Panel
        title="States and controls"
        actions={
          <AskReason
            label="Roll back"
            title="Roll back 6313825"
            explanation="Reads return to the original. Undo it with a retry."
            danger
            run={(given) => {
              reason.value = given;
              return given === "fail" ? Promise.reject(new Error("it failed")) : Promise.resolve();
            }}
          />
        }
      >
        <p>
          <StateBadge tone="ok">COMPLETED</StateBadge>{" "}
          <StateBadge tone="busy">SPLITTING</StateBadge> <StateBadge tone="warn">PARKED</StateBadge>{" "}
          <StateBadge tone="bad">FAILED</StateBadge> <StateBadge tone="idle">DETECTED</StateBadge>{" "}
          <Progress value={62} max={100} label="Bytes copied" />
        </p>
        <p>
          <Choice
            label="Measure"
            value={choice.value}
            options={[
              ["bytes", "Bytes"],
              ["events", "Events"],
            ]}
            onChange={(value) => (choice.value = value)}
          />{" "}
          <Select
            label="Namespace"
            value={chosen.value}
            options={[
              ["plays", "plays"],
              ["orders", "orders"],
            ]}
            onChange={(value) => (chosen.value = value)}
          />
        </p>
        <Facts
          facts={[
            ["Started", <When time="2026-11-18T16:05:07Z" />],
            ["Reason given", reason.value === "" ? "none" : reason.value],
            ["Measure", choice.value],
            ["Namespace", chosen.value],
          ]}
        />
      </Panel>
      <Charts />
      <Panel title="A long table">
        <DataTable
          caption="Made-up partitions"
          columns={COLUMNS}
          rows={PARTITIONS}
          rowKey={({ id }) => id}
          order="-bytes"
          noun="partition"
        />
      </Panel>
      <Panel title="Messages">
        <Problem
          error={new Error("the server is overloaded")}
          what="The splits could not be read"
          next="Wait a moment and try again."
        />
        <Empty title="No namespaces yet" command="braid ns create plays">
          A namespace has its own events, retention and partitioning.
        </Empty>
      </Panel>
    </PageLayout>
  );
}

function Charts() {
  const range = useSignal<CellRange | undefined>(undefined);
  return (
    <Panel title="Charts">
      <div class="columns">
        <LineChart
          title="Latency"
          name="latency"
          times={TIMES}
          lines={WAVES}
          format={durationText}
        />
        <Histogram
          title="Partition sizes"
          name="sizes"
          buckets={BUCKETS}
          overlay={{
            label: "After the tuning",
            buckets: BUCKETS.map((bucket) => ({
              ...bucket,
              count: Math.round(bucket.count * 0.6),
            })),
          }}
          band={{ from: 2 * MIB, to: 10 * MIB, label: "target" }}
          marks={[
            { at: 100 * MIB, label: "limit 100 MiB", tone: "bad" },
            { at: 6 * MIB, label: "p50" },
          ]}
          format={bytesText}
          noun="partition"
          summary="Half of the partitions are in the target band; 3 are above the limit."
        />
      </div>
      <HeatMap
        title="Widths"
        name="widths"
        columns={CELLS.columns}
        rows={CELLS.rows}
        values={CELLS.values}
        columnLabel={(column) => `tb ${column}`}
        rowLabel={(row) => bytesText(1024 * 2 ** row)}
        format={(value) => nounText(value, "partition")}
        summary="Three partitions are above the limit."
        band={{ from: 9, to: 11, label: "target" }}
        lines={[{ row: 15, label: "limit" }]}
        marks={[{ column: 20, row: 17, label: "split" }]}
        selected={range.value}
        onSelect={(chosen) => (range.value = chosen)}
      />
      <Bars
        caption="Refusals by code"
        bars={[
          { label: "OVERLOADED", value: 120, tone: "warn" },
          { label: "ID_BLOCKED", value: 31 },
        ]}
        format={countText}
      />
      <p role="status">
        {range.value === undefined
          ? "No cells are chosen."
          : `Chosen: columns ${range.value.from.column} to ${range.value.to.column}, rows ${range.value.from.row} to ${range.value.to.row}.`}
      </p>
    </Panel>
  );
}
