/** The servers and workers of the installation, as they announce themselves. */
import type { ServerList, ServerProcess } from "../../../client/connect.ts";
import type { Query } from "../../api/use-query.ts";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { msOf } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Duration } from "../../kit/quantity.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import { Ago, momentMs } from "../../kit/when.tsx";

const ROLES: Readonly<Record<string, string>> = {
  SERVER: "server",
  WORKER: "worker",
  SERVER_AND_WORKER: "server and worker",
};

const COLUMNS: readonly Column<ServerProcess>[] = [
  {
    key: "name",
    head: "Process",
    cell: ({ name }) => <code>{name}</code>,
    sort: ({ name }) => name,
  },
  { key: "state", head: "State", cell: (server) => <State server={server} />, sort: stateOf },
  { key: "role", head: "Role", cell: ({ role }) => ROLES[role] ?? role, sort: ({ role }) => role },
  { key: "host", head: "Machine", cell: ({ host }) => host, sort: ({ host }) => host },
  {
    key: "version",
    head: "Version",
    cell: ({ version, build }) => `${version} (${build})`,
    sort: ({ version, build }) => `${version} ${build}`,
  },
  {
    key: "view",
    head: "View age",
    cell: ({ oldestViewAge }) => <Duration value={oldestViewAge} />,
    sort: ({ oldestViewAge }) => msOf(oldestViewAge),
    align: "end",
  },
  {
    key: "filter",
    head: "Filter age",
    cell: ({ oldestFilterAge }) => <Duration value={oldestFilterAge} />,
    sort: ({ oldestFilterAge }) => msOf(oldestFilterAge),
    align: "end",
  },
  {
    key: "seen",
    head: "Last seen",
    cell: ({ lastSeenTime }) => <Ago at={lastSeenTime} />,
    sort: ({ lastSeenTime }) => momentMs(lastSeenTime),
  },
  {
    key: "started",
    head: "Started",
    cell: ({ startTime }) => <Ago at={startTime} />,
    sort: ({ startTime }) => momentMs(startTime),
  },
];

export function Servers({ query }: { query: Query<ServerList> }) {
  const { data, error } = query;
  return (
    <Panel
      title="Servers and workers"
      note={data !== undefined && <Note query={query} list={data} />}
    >
      {data !== undefined ? (
        <DataTable
          caption="Servers and workers"
          columns={COLUMNS}
          rows={data.servers}
          rowKey={({ name }) => name}
          name="servers-"
          order="name"
          noun="process"
          plural="processes"
          filter={data.servers.length > 8}
        />
      ) : error === undefined ? (
        <Loading what="the servers" />
      ) : (
        <Problem error={error} what="The servers could not be listed" retry={query.refresh} />
      )}
    </Panel>
  );
}

function Note({ query, list }: { query: Query<ServerList>; list: ServerList }) {
  const [first] = list.servers;
  const versions = new Set(list.servers.map(({ version, build }) => `${version} ${build}`));
  return (
    <>
      <AnswerAge query={query} />; <code>{list.answeredBy}</code> answers; a view is refused when
      older than <Duration value={list.viewMaxAge} />
      {first !== undefined && `; engine ${first.engine}, queue ${first.queue}`}
      {versions.size > 1 && <>; {versions.size} versions run</>}
      {list.unreadable > 0 && <>; {list.unreadable} more are of a newer version</>}
    </>
  );
}

function stateOf({ silent, draining, clockInDoubt }: ServerProcess): string {
  if (silent) return "silent";
  if (draining) return "draining";
  return clockInDoubt ? "clock in doubt" : "running";
}

function State({ server }: { server: ServerProcess }) {
  const state = stateOf(server);
  if (state === "silent") {
    return (
      <StateBadge tone="bad" title="Not heard for 30 s; after 10 min it is no longer listed">
        silent
      </StateBadge>
    );
  }
  return <StateBadge tone={state === "running" ? "ok" : "warn"}>{state}</StateBadge>;
}
