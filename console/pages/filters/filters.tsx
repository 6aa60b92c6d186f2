/** The Bloom filters of the server that answers, by namespace and slice. */
import type { FilterPage, SliceFilter } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { useParam } from "../../frame/router.ts";
import { Select } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { countText } from "../../kit/format.ts";
import { AnswerAge } from "../../kit/freshness.tsx";
import { Loading } from "../../kit/loading.tsx";
import { anotherOf, chooseNamespace, listedNamespaces } from "../../kit/namespace-choice.tsx";
import { Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count, Duration, Percent } from "../../kit/quantity.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import { errsTooOften, smallShareText, totalsOf, verdictOf } from "./filter-totals.ts";

/** What one answer holds at most. */
const LISTED_MAX = 1_000;

export function Page() {
  const [namespace] = useParam("namespace");
  const query = useQuery(
    `filters ${namespace}`,
    (signal) => client.listFilters({ namespace, pageSize: LISTED_MAX, signal }),
    { everyMs: 3_000 },
  );
  const names = useQuery("namespaces", listedNamespaces, { everyMs: 30_000 });
  const { data, error } = query;
  const choices = new Set(names.data?.map((each) => each.namespace));
  if (namespace !== "") choices.add(namespace);
  return (
    <PageLayout
      title="Bloom filters"
      {...(data !== undefined && verdictOf(data))}
      actions={
        <>
          <Select
            label="Namespace"
            value={namespace}
            options={[
              ["", "all namespaces"],
              ...[...choices].toSorted().map((name) => [name, name] as const),
              ...anotherOf(names.data),
            ]}
            onChange={chooseNamespace}
          />
          <CopyAs
            method="ControlService/ListFilters"
            request={{ namespace, pageSize: LISTED_MAX }}
            cli={namespace === "" ? "filters" : `filters ${quoted(namespace)}`}
            typescript={`client.listFilters(${JSON.stringify({ namespace, pageSize: LISTED_MAX })})`}
          />
        </>
      }
    >
      {error !== undefined && (
        <Problem error={error} what="The filters could not be read" retry={query.refresh} />
      )}
      {data === undefined ? (
        error === undefined && <Loading what="the filters" />
      ) : (
        <>
          <Totals page={data} />
          <Panel
            title="By slice"
            note={
              <>
                of <code>{data.process}</code>, which has filters of the slices that it reads;{" "}
                <AnswerAge query={query} />
              </>
            }
          >
            <DataTable
              caption="Bloom filters by namespace and slice"
              columns={COLUMNS}
              rows={data.filters}
              rowKey={(filter) => `${filter.namespace} ${filter.timeSlice}`}
              noun="filter"
              order="-checks"
              more={data.nextPageToken === "" ? undefined : `the first of ${countText(data.total)}`}
              empty={
                <Empty title="No filter yet." command="braid read plays ada">
                  A filter says which partitions of a slice may be split, so that other reads need
                  not ask. A server opens the filter of a slice when it first reads the slice.
                </Empty>
              }
            />
          </Panel>
        </>
      )}
    </PageLayout>
  );
}

function Totals({ page }: { page: FilterPage }) {
  const { entries, checks, falsePositives } = totalsOf(page.filters);
  const listed = page.nextPageToken === "" ? "in the filters below" : "in the listed filters only";
  return (
    <Figures>
      <Figure label="Filters" note="of slices this server reads">
        <Count value={page.total} noun="filter" />
      </Figure>
      <Figure label="Memory" note="of all of them">
        <Bytes value={page.totalBytes} />
      </Figure>
      <Figure label="Elements" note={`split partitions, ${listed}`}>
        <Count value={entries} noun="element" />
      </Figure>
      <Figure label="Checks" note="by reads, since each was opened">
        <Count value={checks} noun="check" />
      </Figure>
      <Figure label="False positives" note="“perhaps”, and there was no split">
        <Count value={falsePositives} noun="check" />
      </Figure>
    </Figures>
  );
}

const COLUMNS: readonly Column<SliceFilter>[] = [
  {
    key: "namespace",
    head: "Namespace",
    cell: ({ namespace }) => (
      <a href={`/namespaces/${encodeURIComponent(namespace)}`}>{namespace}</a>
    ),
    sort: ({ namespace }) => namespace,
  },
  {
    key: "slice",
    head: "Slice",
    cell: ({ timeSlice }) => <code>{timeSlice}</code>,
    sort: ({ timeSlice }) => timeSlice,
  },
  {
    key: "entries",
    head: "Elements",
    cell: ({ entries, capacity }) => (
      <span class="number" title={`room for ${countText(Number(capacity))}`}>
        {countText(Number(entries))}
      </span>
    ),
    sort: ({ entries }) => Number(entries),
    align: "end",
  },
  {
    key: "bytes",
    head: "Memory",
    cell: ({ bytes }) => <Bytes value={bytes} />,
    sort: ({ bytes }) => Number(bytes),
    align: "end",
  },
  {
    key: "checks",
    head: "Checks",
    cell: ({ checks }) => <span class="number">{countText(Number(checks))}</span>,
    sort: ({ checks }) => Number(checks),
    align: "end",
  },
  {
    key: "hits",
    head: "“Perhaps”",
    cell: ({ hits }) => <span class="number">{countText(Number(hits))}</span>,
    sort: ({ hits }) => Number(hits),
    align: "end",
  },
  {
    key: "wrong",
    head: "False positives",
    cell: ({ falsePositives }) => <span class="number">{countText(Number(falsePositives))}</span>,
    sort: ({ falsePositives }) => Number(falsePositives),
    align: "end",
  },
  {
    key: "rate",
    head: "Observed rate",
    cell: (filter) =>
      errsTooOften(filter) ? (
        <StateBadge tone="warn">
          <Percent value={filter.observedRate} />
        </StateBadge>
      ) : (
        <Percent value={filter.observedRate} />
      ),
    sort: ({ observedRate }) => observedRate,
    align: "end",
  },
  {
    key: "expected",
    head: "Expected",
    cell: ({ expectedRate }) => (
      <span class="number" title={`${expectedRate}, with the elements that it has`}>
        {smallShareText(expectedRate)}
      </span>
    ),
    sort: ({ expectedRate }) => expectedRate,
    align: "end",
  },
  {
    key: "most",
    head: "When full",
    cell: ({ configuredRate }) => <Percent value={configuredRate} />,
    sort: ({ configuredRate }) => configuredRate,
    align: "end",
  },
  {
    key: "age",
    head: "Age",
    cell: ({ age }) => <Duration value={age} />,
    sort: ({ age }) => Number.parseFloat(age),
    align: "end",
  },
];
