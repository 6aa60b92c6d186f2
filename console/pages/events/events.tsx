/** Events of an id: find the id, read, page, filter, show values, export. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { EventPage, ReadQuery, ReceivedEvent } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { refreshNow } from "../../api/live.ts";
import { useQuery } from "../../api/use-query.ts";
import { hrefOf, useParam } from "../../frame/router.ts";
import { Choice, Select } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Field } from "../../kit/field.tsx";
import { bytesText, durationText, nounText } from "../../kit/format.ts";
import { IntervalFields, useInterval } from "../../kit/interval.tsx";
import type { Interval } from "../../kit/interval.tsx";
import { Id } from "../../kit/id.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { FindByPrefix } from "./find-ids.tsx";
import { IdList } from "./id-list.tsx";
import { recentIds, rememberId } from "./recent-ids.ts";
import { csvOf, linesOf, valueText } from "./values.ts";
import type { Form } from "./values.ts";
import "./events.css";

const PAGE_SIZE = 100;
/** What one export holds at most: a browser builds it in memory. */
const EXPORTED_MAX = 100_000;

export function Page() {
  return (
    <WithNamespace title="Events">
      {(namespace, choice) => <Events key={namespace} namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

interface Answer {
  readonly interval: Interval;
  readonly page: EventPage;
}

function Events({ namespace, choice }: { namespace: string; choice: ComponentChildren }) {
  const [id, setId] = useParam("id");
  const [order, setOrder] = useParam("order", "NEWEST_FIRST");
  const [filter, setFilter] = useParam("where");
  const [last] = useParam("last");
  const [start] = useParam("start");
  const [end] = useParam("end");
  const typed = useSignal(id);
  const typedFilter = useSignal(filter);
  useEffect(() => {
    typed.value = id;
  }, [id]);
  const intervalNow = useInterval();
  const queryOf = (interval: Interval, signal?: AbortSignal): ReadQuery => ({
    timeSeriesId: id,
    ...interval,
    order: order === "OLDEST_FIRST" ? "OLDEST_FIRST" : "NEWEST_FIRST",
    pageSize: PAGE_SIZE,
    ...(filter !== "" && { filters: filtersOf(filter) }),
    ...(signal !== undefined && { signal }),
  });
  const key = JSON.stringify(["events", namespace, id, order, filter, last, start, end]);
  const query = useQuery<Answer | undefined>(key, async (signal) => {
    if (id === "") return undefined;
    const interval = intervalNow();
    const { value: page } = await client.read(namespace, queryOf(interval, signal)).pages().next();
    if (page === undefined) return undefined;
    rememberId(namespace, id);
    return { interval, page };
  });
  const { data } = query;
  const interval = data?.interval ?? { start: "", end: "" };
  return (
    <PageLayout
      title="Events"
      sentence={sentenceOf(id, data?.page)}
      actions={
        <CopyAs
          method="TimeSeriesService/ReadEventRecords"
          request={{
            namespace,
            timeSeriesId: id,
            timeInterval: interval,
            order,
            pageSize: PAGE_SIZE,
          }}
          cli={`read ${quoted(namespace)} ${quoted(id)} --from ${interval.start} --to ${interval.end}`}
          typescript={`Array.fromAsync(client.read(${JSON.stringify(namespace)}, ${JSON.stringify({ timeSeriesId: id, ...interval })}))`}
        />
      }
    >
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          setId(typed.value);
          setFilter(typedFilter.value);
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
        <Field
          label="Only events with"
          value={typedFilter.value}
          onInput={(text) => (typedFilter.value = text)}
          placeholder="device=tv, country=ES"
          pattern="\s*([^=,]+=[^,]*(,\s*[^=,]+=[^,]*)*)?"
        />
        <div class="ask-buttons">
          <button type="submit" class="button button-main">
            Read
          </button>
        </div>
      </form>
      {query.error !== undefined && (
        <Problem error={query.error} what="The events could not be read" retry={query.refresh} />
      )}
      {id === "" ? (
        <FindId namespace={namespace} />
      ) : data === undefined ? (
        query.error === undefined && <Loading what="the events" />
      ) : (
        <Pages
          key={`${key} ${query.at}`}
          namespace={namespace}
          id={id}
          first={data.page}
          query={queryOf(data.interval)}
        />
      )}
    </PageLayout>
  );
}

function sentenceOf(id: string, page: EventPage | undefined): string {
  if (id === "")
    return "Choose an id: find it by prefix, take one of the widest or one that you read before, or type it.";
  if (page === undefined) return "Reading.";
  const { context } = page;
  if (page.events.length === 0 && page.nextPageToken === "") {
    return "There is no event in this interval: choose a longer one.";
  }
  const cost =
    context === undefined
      ? ""
      : ` ${bytesText(Number(context.bytesRead))} of ${nounText(context.partitionsRead, "partition")} in ` +
        `${durationText(Number.parseFloat(context.timeTaken) * 1_000)}.`;
  const more = page.nextPageToken === "" ? "" : " More follow.";
  const partial = context?.partial === true ? ` Partial: ${context.partialReason}.` : "";
  return `${nounText(page.events.length, "event")} on the first page.${cost}${partial}${more}`;
}

/** "device=tv, country=ES" as filters: all must match. */
function filtersOf(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => pair.split("="));
  return Object.fromEntries(
    pairs.map(([key = "", ...value]) => [key.trim(), value.join("=").trim()]),
  );
}

function Pages({
  namespace,
  id,
  first,
  query,
}: {
  namespace: string;
  id: string;
  first: EventPage;
  query: ReadQuery;
}) {
  const [form, setForm] = useParam("form", "text");
  const shown = useSignal<{ events: readonly ReceivedEvent[]; token: string }>({
    events: first.events,
    token: first.nextPageToken,
  });
  const error = useSignal<unknown>(undefined);
  const busy = useSignal("");
  const { events, token } = shown.value;
  const attempt = async (what: string, run: () => Promise<void>): Promise<void> => {
    busy.value = what;
    error.value = undefined;
    try {
      await run();
    } catch (thrown) {
      error.value = thrown;
    } finally {
      busy.value = "";
    }
  };
  const more = (): Promise<void> =>
    attempt("more", async () => {
      const next = await client
        .read(namespace, { ...query, pageToken: token })
        .pages()
        .next();
      if (next.value === undefined) return;
      shown.value = {
        events: [...events, ...next.value.events],
        token: next.value.nextPageToken,
      };
    });
  const save = (kind: "ndjson" | "csv"): Promise<void> =>
    attempt(kind, async () => {
      const all: ReceivedEvent[] = [];
      for await (const event of client.stream(namespace, {
        ...query,
        totalRecordLimit: EXPORTED_MAX,
      })) {
        all.push(event);
      }
      download(`${namespace}-events.${kind}`, kind === "csv" ? csvOf(all) : linesOf(all));
    });
  return (
    <Panel
      title={<Id>{id}</Id>}
      note={token === "" ? "to the end of the interval" : "the first pages of the interval"}
      actions={
        <>
          <Choice
            label="Show values as"
            value={form as Form}
            options={[
              ["text", "Text"],
              ["json", "JSON"],
              ["hex", "Hex"],
            ]}
            onChange={setForm}
          />
          <a
            class="button button-small"
            href={hrefOf("/explain", {
              namespace,
              id,
              start: String(query.start),
              end: String(query.end),
            })}
          >
            Explain
          </a>
          <button type="button" class="button button-small" onClick={() => void save("ndjson")}>
            {busy.value === "ndjson" ? "Reading…" : "Export NDJSON"}
          </button>
          <button type="button" class="button button-small" onClick={() => void save("csv")}>
            {busy.value === "csv" ? "Reading…" : "Export CSV"}
          </button>
        </>
      }
    >
      {error.value !== undefined && <Problem error={error.value} what="The read failed" />}
      <DataTable
        caption={`Events of ${id}`}
        columns={columnsOf(form as Form)}
        rows={events}
        rowKey={({ eventTime, eventId }) => `${eventTime} ${eventId}`}
        noun="event"
        empty={
          <Empty
            title="No event in this interval."
            command={`braid read ${namespace} ${quoted(id)}`}
          >
            Choose a longer interval, or check the id.
          </Empty>
        }
      />
      {token !== "" && (
        <button
          type="button"
          class="button"
          disabled={busy.value !== ""}
          onClick={() => void more()}
        >
          {busy.value === "more" ? "Reading…" : `Read ${PAGE_SIZE} more events`}
        </button>
      )}
    </Panel>
  );
}

function columnsOf(form: Form): readonly Column<ReceivedEvent>[] {
  return [
    {
      key: "time",
      head: "Event time, UTC",
      cell: ({ eventTime }) => <span class="number">{eventTime}</span>,
      sort: ({ timeMicros }) => timeMicros,
      text: ({ eventTime }) => eventTime,
    },
    {
      key: "event",
      head: "Event id",
      cell: ({ eventId }) => <code>{eventId}</code>,
      sort: ({ eventId }) => eventId,
    },
    {
      key: "items",
      head: "Items",
      cell: ({ items }) => (
        <dl class="event-items">
          {items.map(({ key, value }) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>
                <Value text={valueText(value, form)} />
              </dd>
            </div>
          ))}
        </dl>
      ),
      text: ({ items }) => items.map(({ key, text }) => `${key}=${text}`).join(" "),
    },
  ];
}

/** Longer values are folded, so that a row stays a row. */
const UNFOLDED_CHARACTERS = 80;

function Value({ text }: { text: string }) {
  if (text.length <= UNFOLDED_CHARACTERS && !text.includes("\n")) return <>{text}</>;
  const first = text.replaceAll(/\s+/g, " ").slice(0, UNFOLDED_CHARACTERS);
  return (
    <details>
      <summary>{first} …</summary>
      {text}
    </details>
  );
}

/** Ways to an id: by prefix, the widest partitions, and what was read in this browser. */
function FindId({ namespace }: { namespace: string }) {
  const widest = useQuery(`widest ${namespace}`, (signal) =>
    client.listPartitions(namespace, "", { pageSize: 20, signal }),
  );
  const recent = recentIds(namespace);
  const ids = [...new Set(widest.data?.partitions.map(({ timeSeriesId }) => timeSeriesId))];
  return (
    <div class="columns">
      <FindByPrefix namespace={namespace} />
      <Panel title="Widest in the newest slice" note="from the last walk of the slice">
        {ids.length === 0 ? (
          <Empty title="No sizes are known yet.">
            A walk of the slice finds them; it comes by itself when the slice is sealed.
          </Empty>
        ) : (
          <IdList ids={ids} />
        )}
      </Panel>
      <Panel title="Read in this browser" note="kept by this browser alone">
        {recent.length === 0 ? <p>Nothing yet.</p> : <IdList ids={recent} />}
      </Panel>
    </div>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
