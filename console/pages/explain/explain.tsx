/** How a read is served: slices, buckets, filter, route, parts, bytes and milliseconds. */
import { useSignal } from "@preact/signals";
import type {
  ExplainedPartition,
  ExplainedRead,
  ReadQuery,
  Verification,
} from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { nowMs, sleep } from "../../api/clock.ts";
import { refreshNow } from "../../api/live.ts";
import { useQuery } from "../../api/use-query.ts";
import { hrefOf, useParam } from "../../frame/router.ts";
import { ChartFrame } from "../../kit/chart-frame.tsx";
import { Select } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Field } from "../../kit/field.tsx";
import { bytesText, durationText, nounText } from "../../kit/format.ts";
import { IntervalFields, useInterval } from "../../kit/interval.tsx";
import type { Interval } from "../../kit/interval.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import { sentenceOf, stepsOf } from "./steps.ts";
import "./explain.css";

export function Page() {
  return (
    <WithNamespace title="Explain a read">
      {(namespace, choice) => <Explain namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

interface Answer {
  readonly interval: Interval;
  readonly explained: ExplainedRead;
}

function Explain({ namespace, choice }: { namespace: string; choice: preact.ComponentChildren }) {
  const [id, setId] = useParam("id");
  // Asked for when the form is sent, not with every letter.
  const typed = useSignal(id);
  const [order, setOrder] = useParam("order", "NEWEST_FIRST");
  const [pageSize, setPageSize] = useParam("pageSize", "100");
  const intervalNow = useInterval();
  const [last] = useParam("last");
  const [start] = useParam("start");
  const [end] = useParam("end");
  const queryOf = (interval: Interval): ReadQuery => ({
    timeSeriesId: id,
    ...interval,
    order: order === "OLDEST_FIRST" ? "OLDEST_FIRST" : "NEWEST_FIRST",
    pageSize: Number(pageSize),
  });
  const key = JSON.stringify(["explain", namespace, id, order, pageSize, last, start, end]);
  const query = useQuery<Answer | undefined>(key, async (signal) => {
    if (id === "") return undefined;
    const interval = intervalNow();
    const explained = await client.explain(namespace, { ...queryOf(interval), signal });
    return { interval, explained };
  });
  const { data } = query;
  const interval = data?.interval ?? { start: "", end: "" };
  const asked = { timeSeriesId: id, ...interval, order, pageSize: Number(pageSize) };
  return (
    <PageLayout
      title="Explain a read"
      sentence={
        data === undefined
          ? "Type an id and an interval to see which partitions a read touches, and why."
          : sentenceOf(data.explained)
      }
      actions={
        <CopyAs
          method="TimeSeriesService/ExplainRead"
          request={{
            namespace,
            timeSeriesId: id,
            timeInterval: interval,
            order,
            pageSize: Number(pageSize),
          }}
          cli={`explain ${quoted(namespace)} ${quoted(id)} --from ${interval.start} --to ${interval.end}`}
          typescript={`client.explain(${JSON.stringify(namespace)}, ${JSON.stringify(asked)})`}
        />
      }
    >
      <form
        class="form explain-form"
        onSubmit={(event) => {
          event.preventDefault();
          setId(typed.value);
          refreshNow();
        }}
      >
        <div class="field">{choice}</div>
        <Field
          label="Id"
          value={typed.value}
          onInput={(text) => (typed.value = text)}
          required
          placeholder="profile:123"
        />
        <IntervalFields />
        <div class="field">
          <Select
            label="Order"
            value={order}
            options={[
              ["NEWEST_FIRST", "newest first"],
              ["OLDEST_FIRST", "oldest first"],
            ]}
            onChange={setOrder}
          />
        </div>
        <Field label="Events on a page" value={pageSize} onInput={setPageSize} pattern="\d{1,5}" />
        <div class="ask-buttons">
          <button type="submit" class="button button-main">
            Explain
          </button>
        </div>
      </form>
      {query.error !== undefined && (
        <Problem error={query.error} what="The read could not be explained" retry={query.refresh} />
      )}
      {id === "" ? (
        <Empty title="No id yet.">
          The widest ids are on the <a href={hrefOf("/width-map", { namespace })}>width map</a>, and{" "}
          <a href={hrefOf("/events", { namespace })}>events</a> finds others.
        </Empty>
      ) : data === undefined ? (
        query.error === undefined && <Loading what="the read" />
      ) : (
        <>
          <Picture explained={data.explained} namespace={namespace} id={id} />
          <Run namespace={namespace} query={queryOf(data.interval)} />
        </>
      )}
    </PageLayout>
  );
}

function Picture({
  explained: { slices, partitions, totals },
  namespace,
  id,
}: {
  explained: ExplainedRead;
  namespace: string;
  id: string;
}) {
  const most = Math.max(...partitions.map(({ bytes }) => Number(bytes)), 1);
  const slowest = Math.max(...partitions.map(({ millis }) => millis), 0.001);
  return (
    <Panel title="Partitions in the order of the read" note="each with its route and its cost">
      <Figures>
        <Figure label="Partitions of the interval">
          <Count value={totals.partitions} noun="partition" />
        </Figure>
        <Figure label="Read">
          <Count value={totals.partitionsRead} noun="partition" />
        </Figure>
        <Figure label="Bytes read">
          <Bytes value={totals.bytes} />
        </Figure>
        <Figure label="Events read">
          <Count value={totals.events} noun="event" />
        </Figure>
        <Figure label="Events returned">
          <Count value={totals.eventsReturned} noun="event" />
        </Figure>
      </Figures>
      <ChartFrame
        title="Routes"
        name="routes"
        summary={`The longest bar of bytes is ${bytesText(most)}, that of time ${durationText(slowest)}.`}
        legend={
          <>
            <span class="legend-item">
              <span class="explain-key explain-bytes" aria-hidden="true" /> bytes
            </span>
            <span class="legend-item">
              <span class="explain-key explain-time" aria-hidden="true" /> time
            </span>
          </>
        }
        table={() => ({
          heads: ["Partition", "Route", "Parts", "Bytes", "Events", "Time", "Why"],
          rows: partitions.map((partition) => [
            nameOf(partition),
            partition.route,
            String(partition.parts),
            bytesText(Number(partition.bytes)),
            partition.events,
            durationText(partition.millis),
            partition.read ? partition.why : "not read: the page was full before",
          ]),
        })}
      >
        {slices.map(({ timeSlice, timeBuckets }) => (
          <section key={timeSlice} class="explain-slice" aria-label={timeSlice}>
            <h3>
              {timeSlice} <small>{nounText(timeBuckets, "time bucket")} of the interval</small>
            </h3>
            <ol class="explain-partitions">
              {partitions
                .filter((partition) => partition.timeSlice === timeSlice)
                .map((partition) => (
                  <Row
                    key={nameOf(partition)}
                    partition={partition}
                    most={most}
                    slowest={slowest}
                    namespace={namespace}
                    id={id}
                  />
                ))}
            </ol>
          </section>
        ))}
      </ChartFrame>
    </Panel>
  );
}

function Row({
  partition,
  most,
  slowest,
  namespace,
  id,
}: {
  partition: ExplainedPartition;
  most: number;
  slowest: number;
  namespace: string;
  id: string;
}) {
  const { timeBucket, eventBucket, bytes, events, millis, why, route, read } = partition;
  const split = route !== "ORIGINAL_FILTER_MISS" && route !== "ORIGINAL_NOT_SPLIT";
  return (
    <li class={read ? "explain-row" : "explain-row is-unread"}>
      <span class="explain-bucket number">
        bucket {timeBucket}/{eventBucket}
      </span>
      <span class="explain-steps">
        {read ? (
          stepsOf(partition).map(({ text, tone }, index) => (
            <span key={text}>
              {index > 0 && <span aria-hidden="true"> → </span>}
              <StateBadge tone={tone}>{text}</StateBadge>
            </span>
          ))
        ) : (
          <span class="none">not read: the page was full before</span>
        )}
        {read && why !== "" && <span class="explain-why">{why}</span>}
      </span>
      <span class="explain-cost">
        <span class="explain-bar explain-bytes" style={{ width: share(Number(bytes), most) }} />
        <span class="number">
          {bytesText(Number(bytes))}, {nounText(Number(events), "event")}
        </span>
        <span class="explain-bar explain-time" style={{ width: share(millis, slowest) }} />
        <span class="number">{durationText(millis)}</span>
      </span>
      {split && <Compare namespace={namespace} id={id} partition={partition} />}
    </li>
  );
}

/** Reads the original and the split of a partition and compares them byte by byte. */
function Compare({
  namespace,
  id,
  partition: { timeSlice, timeBucket, eventBucket },
}: {
  namespace: string;
  id: string;
  partition: ExplainedPartition;
}) {
  const state = useSignal<Verification | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const compare = async (): Promise<void> => {
    busy.value = true;
    error.value = undefined;
    try {
      const partition = { timeSlice, timeSeriesId: id, timeBucket, eventBucket };
      const verifyId = await client.splits.startVerify(namespace, { partition });
      const never = new AbortController().signal;
      do {
        await sleep(300, never);
        state.value = await client.splits.getVerify(namespace, verifyId);
      } while (state.value.state === "RUNNING");
    } catch (thrown) {
      error.value = thrown;
    } finally {
      busy.value = false;
    }
  };
  return (
    <span class="explain-compare">
      <button
        type="button"
        class="button button-small"
        disabled={busy.value}
        onClick={() => void compare()}
      >
        Compare original and split
      </button>
      <span role="status">{state.value !== undefined && <Compared state={state.value} />}</span>
      {error.value !== undefined && <Problem error={error.value} what="Nothing was compared" />}
    </span>
  );
}

function Compared({ state: { state, eventsCompared, differences } }: { state: Verification }) {
  const events = nounText(Number(eventsCompared), "event");
  if (state === "RUNNING") return <StateBadge tone="busy">{events} compared so far</StateBadge>;
  return differences.length === 0 ? (
    <StateBadge tone="ok">{events} compared, all equal</StateBadge>
  ) : (
    <StateBadge tone="bad">
      {events} compared, {nounText(differences.length, "difference")}: reads use the original
    </StateBadge>
  );
}

/** Runs the read for one page, as a caller does. */
function Run({ namespace, query }: { namespace: string; query: ReadQuery }) {
  const result = useSignal<string>("");
  const error = useSignal<unknown>(undefined);
  const run = async (): Promise<void> => {
    error.value = undefined;
    try {
      const began = nowMs();
      const { value: page } = await client.read(namespace, query).pages().next();
      const ms = nowMs() - began;
      const serverMs = Number.parseFloat(page?.context?.timeTaken ?? "0") * 1_000;
      result.value =
        `${nounText(page?.events.length ?? 0, "event")} in ${durationText(ms)} in this browser, ` +
        `${durationText(serverMs)} of it in the server` +
        (page?.context?.partial === true ? `; partial: ${page.context.partialReason}` : "");
    } catch (thrown) {
      error.value = thrown;
    }
  };
  const { timeSeriesId, start, end } = query;
  return (
    <Panel title="Run it">
      <div class="row">
        <p role="status">
          {result.value === "" ? "Reads one page, as a caller does." : result.value}
        </p>
        <a
          class="button"
          href={hrefOf("/events", {
            namespace,
            id: timeSeriesId,
            start: String(start),
            end: String(end),
          })}
        >
          Show the events
        </a>
        <button type="button" class="button" onClick={() => void run()}>
          Run
        </button>
      </div>
      {error.value !== undefined && <Problem error={error.value} what="The read failed" />}
    </Panel>
  );
}

function nameOf({ timeSlice, timeBucket, eventBucket }: ExplainedPartition): string {
  return `${timeSlice} ${timeBucket}/${eventBucket}`;
}

function share(value: number, most: number): string {
  return `${Math.max(1, (value / most) * 100)}%`;
}
