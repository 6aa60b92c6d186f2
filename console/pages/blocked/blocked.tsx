/** Ids that are blocked: neither read nor written. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { BlockedId } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { nowMs } from "../../api/clock.ts";
import { useQuery } from "../../api/use-query.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { Select } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Field } from "../../kit/field.tsx";
import { nounText } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Id } from "../../kit/id.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { shown } from "../../kit/shown.ts";
import { When } from "../../kit/when.tsx";

/** Ids on one page; a namespace with more is listed by the command. */
const LISTED_MAX = 5_000;

export function Page() {
  return (
    <WithNamespace title="Blocked ids">
      {(namespace, choice) => <Blocked key={namespace} namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

function Blocked({ namespace, choice }: { namespace: string; choice: ComponentChildren }) {
  const query = useQuery(
    `blocked ${namespace}`,
    async (signal) => {
      const ids: BlockedId[] = [];
      for await (const id of client.listBlockedIds(namespace, { signal })) {
        ids.push(id);
        if (ids.length >= LISTED_MAX) break;
      }
      return ids;
    },
    { everyMs: 5_000 },
  );
  const ids = query.data;
  return (
    <PageLayout
      title="Blocked ids"
      sentence={
        ids === undefined
          ? undefined
          : ids.length === 0
            ? "No id is blocked. Block one that should not exist: a test, a bot, a loop."
            : `${nounText(ids.length, "id")} can neither be read nor written.`
      }
      actions={
        <>
          {choice}
          <CopyAs
            method="ControlService/ListBlockedIds"
            request={{ namespace }}
            cli={`block ls ${quoted(namespace)}`}
            typescript={`Array.fromAsync(client.listBlockedIds(${JSON.stringify(namespace)}))`}
          />
        </>
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="Blocked ids could not be read" retry={query.refresh} />
      )}
      <BlockOne namespace={namespace} refresh={query.refresh} />
      {ids === undefined ? (
        query.error === undefined && <Loading what="blocked ids" />
      ) : (
        <Panel title="Blocked" note={<AnswerAge query={query} />}>
          <DataTable
            caption={`Blocked ids of ${namespace}`}
            columns={columnsOf(namespace, query.refresh)}
            rows={ids}
            rowKey={({ timeSeriesId }) => timeSeriesId}
            noun="id"
            order="-since"
            empty={
              <Empty
                title="Nothing is blocked."
                command={`braid block add ${namespace} ID --reason "a runaway client"`}
              >
                Reads and writes of a blocked id are refused with ID_BLOCKED; other ids are not
                affected.
              </Empty>
            }
          />
        </Panel>
      )}
    </PageLayout>
  );
}

/** How long a block lasts. */
const LASTS: readonly (readonly [value: string, text: string, ms: number | undefined])[] = [
  ["hour", "for an hour", 3_600_000],
  ["day", "for a day", 86_400_000],
  ["week", "for a week", 604_800_000],
  ["ever", "until it is unblocked", undefined],
];

function BlockOne({ namespace, refresh }: { namespace: string; refresh: () => void }) {
  const id = useSignal("");
  const lasts = useSignal("day");
  const widest = useQuery(`widest ${namespace}`, (signal) =>
    client.listPartitions(namespace, "", { pageSize: 10, signal }),
  );
  const candidates = [
    ...new Set(widest.data?.partitions.map(({ timeSeriesId }) => timeSeriesId)),
  ].slice(0, 5);
  return (
    <Panel title="Block an id">
      <div class="form">
        <Field label="Id" value={id.value} onInput={(text) => (id.value = text)} />
        <div class="field">
          <Select
            label="How long"
            value={lasts.value}
            options={LASTS.map(([value, text]) => [value, text])}
            onChange={(value) => (lasts.value = value)}
          />
        </div>
        <div class="ask-buttons">
          <AskReason
            label="Block…"
            title={`Block ${id.value}`}
            confirm="Block"
            danger
            disabled={id.value === ""}
            explanation="Its reads and writes are refused with ID_BLOCKED, everywhere within view_max_age. Its events stay, and unblocking it gives them back."
            run={async (reason) => {
              const ms = LASTS.find(([value]) => value === lasts.value)?.[2];
              const expires = ms === undefined ? {} : { expireTime: new Date(nowMs() + ms) };
              await client.blockIds(namespace, [{ timeSeriesId: id.value, reason, ...expires }]);
              id.value = "";
            }}
            done={refresh}
          />
        </div>
      </div>
      {candidates.length > 0 && (
        <p>
          The widest ids of the newest slice:{" "}
          {candidates.map((candidate) => (
            <button
              key={candidate}
              type="button"
              class="button button-small"
              onClick={() => (id.value = candidate)}
            >
              {candidate}
            </button>
          ))}
        </p>
      )}
    </Panel>
  );
}

function columnsOf(namespace: string, refresh: () => void): readonly Column<BlockedId>[] {
  return [
    {
      key: "id",
      head: "Id",
      cell: ({ timeSeriesId }) => (
        <code>
          <Id>{timeSeriesId}</Id>
        </code>
      ),
      sort: ({ timeSeriesId }) => timeSeriesId,
    },
    { key: "reason", head: "Reason", cell: ({ reason }) => reason, sort: ({ reason }) => reason },
    {
      key: "since",
      head: "Since",
      cell: ({ blockTime }) => <When time={blockTime} />,
      sort: ({ blockTime }) => blockTime,
    },
    {
      key: "expires",
      head: "Expires",
      cell: ({ expireTime }) => (expireTime === undefined ? "never" : <When time={expireTime} />),
      sort: ({ expireTime }) => expireTime ?? "never",
    },
    {
      key: "source",
      head: "By",
      cell: ({ source }) => (source === "API" ? "an operator" : "the configuration file"),
      sort: ({ source }) => source,
    },
    {
      key: "unblock",
      head: <span class="visually-hidden">Unblock</span>,
      cell: ({ timeSeriesId, source }) =>
        source === "API" && (
          <AskReason
            label="Unblock…"
            title={`Unblock ${shown(timeSeriesId)}`}
            confirm="Unblock"
            explanation="It can be read and written again, everywhere within view_max_age."
            run={async () => void (await client.unblockIds(namespace, [timeSeriesId]))}
            done={refresh}
          />
        ),
    },
  ];
}
