/** How large the partitions are: of one slice, over slices, and what the tuner makes of it. */
import type { ComponentChildren } from "preact";
import type { PartitionHistogram, Tuning, TuningList } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { hrefOf, useParam } from "../../frame/router.ts";
import { Select } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { Empty } from "../../kit/empty.tsx";
import { bytesText, nounText, percentText } from "../../kit/format.ts";
import { Freshness } from "../../kit/freshness.tsx";
import { Histogram } from "../../kit/histogram.tsx";
import type { HistogramMark } from "../../kit/histogram.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count } from "../../kit/quantity.tsx";
import { SliceChoice } from "../../kit/slice-choice.tsx";
import { bucketsOf, sharesOf } from "./buckets.ts";
import { SliceHistory } from "./slice-history.tsx";
import { Tunings } from "./tunings.tsx";

const REFRESH_MS = 10_000;

interface Shown {
  readonly histogram: PartitionHistogram;
  /** Drawn over it. */
  readonly other: PartitionHistogram | undefined;
  readonly tunings: TuningList;
}

export function Page() {
  return (
    <WithNamespace title="Sizes and tuning">
      {(namespace, choice) => <Sizes key={namespace} namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

function Sizes({ namespace, choice }: { namespace: string; choice: ComponentChildren }) {
  const [slice] = useParam("slice");
  const [over] = useParam("over");
  const query = useQuery(
    JSON.stringify(["histogram", namespace, slice, over]),
    async (signal): Promise<Shown> => {
      const [histogram, other, tunings] = await Promise.all([
        client.getHistogram(namespace, slice, { history: true, signal }),
        over === "" ? undefined : client.getHistogram(namespace, over, { signal }),
        client.listTunings(namespace, { signal }),
      ]);
      return { histogram, other, tunings };
    },
    { everyMs: REFRESH_MS },
  );
  const { data } = query;
  const waiting = data?.tunings.tunings.find(({ state }) => state === "PROPOSED");
  return (
    <PageLayout
      title="Sizes and tuning"
      tone={waiting === undefined ? "idle" : "warn"}
      sentence={data === undefined ? undefined : sentenceOf(data, waiting)}
      actions={
        <>
          {choice}
          <SliceChoice namespace={namespace} />
          <CopyAs
            method="ControlService/GetHistogram"
            request={{ namespace, timeSlice: slice, history: true }}
            cli={`histogram ${quoted(namespace)}${slice === "" ? "" : ` ${slice}`}`}
            typescript={`client.getHistogram(${JSON.stringify(namespace)}, ${JSON.stringify(slice)}, { history: true })`}
          />
        </>
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="Sizes could not be read" retry={query.refresh} />
      )}
      {data === undefined ? (
        query.error === undefined && <Loading what="sizes" />
      ) : (
        <>
          <OneSlice namespace={namespace} shown={data} proposal={waiting ?? data.tunings.next} />
          <Tunings namespace={namespace} list={data.tunings} refresh={query.refresh} />
          <SliceHistory namespace={namespace} history={data.histogram.history} />
        </>
      )}
    </PageLayout>
  );
}

function sentenceOf({ histogram }: Shown, waiting: Tuning | undefined): ComponentChildren {
  if (waiting !== undefined) {
    return `The tuner proposes a change of later slices (${waiting.proposed}), because ${waiting.observed}. Accept or refuse it below.`;
  }
  const [min, max] = targetOf(histogram);
  const target = `the target of ${bytesText(min)} to ${bytesText(max)}`;
  const buckets = bucketsOf(histogram);
  if (Number(histogram.count) === 0) return `${histogram.timeSlice} has no partitions yet.`;
  if (buckets.length === 0) {
    return `About ${nounText(Number(histogram.count), "partition")}; how they are distributed is not known before a walk.`;
  }
  const { below, within, above } = sharesOf(buckets, min, max);
  return `${percentText(within)} of the partitions are in ${target}, ${percentText(below)} below and ${percentText(above)} above it.`;
}

function targetOf({ densityMinBytes, densityMaxBytes }: PartitionHistogram): [number, number] {
  return [Number(densityMinBytes), Number(densityMaxBytes)];
}

function OneSlice({
  namespace,
  shown: { histogram, other },
  proposal,
}: {
  namespace: string;
  shown: Shown;
  proposal: Tuning | undefined;
}) {
  const [over, setOver] = useParam("over");
  const [min, max] = targetOf(histogram);
  const buckets = bucketsOf(histogram);
  const slices = histogram.history.map(({ timeSlice }) => timeSlice).toReversed();
  return (
    <Panel
      title={histogram.timeSlice}
      note={<Freshness at={histogram.asOf}>{remarksOf(histogram)}</Freshness>}
      actions={
        <a href={hrefOf("/width-map", { namespace, slice: histogram.timeSlice })}>As a map</a>
      }
    >
      {buckets.length === 0 ? (
        <Empty
          title={histogram.count === "0" ? "No partition in this slice yet." : "No sizes yet."}
          command={`braid histogram ${namespace} --watch`}
        >
          Sizes come from what is read, and from walks that the server makes over each slice by
          itself. Choose another slice, or wait for the walk.
        </Empty>
      ) : (
        <>
          <div class="row">
            <Select
              label="Draw over it"
              value={over}
              options={[
                ["", "no other slice"],
                ...slices
                  .filter((each) => each !== histogram.timeSlice)
                  .map((each) => [each, each] as const),
              ]}
              onChange={setOver}
            />
          </div>
          <Histogram
            title="Partitions by size"
            name="sizes"
            buckets={buckets}
            format={bytesText}
            noun="partition"
            summary={summaryOf(histogram)}
            label={histogram.timeSlice}
            band={{ from: min, to: max, label: `target ${bytesText(min)} to ${bytesText(max)}` }}
            marks={marksOf(histogram, proposal)}
            height={240}
            {...(other !== undefined && {
              overlay: { label: other.timeSlice, buckets: bucketsOf(other) },
            })}
          />
        </>
      )}
      <Figures>
        <Figure label="Partitions" note="about">
          <Count value={histogram.count} noun="partition" />
        </Figure>
        {PERCENTILES.map((name) => (
          <Figure key={name} label={name}>
            <Bytes value={histogram[name]} />
          </Figure>
        ))}
        <Figure label="Largest">
          <Bytes value={histogram.max} />
        </Figure>
      </Figures>
    </Panel>
  );
}

const PERCENTILES = ["p50", "p75", "p95", "p99"] as const;

const SOURCES: Readonly<Record<string, string>> = {
  WALK: "from a walk over it",
  READS: "from what this server has read",
  TABLE_ESTIMATES: "from Cassandra's estimates",
  JMX: "from Cassandra's histogram of its files",
};

function remarksOf({ source, coverage, doesNotTell }: PartitionHistogram): string {
  return [SOURCES[source] ?? source, coverage, doesNotTell]
    .filter((remark) => remark !== "")
    .join("; ");
}

function summaryOf({ p50, p99, max, count }: PartitionHistogram): string {
  const text = (bytes: string | undefined): string =>
    bytes === undefined ? "not known" : bytesText(Number(bytes));
  return `${nounText(Number(count), "partition")}: p50 ${text(p50)}, p99 ${text(p99)}, the largest ${text(max)}.`;
}

/** Percentiles now, and those of the dry run if there is a proposal. */
function marksOf(now: PartitionHistogram, proposal: Tuning | undefined): HistogramMark[] {
  return [
    ...linesAt(now).map(({ at, names }): HistogramMark => ({ at, label: names })),
    ...linesAt(proposal?.dryRun.after ?? {}).map(({ at, names }): HistogramMark => ({
      at,
      label: `${names} as proposed`,
      tone: "proposed",
    })),
  ];
}

/** One line for percentiles that are the same. */
function linesAt(sizes: Partial<Record<(typeof DRAWN)[number], string>>): {
  readonly at: number;
  readonly names: string;
}[] {
  const names = new Map<number, string[]>();
  for (const name of DRAWN) {
    const bytes = Number(sizes[name] ?? "0");
    if (bytes > 0) names.set(bytes, [...(names.get(bytes) ?? []), name]);
  }
  return [...names].map(([at, each]) => ({ at, names: each.join(", ") }));
}

/** The percentiles that a dry run predicts. */
const DRAWN = ["p50", "p95", "p99"] as const;
