/** All namespaces. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Namespace } from "../../../client/connect.ts";
import { useQuery } from "../../api/use-query.ts";
import { CopyAs } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { durationText, msOf, nounText } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { LISTED_MAX, listedNamespaces, NoNamespace } from "../../kit/namespace-choice.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import type { Tone } from "../../kit/state-badge.tsx";
import { When } from "../../kit/when.tsx";
import { partitioningText } from "./partitioning.ts";

const REFRESH_MS = 10_000;
/** Thousands of namespaces take seconds to list. */
const REFRESH_MANY_MS = 60_000;
const SHOWN_MAX = 20_000;

export function Page() {
  const everyMs = useSignal(REFRESH_MS);
  const query = useQuery("all namespaces", (signal) => listedNamespaces(signal, SHOWN_MAX), {
    everyMs: everyMs.value,
  });
  const namespaces = query.data;
  const many = (namespaces?.length ?? 0) > LISTED_MAX;
  useEffect(() => {
    everyMs.value = many ? REFRESH_MANY_MS : REFRESH_MS;
  }, [many]);
  return (
    <PageLayout
      title="Namespaces"
      sentence={namespaces === undefined ? undefined : sentenceOf(namespaces)}
      actions={
        <>
          <a class="button button-main" href="/namespaces/new">
            Create a namespace
          </a>
          <CopyAs
            method="ControlService/ListNamespaces"
            cli="ns ls"
            typescript="Array.fromAsync(client.listNamespaces())"
          />
        </>
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="Namespaces could not be read" retry={query.refresh} />
      )}
      {namespaces === undefined ? (
        query.error === undefined && <Loading what="namespaces" />
      ) : (
        <Panel title="All namespaces" note={<AnswerAge query={query} />}>
          <DataTable
            caption="Namespaces with their partitioning, read mode and retention"
            columns={COLUMNS}
            rows={namespaces}
            rowKey={({ id }) => id}
            noun="namespace"
            order="namespace"
            more={
              namespaces.length >= SHOWN_MAX
                ? "there are more: the address of one is /namespaces/NAME, and the command lists all"
                : undefined
            }
            empty={<NoNamespace />}
          />
        </Panel>
      )}
    </PageLayout>
  );
}

/** How far reads trust splits, as a colour. */
export const MODE_TONES: Readonly<Record<string, Tone>> = {
  OFF: "idle",
  SHADOW: "busy",
  COMPARE: "busy",
  SERVE: "ok",
};

const COLUMNS: readonly Column<Namespace>[] = [
  {
    key: "namespace",
    head: "Namespace",
    cell: ({ namespace }) => (
      <a href={`/namespaces/${encodeURIComponent(namespace)}`}>{namespace}</a>
    ),
    sort: ({ namespace }) => namespace,
  },
  {
    key: "partitioning",
    head: "Partitioning",
    cell: ({ config }) => partitioningText(config.timePartition),
    sort: ({ config }) => config.timePartition.secondsPerTimeBucket,
    text: ({ config }) => partitioningText(config.timePartition),
  },
  {
    key: "mode",
    head: "Read mode",
    cell: ({ namespace, readMode }) => (
      <a href={`/read-modes?namespace=${encodeURIComponent(namespace)}`}>
        <StateBadge tone={MODE_TONES[readMode] ?? "idle"}>{readMode}</StateBadge>
      </a>
    ),
    sort: ({ readMode }) => readMode,
  },
  {
    key: "splits",
    head: "Splits",
    cell: ({ splitsPaused, splitsPause }) =>
      splitsPaused ? (
        <StateBadge tone="warn" title={splitsPause?.reason ?? ""}>
          paused
        </StateBadge>
      ) : (
        "at work"
      ),
    sort: ({ splitsPaused }) => (splitsPaused ? "paused" : "at work"),
  },
  {
    key: "tuning",
    head: "Tuning",
    cell: ({ config }) => config.tuning.mode,
    sort: ({ config }) => config.tuning.mode,
  },
  {
    key: "kept",
    head: "Kept for",
    cell: ({ config }) => durationText(msOf(config.retention.deleteAfter) ?? 0),
    sort: ({ config }) => msOf(config.retention.deleteAfter),
    align: "end",
  },
  {
    key: "created",
    head: "Created",
    cell: ({ createTime }) => <When time={createTime} seconds={false} />,
    sort: ({ createTime }) => createTime,
  },
];

function sentenceOf(namespaces: readonly Namespace[]): string {
  const paused = namespaces.filter(({ splitsPaused }) => splitsPaused).length;
  const waiting = namespaces.filter(({ readMode }) => readMode !== "SERVE").length;
  const all = nounText(namespaces.length, "namespace");
  if (namespaces.length === 0) return "Nothing is kept yet: create a namespace to begin.";
  if (paused > 0)
    return `${all}; splits are paused in ${paused}: resume them when the cause is gone.`;
  if (waiting === 0) return `${all}, all of which serve splits.`;
  return `${all}, of which ${waiting} ${waiting === 1 ? "does" : "do"} not serve splits yet: the read mode says which evidence is missing.`;
}
