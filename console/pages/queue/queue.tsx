/** The queue of detections: what waits, and its dead letters to inspect, replay or drop. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type {
  DeadDetection,
  DeadDetectionAction,
  DeadTarget,
  QueueStatus,
} from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { nowMs } from "../../api/clock.ts";
import { useQuery } from "../../api/use-query.ts";
import { useParam } from "../../frame/router.ts";
import { AskReason } from "../../kit/ask-reason.tsx";
import { Code } from "../../kit/code.tsx";
import { CopyAs } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { countText, durationText, msOf } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Id } from "../../kit/id.tsx";
import { Loading } from "../../kit/loading.tsx";
import { Facts, Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count, Rate } from "../../kit/quantity.tsx";
import { Ago, When } from "../../kit/when.tsx";
import { outcomeText, replayText, valueOf, verdictOf } from "./dead-letters.ts";

const REFRESH_MS = 3_000;

export function Page() {
  const query = useQuery("queue", (signal) => client.queue.get({ signal }), {
    everyMs: REFRESH_MS,
  });
  const { data, error } = query;
  return (
    <PageLayout
      title="Queue and dead letters"
      {...(data !== undefined && verdictOf(data, nowMs()))}
      actions={
        <CopyAs method="ControlService/GetQueue" cli="queue show" typescript="client.queue.get()" />
      }
    >
      {error !== undefined && (
        <Problem error={error} what="The queue could not be read" retry={query.refresh} />
      )}
      {data === undefined ? (
        error === undefined && <Loading what="the queue" />
      ) : (
        <Waiting status={data} age={<AnswerAge query={query} />} />
      )}
      <DeadLetters changed={query.refresh} />
    </PageLayout>
  );
}

function Waiting({ status, age }: { status: QueueStatus; age: ComponentChildren }) {
  const { partitions, oldestTime, rateOver } = status;
  const overMs = msOf(rateOver);
  const over = overMs === undefined ? "not known yet" : `over ${durationText(overMs)}`;
  return (
    <Panel
      title="Detections"
      note={
        <>
          {status.queue} queue, seen by <code>{status.process}</code>; {age}
        </>
      }
    >
      <Figures>
        <Figure
          label="Waiting"
          note={
            oldestTime === undefined ? (
              ""
            ) : (
              <span>
                the oldest <Ago at={oldestTime} />
              </span>
            )
          }
        >
          <Count value={status.waiting} noun="detection" />
        </Figure>
        <Figure label="Published" note={over}>
          <Rate value={status.publishedPerSecond} noun="detections" />
        </Figure>
        <Figure label="Handled" note={over}>
          <Rate value={status.handledPerSecond} noun="detections" />
        </Figure>
        <Figure label="In flight here" note={`${countText(Number(status.buffered))} to be sent`}>
          <Count value={status.inFlight} noun="detection" />
        </Figure>
        <Figure
          label="Dead letters"
          note="neither replayed nor dropped"
          tone={status.deadLetters === "0" ? "idle" : "warn"}
        >
          <Count value={status.deadLetters} noun="letter" />
        </Figure>
      </Figures>
      {partitions.length > 0 && (
        <DataTable
          caption="Partitions of the queue"
          name="p-"
          columns={PARTITION_COLUMNS}
          rows={partitions}
          rowKey={({ topic, partition }) => `${topic} ${partition}`}
          noun="partition"
          filter={false}
        />
      )}
    </Panel>
  );
}

function DeadLetters({ changed }: { changed: () => void }) {
  const query = useQuery("dead letters", (signal) => client.queue.deadPage({ signal }), {
    everyMs: REFRESH_MS,
  });
  const [position, setPosition] = useParam("letter");
  const outcome = useSignal("");
  const columns = useMemo(() => columnsOf(setPosition), []);
  const { data, error } = query;
  const done = (): void => {
    query.refresh();
    changed();
  };
  const actions: Actions = {
    replay: async (target, reason) => {
      outcome.value = outcomeText(await client.queue.replay(target, { reason }), "replayed");
    },
    drop: async (target, reason) => {
      outcome.value = outcomeText(await client.queue.drop(target, { reason }), "dropped");
    },
    done,
  };
  if (data === undefined) {
    return error === undefined ? (
      <Loading what="the dead letters" />
    ) : (
      <Problem error={error} what="The dead letters could not be read" retry={query.refresh} />
    );
  }
  const letters = data.deadDetections;
  const chosen = letters.find((letter) => letter.position === position);
  return (
    <>
      <Panel
        title="Dead letters"
        note={<AnswerAge query={query} />}
        {...(letters.length > 0 && {
          actions: <Settle target="all" what="all dead letters" actions={actions} />,
        })}
      >
        <p role="status">{outcome.value}</p>
        <DataTable
          caption="Dead letters"
          columns={columns}
          rows={letters}
          rowKey={(letter) => letter.position}
          noun="dead letter"
          more={data.nextPageToken === "" ? undefined : "the oldest of more"}
          empty={
            <Empty title="There is no dead letter." command="braid queue dead">
              A detection that no worker can decode comes here, for example one that a newer version
              published. Nothing is lost by it: the next read of a wide partition detects it again.
            </Empty>
          }
        />
      </Panel>
      {chosen !== undefined && <Letter letter={chosen} actions={actions} />}
      {data.actions.length > 0 && (
        <Panel title="What operators did last" note="names are recorded as claimed">
          <DataTable
            caption="Replays and drops"
            name="a-"
            columns={ACTION_COLUMNS}
            rows={data.actions.toReversed()}
            rowKey={({ time, by, action }) => `${time} ${by} ${action}`}
            noun="action"
            filter={false}
          />
        </Panel>
      )}
    </>
  );
}

interface Actions {
  readonly replay: (target: DeadTarget, reason: string) => Promise<void>;
  readonly drop: (target: DeadTarget, reason: string) => Promise<void>;
  readonly done: () => void;
}

/** Replay and drop, each with a reason. */
function Settle({
  target,
  what,
  kept = true,
  actions: { replay, drop, done },
}: {
  target: DeadTarget;
  what: string;
  kept?: boolean;
  actions: Actions;
}) {
  return (
    <>
      <AskReason
        label={target === "all" ? "Replay all" : "Replay"}
        title={`Replay ${what}`}
        explanation="The queue gets it again, unchanged. If a worker still cannot decode it, it becomes a dead letter again."
        disabled={!kept}
        run={async (reason) => replay(target, reason)}
        done={done}
      />
      <AskReason
        label={target === "all" ? "Drop all" : "Drop"}
        title={`Drop ${what}`}
        explanation="This cannot be undone. The next read of a wide partition makes a new detection."
        danger
        run={async (reason) => drop(target, reason)}
        done={done}
      />
    </>
  );
}

function Letter({ letter, actions }: { letter: DeadDetection; actions: Actions }) {
  const { position, detection } = letter;
  return (
    <Panel
      title={`Dead letter ${position}`}
      note={replayText(letter)}
      actions={
        <Settle
          target={[position]}
          what={`dead letter ${position}`}
          kept={letter.kept}
          actions={actions}
        />
      }
    >
      <Facts
        facts={[
          ["Why", letter.reason],
          ["Since", <When key="since" time={letter.time} />],
          ["Key", <code key="key">{letter.key}</code>],
          ["From", letter.origin === "" ? "not known" : <code key="from">{letter.origin}</code>],
          ["Length", <Bytes key="length" value={letter.valueBytes} />],
          ...(detection === undefined
            ? []
            : ([
                ["Namespace", detection.namespace],
                ["Id", <Id>{detection.partition.timeSeriesId}</Id>],
                ["Slice", detection.partition.timeSlice],
                ["Size", <Bytes key="size" value={detection.bytes} />],
                ["Detected", <When key="detected" time={detection.detectTime} />],
              ] as const)),
        ]}
      />
      <h3>Value</h3>
      <Code text={valueOf(letter)} label="Copy the value" />
    </Panel>
  );
}

function columnsOf(inspect: (position: string) => void): readonly Column<DeadDetection>[] {
  return [
    {
      key: "position",
      head: "Position",
      cell: ({ position }) => (
        <button type="button" class="button button-small" onClick={() => inspect(position)}>
          Inspect {position}
        </button>
      ),
      sort: ({ position }) => position,
    },
    {
      key: "since",
      head: "Since",
      cell: ({ time }) => <When time={time} />,
      sort: ({ time }) => time,
    },
    { key: "why", head: "Why", cell: ({ reason }) => reason, sort: ({ reason }) => reason },
    {
      key: "partition",
      head: "Key",
      cell: ({ key }) => <code>{key}</code>,
      sort: ({ key }) => key,
    },
    {
      key: "bytes",
      head: "Length",
      cell: ({ valueBytes }) => <Bytes value={valueBytes} />,
      sort: ({ valueBytes }) => Number(valueBytes),
      align: "end",
    },
    {
      key: "replay",
      head: "Replay",
      cell: (letter) => replayText(letter),
      sort: (letter) => replayText(letter),
    },
  ];
}

const PARTITION_COLUMNS: readonly Column<QueueStatus["partitions"][number]>[] = [
  { key: "topic", head: "Topic", cell: ({ topic }) => <code>{topic}</code> },
  {
    key: "partition",
    head: "Partition",
    cell: ({ partition }) => partition,
    sort: ({ partition }) => partition,
    align: "end",
  },
  {
    key: "waiting",
    head: "Waiting",
    cell: ({ waiting }) => <Count value={waiting} noun="detection" />,
    sort: ({ waiting }) => Number(waiting),
    align: "end",
  },
  {
    key: "oldest",
    head: "Oldest",
    cell: ({ oldestTime }) => <Ago at={oldestTime} />,
    sort: ({ oldestTime }) => oldestTime,
    align: "end",
  },
];

const ACTION_COLUMNS: readonly Column<DeadDetectionAction>[] = [
  { key: "when", head: "When", cell: ({ time }) => <When time={time} />, sort: ({ time }) => time },
  { key: "who", head: "Who", cell: ({ by }) => by, sort: ({ by }) => by },
  {
    key: "what",
    head: "What",
    cell: ({ action, count }) => `${action} ${countText(Number(count))}`,
    sort: ({ action }) => action,
  },
  { key: "reason", head: "Reason", cell: ({ reason }) => reason, sort: ({ reason }) => reason },
];
