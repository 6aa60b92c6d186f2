/** How long requests take, by route, and which of them fail: of the server that answers. */
import { useMemo } from "preact/hooks";
import { meanOf } from "../../api/samples.ts";
import { useHistory } from "../../api/use-history.ts";
import type { History, HistoryWindow } from "../../api/use-history.ts";
import { useParam } from "../../frame/router.ts";
import { Choice } from "../../kit/choice.tsx";
import { CopyAs } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { durationText, rateText } from "../../kit/format.ts";
import { LineChart } from "../../kit/line-chart.tsx";
import type { Line } from "../../kit/line-chart.tsx";
import { Loading } from "../../kit/loading.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Duration, Rate } from "../../kit/quantity.tsx";
import { When } from "../../kit/when.tsx";
import { RefusalCodes } from "../overview/history-charts.tsx";
import { PARTS, TIMED, timedNow, verdictOf } from "./routes-now.ts";
import type { TimedNow } from "./routes-now.ts";

const SERIES = [
  "reads.",
  "read_latency.",
  "writes",
  "write_latency.",
  "timeouts",
  "partial_returns",
  "refusals",
  "refusals.",
];

export function Page() {
  const [window, setWindow] = useParam("window", "10m");
  const span: HistoryWindow = window === "24h" ? "24h" : "10m";
  const query = useHistory(span, SERIES);
  const { data, error } = query;
  const resolution = span === "10m" ? "SECOND" : "MINUTE";
  const rows = useMemo(() => (data === undefined ? [] : timedNow(data)), [data]);
  const verdict = data === undefined ? undefined : verdictOf(rows, timeoutsOf(data));
  return (
    <PageLayout
      title="Live latency"
      {...verdict}
      actions={
        <>
          <Choice
            label="Time"
            value={span}
            options={[
              ["10m", "10 min by second"],
              ["24h", "24 h by minute"],
            ]}
            onChange={setWindow}
          />
          <CopyAs
            method="ControlService/GetMetricsHistory"
            request={{ resolution, series: SERIES }}
            cli={`metrics${span === "10m" ? " --seconds" : ""} --series ${SERIES.join(",")}`}
            typescript={`client.getMetricsHistory(${JSON.stringify({ resolution, series: SERIES })})`}
          />
        </>
      }
    >
      {error !== undefined && (
        <Problem error={error} what="The latency could not be read" retry={query.refresh} />
      )}
      {data === undefined ? (
        error === undefined && <Loading what="the latency" />
      ) : (
        <Latency history={data} rows={rows} />
      )}
    </PageLayout>
  );
}

/** Per second, in the last minute. */
function timeoutsOf({ values, stepMs }: History): number {
  return meanOf(values("timeouts"), Math.max(1, Math.round(60_000 / stepMs))) ?? 0;
}

function Latency({ history, rows }: { history: History; rows: readonly TimedNow[] }) {
  const { times, process, processStartTime } = history;
  const lines = useMemo(() => linesOf(history), [history]);
  return (
    <>
      <Panel
        title="The last minute"
        note={
          <>
            of <code>{process}</code> since <When time={processStartTime} />, which knows only what
            it did itself; p50 is the mean of the samples, the others are the largest
          </>
        }
      >
        <DataTable
          caption="Latency of the last minute by route"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ series }) => series}
          noun="route"
          filter={false}
        />
      </Panel>
      <Panel title="By route" note="all namespaces of this server; the scale is logarithmic">
        <div class="columns is-two">
          {TIMED.map(({ series, label }) => (
            <LineChart
              key={series}
              title={label}
              name={series.replaceAll(/[._]/g, "-")}
              times={times}
              lines={lines.get(series) ?? []}
              format={durationText}
              scale="log"
            />
          ))}
        </div>
      </Panel>
      <div class="columns is-two">
        <Panel title="Requests that did not end well" note="all namespaces of this server">
          <LineChart
            title="Timeouts, partial returns, refusals"
            name="trouble"
            times={times}
            lines={lines.get("trouble") ?? []}
            format={rateText}
          />
        </Panel>
        <Panel title="Refusals by code" note="in the time shown">
          <RefusalCodes history={history} />
        </Panel>
      </div>
    </>
  );
}

function linesOf({ values }: History): ReadonlyMap<string, readonly Line[]> {
  const timed = TIMED.map(({ series }) => {
    const parts = PARTS.map((part) => ({
      label: part,
      values: values(`${series}.${part}`, 1000),
    }));
    return [series, parts] as const;
  });
  const trouble = [
    { label: "timeouts", values: values("timeouts"), colour: "--bad" },
    { label: "partial returns", values: values("partial_returns"), colour: "--series-1" },
    { label: "refusals", values: values("refusals"), colour: "--warn" },
  ];
  return new Map<string, readonly Line[]>([...timed, ["trouble", trouble]]);
}

const COLUMNS: readonly Column<TimedNow>[] = [
  {
    key: "route",
    head: "Route",
    cell: ({ label }) => label,
    sort: ({ label }) => label,
  },
  {
    key: "rate",
    head: "Rate",
    cell: ({ perSecond }) => <Rate value={perSecond} />,
    sort: ({ perSecond }) => perSecond,
    align: "end",
  },
  ...PARTS.map((part): Column<TimedNow> => ({
    key: part,
    head: part,
    cell: (row) => <Duration value={row[part]} />,
    sort: (row) => row[part],
    align: "end",
  })),
  {
    key: "what",
    head: "What is timed",
    cell: ({ meaning }) => meaning,
    text: ({ meaning }) => meaning,
  },
];
