/** The overview: whether the installation is healthy, what to do next, and the figures behind it. */
import type { ServerList, ServerStatus } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { meanOf } from "../../api/samples.ts";
import { useHistory } from "../../api/use-history.ts";
import type { History, HistoryWindow } from "../../api/use-history.ts";
import { useQuery } from "../../api/use-query.ts";
import { useParam } from "../../frame/router.ts";
import { serverStatus } from "../../frame/server-status.ts";
import { Choice, Select } from "../../kit/choice.tsx";
import { CopyAs } from "../../kit/copy-as.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Freshness } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { When } from "../../kit/when.tsx";
import { HistoryCharts, RefusalCodes, refusalsOf } from "./history-charts.tsx";
import { healthOf } from "./health.ts";
import type { Health, Recent } from "./health.ts";
import { NowFigures } from "./now-figures.tsx";
import { Servers } from "./servers.tsx";
import { SplitStates } from "./split-states.tsx";

const SERIES = [
  "reads",
  "reads.",
  "writes",
  "read_latency.p50",
  "read_latency.p99",
  "write_latency.p50",
  "write_latency.p99",
  "timeouts",
  "partial_returns",
  "refusals",
  "refusals.",
];

const FIRST_STEPS = `braid ns create plays
printf '{"timeSeriesId":"ada","eventTime":"%s","eventId":"1","items":{"song":"Blue"}}' \\
  $(date -u +%FT%TZ) | braid write plays - --text
braid read plays ada`;

export function Page() {
  const query = serverStatus.value;
  const servers = useQuery("servers", (signal) => client.listServers({ signal }), {
    everyMs: 5_000,
  });
  const [window, setWindow] = useParam("window", "10m");
  const [namespace, setNamespace] = useParam("namespace");
  const span: HistoryWindow = window === "24h" ? "24h" : "10m";
  const history = useHistory(span, SERIES, namespace);
  const status = query?.data;
  if (query === undefined || status === undefined) {
    return query?.error === undefined ? (
      <Loading what="the overview" />
    ) : (
      <Problem error={query.error} what="The status could not be read" retry={query.refresh} />
    );
  }
  const recent = recentOf(history.data, namespace);
  const health = healthOf(status, servers.data, recent);
  return (
    <PageLayout
      title="Overview"
      tone={health.tone}
      sentence={<HealthSentence health={health} />}
      actions={
        <>
          <NamespaceChoice history={history.data} chosen={namespace} onChange={setNamespace} />
          <Choice
            label="Time"
            value={span}
            options={[
              ["10m", "10 min"],
              ["24h", "24 h"],
            ]}
            onChange={setWindow}
          />
          <CopyAs
            method="ControlService/GetMetricsHistory"
            request={{ resolution: span === "10m" ? "SECOND" : "MINUTE", namespace }}
            cli="status"
            typescript={`client.getMetricsHistory({ resolution: ${span === "10m" ? '"SECOND"' : '"MINUTE"'}, namespace: ${JSON.stringify(namespace)} })`}
          />
        </>
      }
    >
      {status.namespaces === 0 && (
        <Empty title="Nothing is stored yet" command={FIRST_STEPS}>
          A namespace has its own events, retention and partitioning. Create one, write an event,
          and read it back:
        </Empty>
      )}
      <Traffic status={status} history={history} servers={servers.data} />
      <div class="columns is-two">
        <Panel
          title="Splits by state"
          note={
            <Freshness at={status.splitsTime}>of all namespaces, counted once a minute</Freshness>
          }
        >
          <SplitStates status={status} />
        </Panel>
        <Panel title="Refusals by code" note="of all namespaces, in the time shown">
          {history.data !== undefined && <RefusalCodes history={history.data} />}
        </Panel>
      </div>
      <Servers query={servers} />
    </PageLayout>
  );
}

function HealthSentence({ health: { sentence, next } }: { health: Health }) {
  return (
    <>
      {sentence}
      {next !== undefined && (
        <>
          {" "}
          {next.href === undefined ? next.text : <a href={next.href}>{next.text}</a>}
          {next.command === undefined ? "." : ": "}
          {next.command !== undefined && <code>{next.command}</code>}
        </>
      )}
    </>
  );
}

function NamespaceChoice({
  history,
  chosen,
  onChange,
}: {
  history: History | undefined;
  chosen: string;
  onChange: (namespace: string) => void;
}) {
  const names = new Set(history?.namespaces);
  if (chosen !== "") names.add(chosen);
  if (names.size === 0) return null;
  return (
    <Select
      label="Figures of"
      value={chosen}
      options={[
        ["", "all namespaces"],
        ...[...names].toSorted().map((name) => [name, name] as const),
      ]}
      onChange={onChange}
    />
  );
}

function Traffic({
  status,
  history,
  servers,
}: {
  status: ServerStatus;
  history: ReturnType<typeof useHistory>;
  servers: ServerList | undefined;
}) {
  const { data, error } = history;
  const others = (servers?.servers.filter(({ role }) => role !== "WORKER").length ?? 1) - 1;
  return (
    <Panel
      title="Traffic"
      note={
        data !== undefined && (
          <>
            of <code>{data.process}</code> since <When time={data.processStartTime} />
            {others > 0 && <>, which knows only what it did itself; {others} more serve</>}
            {error !== undefined && <strong>; the last refresh failed</strong>}
          </>
        )
      }
    >
      {data === undefined ? (
        error === undefined ? (
          <Loading what="the figures" />
        ) : (
          <Problem error={error} what="The figures could not be read" retry={history.refresh} />
        )
      ) : (
        <>
          <NowFigures status={status} history={data} />
          <HistoryCharts history={data} />
        </>
      )}
    </Panel>
  );
}

/** The last minute of the whole server; a chosen namespace says nothing of its health. */
function recentOf(history: History | undefined, namespace: string): Recent {
  if (history === undefined || namespace !== "") return NOTHING;
  const samples = Math.max(1, Math.round(60_000 / history.stepMs));
  const rate = (name: string): number | undefined => meanOf(history.values(name), samples);
  return {
    reads: rate("reads"),
    writes: rate("writes"),
    timeouts: rate("timeouts"),
    refusals: rate("refusals"),
    refusalCode: refusalsOf(history)[0]?.label,
  };
}

const NOTHING: Recent = {
  reads: undefined,
  writes: undefined,
  timeouts: undefined,
  refusals: undefined,
  refusalCode: undefined,
};
