/** GetWidthMap: the partitions of a slice as a grid. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import { GetWidthMapRequest_Measure, WidthMap_Rows } from "../../gen/braid/v1/width_map_pb.js";
import type { WidthMap_CellSchema, WidthMapSchema } from "../../gen/braid/v1/width_map_pb.js";
import type { Problems } from "../../lib/problems.ts";
import type {
  MapCell,
  MapMeasure,
  MapRows,
  ShownWidthMap,
  WidthMapQuery,
  WidthMaps,
} from "../../sizes/width-maps.ts";
import { nameOf } from "./enum-names.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn } from "./request-fields.ts";
import { timeOfMicros } from "./times.ts";

export type WidthMapUseCase = Pick<WidthMaps, "get">;

const ROWS: ReadonlyMap<WidthMap_Rows, MapRows> = new Map([
  [WidthMap_Rows.SIZE, "SIZE"],
  [WidthMap_Rows.ID_HASH, "ID_HASH"],
]);
const MEASURES: ReadonlyMap<GetWidthMapRequest_Measure, MapMeasure> = new Map([
  [GetWidthMapRequest_Measure.PARTITIONS, "PARTITIONS"],
  [GetWidthMapRequest_Measure.BYTES, "BYTES"],
  [GetWidthMapRequest_Measure.EVENTS, "EVENTS"],
]);
const COLUMNS = { usual: 250, max: 500 } as const;

export function widthMapMethods(maps: WidthMapUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.getWidthMap,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: namespaceIn(request, problems),
        query: {
          timeSlice: request.timeSlice,
          rows: nameOf(request.rows, ROWS, "rows", problems) ?? "SIZE",
          measure: nameOf(request.measure, MEASURES, "measure", problems) ?? "PARTITIONS",
          columnsMax: columnsIn(request.columnsMax, problems),
        } satisfies WidthMapQuery,
      }),
      handle: async ({ namespace, query }) => mapMessage(await maps.get(namespace, query), query),
    }),
  ];
}

function columnsIn(columnsMax: number, problems: Problems): number {
  if (columnsMax > COLUMNS.max) {
    problems.add(
      `columnsMax (${columnsMax}) must be from 1 to ${COLUMNS.max}, or 0 for ${COLUMNS.usual}`,
      "columnsMax",
    );
  }
  return columnsMax === 0 ? COLUMNS.usual : columnsMax;
}

function mapMessage(
  map: ShownWidthMap,
  query: WidthMapQuery,
): MessageInitShape<typeof WidthMapSchema> {
  const { slice, walk, shape, target, shares, over } = map;
  return {
    timeSlice: slice.name,
    start: timeOfMicros(slice.start),
    end: timeOfMicros(slice.end),
    rowsBy: WidthMap_Rows[query.rows],
    measure: GetWidthMapRequest_Measure[query.measure],
    columnCount: shape.columns,
    timeBucketsPerColumn: shape.bucketsPerColumn,
    secondsPerColumn: shape.bucketsPerColumn * slice.timePartition.secondsPerTimeBucket,
    rows: map.rows.map(({ from, upTo }) => (upTo === Infinity ? { from } : { from, upTo })),
    cells: map.cells.map(cellMessage),
    densityMinBytes: BigInt(target.minBytes),
    densityMaxBytes: BigInt(target.maxBytes),
    limitBytes: BigInt(target.limitBytes),
    partitions: BigInt(walk?.sizes.count ?? 0),
    bytes: BigInt(walk?.sizes.total ?? 0),
    events: BigInt(walk?.totalEvents ?? 0),
    overLimit: BigInt(over.count),
    overLimitMore: over.more,
    overLimitSplit: BigInt(over.split),
    belowTarget: shares.below,
    aboveTarget: shares.above,
    sentence: map.sentence,
    ...(walk && { asOf: timeOfMicros(walk.asOf), endTime: timeOfMicros(walk.endedAt) }),
    source: "WALK",
    sealed: walk?.sealed ?? false,
    complete: walk?.complete ?? false,
    sampleShare: walk?.sampleShare ?? 0,
    excludes: [...map.excludes],
  };
}

function cellMessage(cell: MapCell): MessageInitShape<typeof WidthMap_CellSchema> {
  const { column, row, value, partitions, largestBytes, splits } = cell;
  return {
    column,
    row,
    value: BigInt(value),
    partitions: BigInt(partitions),
    largestBytes: BigInt(largestBytes),
    splits: [...splits].map(([state, count]) => ({ state: Split_State[state], count })),
  };
}
