/** One namespace: its slices on a time line, its configuration with the origin of each value. */
import type { Namespace, TimeSlice, Tuning } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { goTo, hrefOf } from "../../frame/router.ts";
import type { PageProps } from "../../frame/routes.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { bytesText, durationText, msOf, nounText } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { Facts, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import type { Tone } from "../../kit/state-badge.tsx";
import { When } from "../../kit/when.tsx";
import { MODE_TONES } from "./namespaces.tsx";
import { fieldsOf, originOf } from "./origins.ts";
import {
  changedSlices,
  PARTITIONING_HEAD,
  partitioningText,
  shortPartitioning,
} from "./partitioning.ts";
import { SliceLine } from "./slice-line.tsx";
import "./namespaces.css";

interface Shown {
  readonly namespace: Namespace;
  readonly slices: readonly TimeSlice[];
  readonly tunings: readonly Tuning[];
}

export function Page({ params: { namespace: name = "" } }: PageProps) {
  const query = useQuery(
    `namespace ${name}`,
    async (signal): Promise<Shown> => {
      const [namespace, slices, { tunings }] = await Promise.all([
        client.getNamespace(name, { signal }),
        client.listTimeSlices(name, { signal }),
        client.listTunings(name, { signal }),
      ]);
      return { namespace, slices, tunings };
    },
    { everyMs: 5_000 },
  );
  const { data } = query;
  return (
    <PageLayout
      title={name}
      tone={data?.namespace.splitsPaused === true ? "warn" : "idle"}
      sentence={data === undefined ? undefined : <Sentence {...data} />}
      actions={
        <CopyAs
          method="ControlService/GetNamespace"
          request={{ namespace: name }}
          cli={`ns get ${quoted(name)}`}
          typescript={`client.getNamespace(${JSON.stringify(name)})`}
        />
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what={`${name} could not be read`} retry={query.refresh} />
      )}
      {data === undefined ? (
        query.error === undefined && <Loading what={name} />
      ) : (
        <>
          <Links name={name} />
          <Panel title="Slices" note={<AnswerAge query={query} />}>
            <SliceLine slices={data.slices} />
            <SliceTable name={name} slices={data.slices} refresh={query.refresh} />
          </Panel>
          <Panel title="Configuration" note="where each value comes from is beside it">
            <Configuration {...data} />
          </Panel>
          <Panel title="Facts">
            <NamespaceFacts {...data.namespace} />
          </Panel>
          <Panel title="Delete">
            <Deletion name={name} />
          </Panel>
        </>
      )}
    </PageLayout>
  );
}

function Sentence({ namespace, slices }: Shown) {
  const { config, splitsPaused, splitsPause, waitingTuning } = namespace;
  const name = namespace.namespace;
  const bytes = slices.reduce((sum, slice) => sum + Number(slice.bytes), 0);
  const events = slices.reduce((sum, slice) => sum + Number(slice.events), 0);
  if (splitsPaused) {
    return (
      <>
        Splits are paused ({splitsPause?.reason === "" ? "no reason given" : splitsPause?.reason}):{" "}
        <a href={hrefOf("/splits", { namespace: name })}>resume them</a> when the cause is gone.
      </>
    );
  }
  if (waitingTuning !== undefined) {
    return (
      <>
        A proposal for later slices waits:{" "}
        <a href={hrefOf("/histogram", { namespace: name })}>accept or refuse it</a>.
      </>
    );
  }
  if (events === 0) {
    return (
      <>
        It has no event yet. Write some: <code>braid write {name} events.ndjson</code>
      </>
    );
  }
  return (
    <>
      {nounText(events, "event")}, about {bytesText(bytes)}, kept for{" "}
      {durationText(msOf(config.retention.deleteAfter) ?? 0)} in{" "}
      {partitioningText(config.timePartition)}.
    </>
  );
}

/** The other pages about this namespace. */
const PAGES = [
  ["/width-map", "Width map"],
  ["/histogram", "Sizes and tuning"],
  ["/splits", "Splits"],
  ["/read-modes", "Read mode"],
  ["/events", "Events"],
  ["/explain", "Explain a read"],
  ["/doctor", "Doctor"],
  ["/blocked", "Blocked ids"],
] as const;

function Links({ name }: { name: string }) {
  return (
    <nav class="chips" aria-label={`Pages about ${name}`}>
      {PAGES.map(([path, label]) => (
        <a key={path} class="button button-small" href={hrefOf(path, { namespace: name })}>
          {label}
        </a>
      ))}
    </nav>
  );
}

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  UPCOMING: "idle",
  ACTIVE: "ok",
  SEALED: "busy",
  CLOSED: "idle",
  DROPPING: "warn",
  DROPPED: "idle",
};

function SliceTable({
  name,
  slices,
  refresh,
}: {
  name: string;
  slices: readonly TimeSlice[];
  refresh: () => void;
}) {
  const changed = changedSlices(slices);
  const columns: readonly Column<TimeSlice>[] = [
    {
      key: "slice",
      head: "Slice",
      cell: ({ name: slice }) => (
        <a href={hrefOf("/width-map", { namespace: name, slice })}>{slice}</a>
      ),
      sort: ({ start }) => start,
      text: ({ name: slice }) => slice,
    },
    {
      key: "start",
      head: "From",
      cell: ({ start }) => <When time={start} />,
      sort: ({ start }) => start,
    },
    {
      key: "status",
      head: "Status",
      cell: (slice) => <SliceStatus name={name} slice={slice} refresh={refresh} />,
      sort: ({ status }) => status,
    },
    {
      key: "bytes",
      head: "Size, about",
      cell: ({ bytes }) => <Bytes value={bytes} />,
      sort: ({ bytes }) => Number(bytes),
      align: "end",
    },
    {
      key: "events",
      head: "Events written",
      cell: ({ events }) => <Count value={events} noun="event" />,
      sort: ({ events }) => Number(events),
      align: "end",
    },
    {
      key: "partitioning",
      head: PARTITIONING_HEAD,
      cell: ({ name: slice, timePartition }) => (
        <>
          {changed.has(slice) && <span title="It differs from the slice before">◆ </span>}
          <span title={partitioningText(timePartition)}>{shortPartitioning(timePartition)}</span>
        </>
      ),
      sort: ({ timePartition }) => timePartition.secondsPerTimeBucket,
      text: ({ timePartition }) => partitioningText(timePartition),
    },
  ];
  return (
    <DataTable
      caption={`Slices of ${name}`}
      columns={columns}
      rows={slices}
      rowKey={({ name: slice }) => slice}
      noun="slice"
      order="-slice"
    />
  );
}

function SliceStatus({
  name,
  slice: { name: slice, status, dropTime },
  refresh,
}: {
  name: string;
  slice: TimeSlice;
  refresh: () => void;
}) {
  return (
    <>
      <StateBadge tone={STATUS_TONES[status] ?? "idle"}>{status}</StateBadge>
      {status === "DROPPING" && (
        <>
          {" "}
          until <When time={dropTime} />{" "}
          <AskReason
            label="Keep"
            title={`Keep ${slice}`}
            explanation={`Retention has marked ${slice} for dropping. It becomes a closed slice again.`}
            run={async () => void (await client.undropTimeSlice(name, slice))}
            done={refresh}
          />
        </>
      )}
    </>
  );
}

const ORIGINS = {
  default: "the default",
  plan: "chosen by the plan it was created from",
  tuning: "changed by a tuning",
  given: "given by an operator",
} as const;

function Configuration({ namespace, tunings }: Shown) {
  const rows = fieldsOf(namespace.config).map(([field, value]) => ({
    field,
    value: valueText(field, value),
    origin: ORIGINS[originOf(field, namespace, tunings)],
  }));
  return (
    <DataTable
      caption={`The configuration of ${namespace.namespace}`}
      name="config-"
      columns={CONFIG_COLUMNS}
      rows={rows}
      rowKey={({ field }) => field}
      noun="setting"
    />
  );
}

interface Setting {
  readonly field: string;
  readonly value: string;
  readonly origin: string;
}

const CONFIG_COLUMNS: readonly Column<Setting>[] = [
  {
    key: "setting",
    head: "Setting",
    cell: ({ field }) => <code>{field}</code>,
    sort: ({ field }) => field,
  },
  { key: "value", head: "Value", cell: ({ value }) => value, sort: ({ value }) => value },
  { key: "origin", head: "Origin", cell: ({ origin }) => origin, sort: ({ origin }) => origin },
];

/** With a unit: the names of the fields say which they are in. */
function valueText(field: string, value: string): string {
  if (/seconds/i.test(field)) return durationText(Number(value) * 1_000);
  if (/bytes/i.test(field)) return bytesText(Number(value));
  const ms = /^\d+(?:\.\d+)?s$/.test(value) ? msOf(value) : undefined;
  if (ms !== undefined) return durationText(ms);
  if (field.endsWith("eventsMax")) return nounText(Number(value), "event");
  if (field.endsWith("maxParts")) return nounText(Number(value), "part");
  if (field.endsWith("eventBuckets")) return nounText(Number(value), "event bucket");
  return value;
}

function NamespaceFacts({ id, epoch, version, createTime, readMode, provisioned }: Namespace) {
  return (
    <Facts
      facts={[
        ["Id", <code>{id}</code>],
        ["Created", <When time={createTime} />],
        ["Read mode", <StateBadge tone={MODE_TONES[readMode] ?? "idle"}>{readMode}</StateBadge>],
        ["Epoch", `${epoch}, raised by every change that reopens sealed time`],
        ["Version", `${version}, raised by every change`],
        ...(provisioned === undefined
          ? []
          : ([
              [
                "Planned",
                <>
                  <When time={provisioned.planTime} /> with seed {provisioned.seed}
                </>,
              ],
            ] as const)),
      ]}
    />
  );
}

function Deletion({ name }: { name: string }) {
  return (
    <div class="row">
      <p>
        A deleted namespace is neither read nor written. Until its grace ends,{" "}
        <code>braid ns undelete {name}</code> restores it with all its events.
      </p>
      <AskReason
        label="Delete…"
        title={`Delete ${name}`}
        confirm="Delete"
        danger
        explanation={`Callers can neither read nor write ${name} any more. It can be restored until its grace ends: braid ns undelete ${name}.`}
        run={async (reason) => void (await client.deleteNamespace(name, { reason }))}
        done={() => goTo("/namespaces")}
      />
    </div>
  );
}
