/** The splits of one namespace, or of all: a board that moves, and a table. */
import { useSignal } from "@preact/signals";
import type { Split } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { useWatch } from "../../api/use-watch.ts";
import type { Watch } from "../../api/use-watch.ts";
import { setParams, useParam } from "../../frame/router.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { Choice, Select } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { bytesText, countText } from "../../kit/format.ts";
import { Id } from "../../kit/id.tsx";
import { Loading } from "../../kit/loading.tsx";
import { anotherOf, chooseNamespace, listedNamespaces } from "../../kit/namespace-choice.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Progress } from "../../kit/progress.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { shown } from "../../kit/shown.ts";
import { StateBadge } from "../../kit/state-badge.tsx";
import { Ago } from "../../kit/when.tsx";
import { changed, COLUMNS, inColumn, keyOf, sentenceOf, STATE_TONES } from "./board.ts";
import type { BoardColumn } from "./board.ts";
import { Sizes } from "./sizes.tsx";
import "./splits.css";

/** Cards of one column; the table has all. */
const CARDS_MAX = 20;

export function Page() {
  const [namespace] = useParam("namespace");
  const [state] = useParam("state");
  const [view, setView] = useParam("view", "board");
  const known = useSignal<ReadonlyMap<string, Split> | undefined>(undefined);
  const truncated = useSignal(false);
  const watch = useWatch(
    { topics: ["SPLITS"], ...(namespace !== "" && { namespace }) },
    (change) => {
      if (change.topic !== "SPLITS") return;
      known.value = changed(known.peek() ?? new Map(), change);
      truncated.value = change.truncated;
    },
  );
  const all = known.value === undefined ? undefined : [...known.value.values()];
  const splits = all?.filter(
    (split) =>
      (namespace === "" || split.namespace === namespace) &&
      (state === "" || split.state === state),
  );
  const sentence = splits === undefined ? undefined : sentenceOf(splits);
  return (
    <PageLayout
      title="Splits"
      tone={sentence?.tone ?? "idle"}
      sentence={sentence?.text}
      actions={
        <>
          <NamespaceFilter namespace={namespace} />
          <StateFilter state={state} />
          <Choice
            label="View"
            value={view === "table" ? "table" : "board"}
            options={[
              ["board", "Board"],
              ["table", "Table"],
            ]}
            onChange={setView}
          />
          <CopyAs
            method="ControlService/ListSplits"
            request={{ namespace, ...(state !== "" && { state }) }}
            cli={`splits ls${namespace === "" ? "" : ` ${quoted(namespace)}`}${state === "" ? "" : ` --state ${state}`}`}
            typescript={`client.splits.newest(${JSON.stringify(namespace)})`}
          />
        </>
      }
    >
      {namespace !== "" && <Pause namespace={namespace} />}
      <WatchProblem watch={watch} />
      {splits === undefined ? (
        watch.state !== "failed" && <Loading what="the splits" />
      ) : splits.length === 0 ? (
        <Empty title="No split here." command="npm run demo">
          When a read sees a partition above its limit (10 MiB by default), it reports it; a worker
          plans, copies and validates it. The demo shows one from detection to serving.
        </Empty>
      ) : view === "table" ? (
        <Panel title="All splits" note={truncated.value ? TRUNCATED : "live"}>
          <DataTable
            caption="Splits"
            columns={TABLE}
            rows={splits}
            rowKey={keyOf}
            noun="split"
            order="-moved"
          />
        </Panel>
      ) : (
        <Board splits={splits} note={truncated.value ? TRUNCATED : undefined} />
      )}
      <Sizes namespace={namespace} />
    </PageLayout>
  );
}

const TRUNCATED = "those in progress and the last changed; the command lists all";

function WatchProblem({ watch: { state, error } }: { watch: Watch }) {
  if (state !== "failed" && state !== "away") return null;
  return <Problem error={error} what="Splits are not live: what is shown may be old" />;
}

function NamespaceFilter({ namespace }: { namespace: string }) {
  const { data = [] } = useQuery("namespaces", listedNamespaces);
  const names = new Set(data.map((each) => each.namespace));
  if (namespace !== "") names.add(namespace);
  return (
    <Select
      label="Namespace"
      value={namespace}
      options={[
        ["", "all"],
        ...[...names].toSorted().map((name) => [name, name] as const),
        ...anotherOf(data),
      ]}
      onChange={chooseNamespace}
    />
  );
}

function StateFilter({ state }: { state: string }) {
  return (
    <Select
      label="State"
      value={state}
      options={[["", "all"], ...Object.keys(STATE_TONES).map((name) => [name, name] as const)]}
      onChange={(value) => setParams({ state: value })}
    />
  );
}

function Board({ splits, note }: { splits: readonly Split[]; note: string | undefined }) {
  return (
    <Panel title="Board" note={note ?? "live, the last moved first"}>
      <div class="board">
        {COLUMNS.map((column) => (
          <StateColumn key={column.title} column={column} splits={inColumn(splits, column)} />
        ))}
      </div>
    </Panel>
  );
}

function StateColumn({ column, splits }: { column: BoardColumn; splits: readonly Split[] }) {
  const { title, tone, meaning } = column;
  return (
    <section class="board-column" aria-label={title}>
      <h3>
        {title} <span class={`board-count tone-${tone}`}>{countText(splits.length)}</span>
      </h3>
      {splits.length === 0 && <p class="board-none">{meaning}</p>}
      <ul>
        {splits.slice(0, CARDS_MAX).map((split) => (
          <Card key={keyOf(split)} split={split} />
        ))}
      </ul>
      {splits.length > CARDS_MAX && (
        <p class="board-none">{countText(splits.length - CARDS_MAX)} more are in the table.</p>
      )}
    </section>
  );
}

function Card({ split }: { split: Split }) {
  const { namespace, preSplitData, state, reason, owner, progress, moveTime } = split;
  return (
    <li class="card">
      <a href={hrefOfSplit(split)}>
        <Id>{preSplitData.timeSeriesId}</Id>
      </a>
      <div class="card-where">
        {namespace}, {preSplitData.timeSlice} {preSplitData.timeBucket}/{preSplitData.eventBucket}
      </div>
      <div>
        <Bytes value={preSplitData.bytes} />, <Count value={preSplitData.events} noun="event" />
      </div>
      {progress !== undefined && (
        <Progress
          value={Number(progress.bytesDone)}
          max={Number(progress.bytesTotal)}
          label={`${progress.step.toLowerCase()} of ${shown(preSplitData.timeSeriesId)}`}
        />
      )}
      <div class="card-foot">
        <StateBadge tone={STATE_TONES[state]}>{state}</StateBadge> <Ago at={moveTime} />
      </div>
      {(state === "PARKED" ||
        state === "REFUSED" ||
        state === "FAILED" ||
        state === "INVALIDATED") && <div class="card-where">{shown(reason)}</div>}
      {owner !== "" && <div class="card-where">by {owner}</div>}
    </li>
  );
}

export function hrefOfSplit({ namespace, splitId }: Split): string {
  return `/splits/${encodeURIComponent(namespace)}/${encodeURIComponent(splitId)}`;
}

const TABLE: readonly Column<Split>[] = [
  {
    key: "id",
    head: "Id",
    cell: (split) => (
      <a href={hrefOfSplit(split)}>
        <Id>{split.preSplitData.timeSeriesId}</Id>
      </a>
    ),
    sort: ({ preSplitData }) => preSplitData.timeSeriesId,
  },
  {
    key: "namespace",
    head: "Namespace",
    cell: ({ namespace }) => namespace,
    sort: ({ namespace }) => namespace,
  },
  {
    key: "partition",
    head: "Partition",
    cell: ({ preSplitData: { timeSlice, timeBucket, eventBucket } }) =>
      `${timeSlice} ${timeBucket}/${eventBucket}`,
    sort: ({ preSplitData: { timeSlice, timeBucket } }) => `${timeSlice} ${timeBucket}`,
  },
  {
    key: "state",
    head: "State",
    cell: ({ state }) => <StateBadge tone={STATE_TONES[state]}>{state}</StateBadge>,
    sort: ({ state }) => state,
  },
  {
    key: "bytes",
    head: "Size before",
    cell: ({ preSplitData }) => <Bytes value={preSplitData.bytes} />,
    sort: ({ preSplitData }) => Number(preSplitData.bytes),
    text: ({ preSplitData }) => bytesText(Number(preSplitData.bytes)),
    align: "end",
  },
  {
    key: "moved",
    head: "Last move",
    cell: ({ moveTime }) => <Ago at={moveTime} />,
    sort: ({ moveTime }) => Date.parse(moveTime),
    text: ({ moveTime }) => moveTime,
  },
  {
    key: "reason",
    head: "Why",
    cell: ({ reason }) => reason,
    sort: ({ reason }) => reason,
    align: "wrap",
  },
];

function Pause({ namespace }: { namespace: string }) {
  const query = useQuery(
    `paused ${namespace}`,
    (signal) => client.getNamespace(namespace, { signal }),
    { everyMs: 5_000 },
  );
  const { data } = query;
  if (data === undefined) return null;
  return data.splitsPaused ? (
    <div class="row">
      <p>
        <StateBadge tone="warn">paused</StateBadge> by {data.splitsPause?.by}:{" "}
        {data.splitsPause?.reason}. Completed splits stay in use.
      </p>
      <AskReason
        label="Resume"
        title={`Resume the splits of ${namespace}`}
        explanation="Workers continue where they stopped."
        run={async (reason) => void (await client.splits.resume(namespace, { reason }))}
        done={query.refresh}
      />
    </div>
  ) : (
    <div class="row">
      <p>Workers are at work on the splits of {namespace}.</p>
      <AskReason
        label="Pause"
        title={`Pause the splits of ${namespace}`}
        explanation="Workers stop at their next checkpoint. Completed splits stay in use; nothing is lost."
        run={async (reason) => void (await client.splits.pause(namespace, { reason }))}
        done={query.refresh}
      />
    </div>
  );
}
