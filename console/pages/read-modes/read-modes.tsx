/** How far reads trust splits: the steps, the evidence that is missing, and the kill switch. */
import type { ComponentChildren } from "preact";
import type { ReadMode, ReadModeName } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { refreshNow } from "../../api/live.ts";
import { useQuery } from "../../api/use-query.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { bytesText, figure } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { LineChart } from "../../kit/line-chart.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { When } from "../../kit/when.tsx";
import { linesOf, sentenceOf } from "./evidence.ts";
import "./read-modes.css";

export function Page() {
  return (
    <WithNamespace title="Read modes">
      {(namespace, choice) => <Modes namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

function Modes({ namespace, choice }: { namespace: string; choice: ComponentChildren }) {
  const query = useQuery(
    `read mode ${namespace}`,
    (signal) => client.splits.getReadMode(namespace, { signal }),
    { everyMs: 3_000 },
  );
  const mode = query.data;
  const sentence = mode === undefined ? undefined : sentenceOf(mode);
  return (
    <PageLayout
      title="Read modes"
      tone={sentence?.tone ?? "idle"}
      sentence={sentence?.text}
      actions={
        <>
          {choice}
          <CopyAs
            method="ControlService/GetReadMode"
            request={{ namespace }}
            cli={`modes get ${quoted(namespace)}`}
            typescript={`client.splits.getReadMode(${JSON.stringify(namespace)})`}
          />
        </>
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="The read mode could not be read" retry={query.refresh} />
      )}
      {mode === undefined ? (
        query.error === undefined && <Loading what="the read mode" />
      ) : (
        <>
          <Panel title="Steps" note={<AnswerAge query={query} />}>
            <Steps namespace={namespace} mode={mode} refresh={query.refresh} />
          </Panel>
          <Panel
            title="Evidence"
            note={
              <>
                collected in {mode.mode} since <When time={mode.since} />
              </>
            }
          >
            <DataTable
              caption="Comparisons of splits with their originals"
              columns={EVIDENCE}
              rows={mode.evidence}
              rowKey={({ layout, strategy }) => `${layout} ${strategy}`}
              noun="kind of split"
              plural="kinds of split"
              filter={false}
              empty={
                <Empty title="Nothing was compared yet." command={`braid verify ${namespace}`}>
                  Reads of a split partition compare it with its original. Verify compares all at
                  once.
                </Empty>
              }
            />
          </Panel>
          <OverTime namespace={namespace} />
          <KillSwitchPanel mode={mode} refresh={query.refresh} />
        </>
      )}
    </PageLayout>
  );
}

const STEPS: readonly (readonly [mode: ReadModeName, meaning: string])[] = [
  ["OFF", "Reads use originals. Nothing is compared."],
  [
    "SHADOW",
    "Reads use originals. First reads of a split are compared byte for byte, then a sample.",
  ],
  ["COMPARE", "Reads use originals, and every read is compared byte for byte."],
  ["SERVE", "Reads use splits, and a sample is compared."],
];

function Steps({
  namespace,
  mode,
  refresh,
}: {
  namespace: string;
  mode: ReadMode;
  refresh: () => void;
}) {
  return (
    <ol class="mode-steps">
      {STEPS.map(([name, meaning]) => {
        const now = name === mode.mode;
        const next = name === mode.nextMode;
        return (
          <li
            key={name}
            class={now ? "mode-step is-now" : "mode-step"}
            aria-current={now ? "step" : undefined}
          >
            <h3>
              {name} {now && <small>now</small>}
            </h3>
            <p>{meaning}</p>
            {now && (
              <p class="card-where">
                since <When time={mode.since} />, by {mode.by}
                {mode.reason !== "" && `: ${mode.reason}`}
              </p>
            )}
            {next && mode.blockedBy !== "" && (
              <p>
                <strong>Still missing:</strong> {mode.blockedBy}
              </p>
            )}
            {!now && (
              <AskReason
                label={`Set ${name}…`}
                title={`Set ${namespace} to ${name}`}
                confirm={`Set ${name}`}
                danger={next && mode.blockedBy !== ""}
                explanation={
                  next && mode.blockedBy !== ""
                    ? `The evidence for ${name} is not there yet: ${mode.blockedBy}. Setting it by force is recorded with your reason.`
                    : `${meaning} Every server follows within view_max_age.`
                }
                run={async (reason) => {
                  const force = mode.blockedBy !== "";
                  await client.splits.setReadMode(namespace, name, { reason, force });
                }}
                done={refresh}
              />
            )}
          </li>
        );
      })}
    </ol>
  );
}

const EVIDENCE: readonly Column<ReadMode["evidence"][number]>[] = [
  {
    key: "kind",
    head: "Kind of split",
    cell: ({ layout, strategy }) => `${layout}, ${strategy}`,
    sort: ({ layout, strategy }) => `${layout}, ${strategy}`,
  },
  {
    key: "reads",
    head: "Reads compared",
    cell: ({ readsCompared }) => <Count value={readsCompared} noun="read" />,
    sort: ({ readsCompared }) => Number(readsCompared),
    align: "end",
  },
  {
    key: "splits",
    head: "Splits compared",
    cell: ({ splitsCompared }) => <Count value={splitsCompared} noun="split" />,
    sort: ({ splitsCompared }) => Number(splitsCompared),
    align: "end",
  },
  {
    key: "match",
    head: "Bytes that match",
    cell: ({ bytesMatched }) => <Bytes value={bytesMatched} />,
    sort: ({ bytesMatched }) => Number(bytesMatched),
    align: "end",
  },
  {
    key: "differ",
    head: "Bytes that differ",
    cell: ({ bytesDiffered }) => <Bytes value={bytesDiffered} />,
    sort: ({ bytesDiffered }) => Number(bytesDiffered),
    align: "end",
  },
];

/** Bytes that match and bytes that differ, each on its own scale: one byte that differs shows. */
function OverTime({ namespace }: { namespace: string }) {
  const query = useQuery(
    `compared ${namespace}`,
    async (signal) => {
      const wanted = { resolution: "MINUTE", series: ["compare_bytes."], signal } as const;
      const own = await client.getMetricsHistory({ ...wanted, namespace });
      // Only the busiest namespaces have series of their own.
      return own.series.length > 0
        ? { history: own, of: namespace }
        : { history: await client.getMetricsHistory(wanted), of: "all namespaces" };
    },
    { everyMs: 10_000 },
  );
  const { data } = query;
  if (data === undefined || data.history.samples === 0) return null;
  const { times, match, differ } = linesOf(data.history);
  return (
    <Panel
      title="Compared over time"
      note={`${data.of}, by ${data.history.process} alone, the last 24 hours at a minute`}
    >
      <LineChart
        title="Bytes that match"
        name="match"
        times={times}
        lines={[{ label: "match", values: match, colour: "--ok" }]}
        format={(value) => `${bytesText(value)}/s`}
        unit="bytes"
      />
      <LineChart
        title="Bytes that differ"
        name="differ"
        times={times}
        lines={[{ label: "differ", values: differ, colour: "--bad" }]}
        format={(value) => (value < 10 ? `${figure(value)} B/s` : `${bytesText(value)}/s`)}
        unit="bytes"
      />
    </Panel>
  );
}

function KillSwitchPanel({
  mode: { killSwitch },
  refresh,
}: {
  mode: ReadMode;
  refresh: () => void;
}) {
  const done = (): void => {
    refresh();
    refreshNow();
  };
  return (
    <Panel title="Kill switch" note="for all namespaces">
      <div class="row">
        <p>
          {killSwitch.on
            ? `It is on, by ${killSwitch.by}: ${killSwitch.reason}. Every read uses originals.`
            : "It is off. When it is on, every read of every namespace uses originals, within view_max_age."}
        </p>
        <AskReason
          label={killSwitch.on ? "Switch off…" : "Switch on…"}
          title={killSwitch.on ? "Switch the kill switch off" : "Switch the kill switch on"}
          confirm={killSwitch.on ? "Switch off" : "Switch on"}
          danger={!killSwitch.on}
          explanation={
            killSwitch.on
              ? "Reads use splits again, as far as each read mode allows."
              : "Reads of every namespace return to originals. Nothing is lost, and it can be switched off again."
          }
          run={async (reason) =>
            void (await client.splits.setKillSwitch(!killSwitch.on, { reason }))
          }
          done={done}
        />
      </div>
    </Panel>
  );
}
