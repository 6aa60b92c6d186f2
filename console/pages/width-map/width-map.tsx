/** The partitions of a slice as a heat map: time across, size or hash of the id down. */
import { useMemo } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { SizedPartition, WidthMap } from "../../../client/connect.ts";
import { client } from "../../api/client.ts";
import { useQuery } from "../../api/use-query.ts";
import { hrefOf, setParams, useParam } from "../../frame/router.ts";
import { timeZone } from "../../frame/time-zone.ts";
import { Choice } from "../../kit/choice.tsx";
import { CopyAs, quoted } from "../../kit/copy-as.tsx";
import { DataTable } from "../../kit/data-table.tsx";
import type { Column } from "../../kit/data-table.tsx";
import { Empty } from "../../kit/empty.tsx";
import { bytesText, durationText, nounText, percentText } from "../../kit/format.ts";
import { Freshness } from "../../kit/freshness.tsx";
import { HeatMap } from "../../kit/heat-map.tsx";
import type { CellRange } from "../../kit/cell-range.ts";
import { Id } from "../../kit/id.tsx";
import { Loading } from "../../kit/loading.tsx";
import { WithNamespace } from "../../kit/namespace-choice.tsx";
import { Figure, Figures, PageLayout, Panel } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Bytes, Count, Percent } from "../../kit/quantity.tsx";
import { shown } from "../../kit/shown.ts";
import { SliceChoice } from "../../kit/slice-choice.tsx";
import { StateBadge } from "../../kit/state-badge.tsx";
import { timeText } from "../../kit/when.tsx";
import { filterOf, rangeIn, rangeText, rowAt, rowsBetween, rowsOf, valuesOf } from "./cells.ts";

const REFRESH_MS = 10_000;
const LISTED_MAX = 1_000;

export function Page() {
  return (
    <WithNamespace title="Width map">
      {(namespace, choice) => <Map key={namespace} namespace={namespace} choice={choice} />}
    </WithNamespace>
  );
}

type Measure = "PARTITIONS" | "BYTES" | "EVENTS";
const MEASURES: readonly (readonly [Measure, string])[] = [
  ["PARTITIONS", "Partitions"],
  ["BYTES", "Bytes"],
  ["EVENTS", "Events"],
];
const FORMATS: Readonly<Record<Measure, (value: number) => string>> = {
  PARTITIONS: (value) => nounText(value, "partition"),
  BYTES: bytesText,
  EVENTS: (value) => nounText(value, "event"),
};

function Map({ namespace, choice }: { namespace: string; choice: ComponentChildren }) {
  const [slice] = useParam("slice");
  const [rowsParam] = useParam("rows", "SIZE");
  const rows = rowsParam === "ID_HASH" ? "ID_HASH" : "SIZE";
  const [measureParam, setMeasure] = useParam("measure", "PARTITIONS");
  const measure = MEASURES.find(([each]) => each === measureParam)?.[0] ?? "PARTITIONS";
  const query = useQuery(
    JSON.stringify(["width map", namespace, slice, rows, measure]),
    (signal) => client.getWidthMap(namespace, slice, { rows, measure, signal }),
    { everyMs: REFRESH_MS },
  );
  const { data: map } = query;
  const request = { namespace, timeSlice: slice, rows, measure };
  const flags = `--rows ${rows === "SIZE" ? "size" : "id-hash"} --measure ${measure.toLowerCase()}`;
  return (
    <PageLayout
      title="Width map"
      tone={
        map !== undefined && Number(map.overLimit) > Number(map.overLimitSplit) ? "warn" : "idle"
      }
      sentence={map?.sentence}
      actions={
        <>
          {choice}
          <SliceChoice namespace={namespace} />
          <CopyAs
            method="ControlService/GetWidthMap"
            request={request}
            cli={`width-map ${quoted(namespace)}${slice === "" ? "" : ` --slice ${slice}`} ${flags}`}
            typescript={`client.getWidthMap(${JSON.stringify(namespace)}, ${JSON.stringify(slice)}, ${JSON.stringify({ rows, measure })})`}
          />
        </>
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="The width map could not be read" retry={query.refresh} />
      )}
      <div class="row">
        <Choice
          label="What the rows are"
          value={rows}
          options={[
            ["SIZE", "By size"],
            ["ID_HASH", "By id"],
          ]}
          onChange={(next) => setParams({ rows: next === "SIZE" ? "" : next, cells: "" })}
        />
        <Choice
          label="What a cell counts"
          value={measure}
          options={MEASURES}
          onChange={setMeasure}
        />
      </div>
      {map === undefined ? (
        query.error === undefined && <Loading what="the width map" />
      ) : map.asOf === undefined ? (
        <Empty title="This slice has no map yet." command={`braid width-map ${namespace} --watch`}>
          The server walks over the partitions of each slice by itself, and again when the slice is
          sealed. Choose another slice, or wait for the walk.
        </Empty>
      ) : (
        <Drawn namespace={namespace} map={map} measure={measure} />
      )}
    </PageLayout>
  );
}

function Drawn({
  namespace,
  map,
  measure,
}: {
  namespace: string;
  map: WidthMap;
  measure: Measure;
}) {
  const rows = useMemo(() => rowsOf(map), [map]);
  const values = useMemo(() => valuesOf(map, rows.length), [map, rows]);
  const [cells, setCells] = useParam("cells");
  const selected = rangeIn(cells, map.columnCount, rows.length);
  const bySize = map.rowsBy === "SIZE";
  const [min, max] = [Number(map.densityMinBytes), Number(map.densityMaxBytes)];
  const band = bySize ? rowsBetween(rows, min, max) : undefined;
  const limit = bySize ? rowAt(rows, Number(map.limitBytes)) : undefined;
  const start = Date.parse(map.start);
  const columnLabel = (column: number): string =>
    timeText(
      start + column * map.secondsPerColumn * 1_000,
      timeZone.value,
      map.secondsPerColumn % 60 !== 0,
    );
  const rowLabel = (row: number): string => {
    const { from = 0, upTo } = rows[row] ?? {};
    if (!bySize) return percentText(from);
    return upTo === undefined ? `over ${bytesText(from)}` : bytesText(upTo);
  };
  return (
    <>
      <Figures>
        <Figure label="Partitions" note={<Bytes value={map.bytes} />}>
          <Count value={map.partitions} noun="partition" />
        </Figure>
        <Figure label="Below the target" note={`of ${bytesText(min)} to ${bytesText(max)}`}>
          <Percent value={map.belowTarget} />
        </Figure>
        <Figure label="Above the target">
          <Percent value={map.aboveTarget} />
        </Figure>
        <Figure
          label={`Over ${bytesText(Number(map.limitBytes))}`}
          note={`${nounText(Number(map.overLimitSplit), "split")} completed`}
          tone={Number(map.overLimit) > Number(map.overLimitSplit) ? "warn" : "idle"}
        >
          {map.overLimitMore && "at least "}
          <Count value={map.overLimit} noun="partition" />
        </Figure>
      </Figures>
      <Panel title={map.timeSlice} note={<Origin map={map} />}>
        <HeatMap
          title={bySize ? "Partitions by time and size" : "Partitions by time and hash of the id"}
          name="map"
          columns={map.columnCount}
          rows={rows.length}
          values={values}
          columnLabel={columnLabel}
          rowLabel={rowLabel}
          format={FORMATS[measure]}
          summary={`${shown(map.sentence)} A column is ${durationText(map.secondsPerColumn * 1_000)}; ${
            bySize
              ? "a row is labelled with its largest size"
              : "all partitions of an id are in one row"
          }.`}
          {...(band !== undefined && {
            band: { ...band, label: `target ${bytesText(min)} to ${bytesText(max)}` },
          })}
          {...(limit !== undefined && {
            lines: [{ row: limit, label: `limit ${bytesText(Number(map.limitBytes))}` }],
          })}
          marks={map.cells
            .filter(({ splits }) => splits.length > 0)
            .map(({ column, row, splits }) => ({
              column,
              row,
              label: splits
                .map(({ state, count }) => `${nounText(count, "split")} ${state}`)
                .join(", "),
            }))}
          selected={selected}
          onSelect={(range) => setCells(rangeText(range))}
        />
        <p class="field-help">
          ○ marks cells with a split. Drag over cells, or move with the arrow keys and press Enter,
          to list their partitions.
        </p>
      </Panel>
      <Partitions
        namespace={namespace}
        map={map}
        rows={rows}
        range={selected}
        clear={() => setCells("")}
      />
    </>
  );
}

/** Where the map comes from, and what it leaves out. */
function Origin({ map }: { map: WidthMap }) {
  const { sampleShare, complete, sealed, excludes } = map;
  const remarks = [
    sampleShare < 1
      ? `from a sample of ${percentText(sampleShare)} of the ids`
      : "every id counted",
    ...(complete ? [] : ["the walk did not reach the end of the slice"]),
    ...(sealed ? ["final: the slice is sealed"] : []),
    ...excludes.map((each) => `without ${each}`),
  ];
  return <Freshness at={map.asOf}>{remarks.join("; ")}</Freshness>;
}

function Partitions({
  namespace,
  map,
  rows,
  range,
  clear,
}: {
  namespace: string;
  map: WidthMap;
  rows: WidthMap["rows"];
  range: CellRange | undefined;
  clear: () => void;
}) {
  const filter = range === undefined ? {} : filterOf(map, rows, range);
  const query = useQuery(
    JSON.stringify(["partitions", namespace, map.timeSlice, filter]),
    (signal) =>
      client.listPartitions(namespace, map.timeSlice, { filter, pageSize: LISTED_MAX, signal }),
    { everyMs: REFRESH_MS },
  );
  const columns = useMemo(() => columnsOf(namespace, map), [namespace, map]);
  const { data } = query;
  return (
    <Panel
      title={range === undefined ? "The largest partitions" : "Partitions of the chosen cells"}
      note={data?.coverage}
      actions={
        range !== undefined && (
          <button type="button" class="button button-small" onClick={clear}>
            Show all
          </button>
        )
      }
    >
      {query.error !== undefined && (
        <Problem error={query.error} what="Partitions could not be read" retry={query.refresh} />
      )}
      {data === undefined ? (
        query.error === undefined && <Loading what="partitions" />
      ) : (
        <DataTable
          caption={`Partitions of ${map.timeSlice}`}
          columns={columns}
          rows={data.partitions}
          rowKey={keyOf}
          noun="partition"
          order="-bytes"
          {...(data.matching > data.partitions.length && {
            more: `the largest of ${nounText(data.matching, "partition")}`,
          })}
          empty={
            <Empty title="No partition here is known by name.">
              The server keeps the names of the largest partitions only: choose cells further up.
            </Empty>
          }
        />
      )}
    </Panel>
  );
}

function keyOf({ timeSeriesId, timeBucket, eventBucket }: SizedPartition): string {
  return `${timeBucket} ${eventBucket} ${timeSeriesId}`;
}

function columnsOf(namespace: string, map: WidthMap): readonly Column<SizedPartition>[] {
  const bucketMs = (map.secondsPerColumn / Math.max(1, map.timeBucketsPerColumn)) * 1_000;
  const start = (timeBucket: number): number => Date.parse(map.start) + timeBucket * bucketMs;
  return [
    {
      key: "id",
      head: "Id",
      cell: ({ timeSeriesId, timeBucket }) => (
        <a
          href={hrefOf("/explain", {
            namespace,
            id: timeSeriesId,
            start: new Date(start(timeBucket)).toISOString(),
            end: new Date(start(timeBucket + 1)).toISOString(),
          })}
        >
          <Id>{timeSeriesId}</Id>
        </a>
      ),
      sort: ({ timeSeriesId }) => timeSeriesId,
    },
    {
      key: "bucket",
      head: "Time bucket",
      cell: ({ timeBucket }) => (
        <span title={timeText(start(timeBucket), timeZone.value)}>{timeBucket}</span>
      ),
      sort: ({ timeBucket }) => timeBucket,
      align: "end",
    },
    {
      key: "event",
      head: "Event bucket",
      cell: ({ eventBucket }) => eventBucket,
      sort: ({ eventBucket }) => eventBucket,
      align: "end",
    },
    {
      key: "bytes",
      head: "Size",
      cell: ({ bytes, exact }) => (
        <>
          {!exact && "at least "}
          <Bytes value={bytes} />
        </>
      ),
      sort: ({ bytes }) => Number(bytes),
      align: "end",
    },
    {
      key: "events",
      head: "Events",
      cell: ({ events }) => <Count value={events} noun="event" />,
      sort: ({ events }) => Number(events),
      align: "end",
    },
    {
      key: "share",
      head: "Of the slice",
      cell: ({ share }) => <Percent value={share} />,
      sort: ({ share }) => share,
      align: "end",
    },
    { key: "route", head: "Read from", cell: ({ route }) => route, sort: ({ route }) => route },
    {
      key: "split",
      head: "Split",
      cell: ({ splitState, splitId }) =>
        splitState === undefined ? (
          <span class="none">–</span>
        ) : (
          <a href={`/splits/${encodeURIComponent(namespace)}/${encodeURIComponent(splitId)}`}>
            <StateBadge tone={splitState === "COMPLETED" ? "ok" : "busy"}>{splitState}</StateBadge>
          </a>
        ),
      sort: ({ splitState }) => splitState,
    },
  ];
}
