/** The example of GetWidthMap: see `examples.ts`. */
import type { Example } from "./example.ts";

export const WIDTH_MAP_EXAMPLE: Example = {
  request: {
    namespace: "plays",
    timeSlice: "data_20261115",
    rows: "SIZE",
    measure: "PARTITIONS",
    columnsMax: 250,
  },
  answer: {
    timeSlice: "data_20261115",
    start: "2026-11-15T00:00:00Z",
    end: "2026-11-16T00:00:00Z",
    rowsBy: "SIZE",
    measure: "PARTITIONS",
    columnCount: 24,
    timeBucketsPerColumn: 1,
    secondsPerColumn: 3_600,
    rows: [
      { from: 8_388_608, upTo: 11_863_283 },
      { from: 11_863_283, upTo: 16_777_216 },
    ],
    cells: [
      {
        column: 7,
        row: 0,
        value: "19",
        partitions: "19",
        largestBytes: "9437184",
        splits: [],
      },
      {
        column: 7,
        row: 1,
        value: "1",
        partitions: "1",
        largestBytes: "12582912",
        splits: [{ state: "COMPLETED", count: 1 }],
      },
    ],
    densityMinBytes: "2097152",
    densityMaxBytes: "10485760",
    limitBytes: "10485760",
    partitions: "20",
    bytes: "171966464",
    events: "7200",
    overLimit: "1",
    overLimitMore: false,
    overLimitSplit: "1",
    belowTarget: 0,
    aboveTarget: 0.05,
    sentence:
      "1 partition over 10MiB: profile:123, 1 of them split; 5 % above the target of 2MiB to 10MiB.",
    asOf: "2026-11-16T00:12:00Z",
    endTime: "2026-11-16T00:12:03Z",
    source: "WALK",
    sealed: true,
    complete: true,
    sampleShare: 1,
    excludes: [],
  },
};
