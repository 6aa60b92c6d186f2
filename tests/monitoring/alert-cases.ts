/**
 * For each alert, series that must fire it and series that must not, as `promtool test rules` takes
 * them: a value each minute, `0+1x9` is 0, 1 … 9, `_` is a missing scrape.
 *
 * The second scenario is the nearest harmless one: the same metric below its limit, for too short a
 * time, or with what excuses it.
 */
export interface AlertCase {
  readonly fires: Scenario;
  readonly silent: Scenario;
}

export interface Scenario {
  /** By series: its values. */
  readonly series: Readonly<Record<string, string>>;
  /** When to look, in minutes. */
  readonly at: number;
}

/** A value that stays. */
function steady(value: number | string): string {
  return `${value}x2000`;
}

const A = 'job="braid",instance="a:1"';
const B = 'job="braid",instance="b:1"';
const PLAYS = `${A},namespace="plays"`;

function limit(setting: string, value: number): Record<string, string> {
  return { [`braid_limit{${A},setting="${setting}"}`]: steady(value) };
}

/** Nothing, then one step at minute 10. */
const STEP = "0x9 1x1990";
const NONE = steady(0);

/** A counter that fires by its first increase. */
function onStep(series: string): AlertCase {
  return {
    fires: { series: { [series]: STEP }, at: 12 },
    // It rose long ago.
    silent: { series: { [series]: STEP }, at: 75 },
  };
}

/** A gauge that fires above a value, after some minutes. */
function above(
  series: string,
  limits: { readonly bad: number; readonly good: number; readonly minutes: number },
  others: Readonly<Record<string, string>> = {},
): AlertCase {
  const at = limits.minutes + 2;
  return {
    fires: { series: { ...others, [series]: steady(limits.bad) }, at },
    silent: { series: { ...others, [series]: steady(limits.good) }, at },
  };
}

/** The buckets of a histogram, of which `slow` a minute are beyond the second bound. */
function buckets(name: string, labels: string, bounds: readonly [number, number], slow: number) {
  const [fast, late] = bounds;
  return {
    [`${name}_bucket{${labels},le="${fast}"}`]: `0+${100 - slow}x2000`,
    [`${name}_bucket{${labels},le="${late}"}`]: "0+100x2000",
    [`${name}_bucket{${labels},le="+Inf"}`]: "0+100x2000",
    [`${name}_count{${labels}}`]: "0+100x2000",
  };
}

function splitsIn(state: string, count: number): Record<string, string> {
  return { [`braid_splits{${PLAYS},state="${state}"}`]: steady(count) };
}

const NOT_MOVING = {
  [`braid_split_moves_total{${PLAYS},state="COMPLETED"}`]: NONE,
  [`braid_split_bytes_total{${PLAYS},stage="read"}`]: NONE,
  [`braid_splits_paused{${PLAYS}}`]: NONE,
};

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  BraidTargetDown: {
    fires: { series: { [`up{${A}}`]: steady(0) }, at: 3 },
    silent: {
      series: { [`up{${A}}`]: "1x9 0 1x1990", 'up{job="other",instance="c:1"}': NONE },
      at: 12,
    },
  },
  BraidAbsent: {
    fires: { series: { [`braid_build_info{${A}}`]: "1 _x100" }, at: 20 },
    silent: { series: { [`braid_build_info{${A}}`]: steady(1) }, at: 20 },
  },
  BraidRestarts: {
    fires: { series: { [`process_start_time_seconds{${A}}`]: "0+100x5 500x1000" }, at: 20 },
    silent: { series: { [`process_start_time_seconds{${A}}`]: "0x5 100x5 200x1000" }, at: 20 },
  },
  BraidVersionsDiffer: {
    fires: {
      series: {
        [`braid_build_info{${A},version="1",build="x"}`]: steady(1),
        [`braid_build_info{${B},version="2",build="y"}`]: steady(1),
      },
      at: 62,
    },
    silent: {
      series: {
        [`braid_build_info{${A},version="1",build="x"}`]: steady(1),
        [`braid_build_info{${B},version="1",build="x"}`]: steady(1),
        'braid_build_info{job="braid-other",instance="c:1",version="2",build="y"}': steady(1),
      },
      at: 62,
    },
  },
  BraidEventLoopBusy: above(`nodejs_eventloop_lag_p99_seconds{${A}}`, {
    bad: 0.2,
    good: 0.05,
    minutes: 10,
  }),
  BraidFilesNearLimit: above(
    `process_open_fds{${A}}`,
    { bad: 900, good: 500, minutes: 5 },
    { [`process_max_fds{${A}}`]: steady(1_024) },
  ),
  BraidClockInDoubt: above(`braid_clock_doubt{${A}}`, { bad: 1, good: 0, minutes: 2 }),
  BraidViewsOld: above(
    `braid_view_age_seconds{${A}}`,
    { bad: 9, good: 4, minutes: 1 },
    limit("view_max_age", 10),
  ),
  BraidSlicesFail: {
    fires: { series: { [`braid_slice_failures_total{${A}}`]: "0+1x2000" }, at: 25 },
    silent: { series: { [`braid_slice_failures_total{${A}}`]: "0x9 2x1990" }, at: 17 },
  },
  BraidDataLoss: onStep(
    `braid_requests_total{${PLAYS},method="ReadEventRecords",code="DATA_LOSS"}`,
  ),
  BraidInternalErrors: onStep(
    `braid_requests_total{${PLAYS},method="ReadEventRecords",code="INTERNAL"}`,
  ),
  BraidStorageUnavailable: {
    fires: {
      series: {
        [`braid_requests_total{${PLAYS},method="WriteEventRecordsSync",code="OK"}`]: "0+97x2000",
        [`braid_requests_total{${PLAYS},method="WriteEventRecordsSync",code="OUTCOME_UNKNOWN"}`]:
          "0+3x2000",
      },
      at: 8,
    },
    // One in thousands.
    silent: {
      series: {
        [`braid_requests_total{${PLAYS},method="WriteEventRecordsSync",code="OK"}`]: "0+997x2000",
        [`braid_requests_total{${PLAYS},method="WriteEventRecordsSync",code="OUTCOME_UNKNOWN"}`]:
          STEP,
      },
      at: 13,
    },
  },
  BraidOverloaded: {
    fires: {
      series: {
        [`braid_requests_total{${PLAYS},method="ReadEventRecords",code="OK"}`]: "0+90x2000",
        [`braid_requests_total{${PLAYS},method="ReadEventRecords",code="OVERLOADED"}`]: "0+10x2000",
      },
      at: 10,
    },
    silent: {
      series: {
        [`braid_requests_total{${PLAYS},method="ReadEventRecords",code="OK"}`]: "0+990x2000",
        [`braid_requests_total{${PLAYS},method="ReadEventRecords",code="OVERLOADED"}`]: "0+10x2000",
      },
      at: 10,
    },
  },
  BraidNearLimit: {
    fires: {
      series: {
        ...limit("server.requests_in_flight", 100),
        ...limit("server.connections", 100),
        [`braid_requests_in_flight{${A}}`]: steady(10),
        [`braid_connections{${A}}`]: steady(95),
      },
      at: 7,
    },
    silent: {
      series: {
        ...limit("server.requests_in_flight", 100),
        ...limit("server.connections", 100),
        [`braid_requests_in_flight{${A}}`]: steady(80),
        [`braid_connections{${A}}`]: steady(10),
      },
      at: 7,
    },
  },
  BraidReadsSlow: {
    fires: {
      series: {
        ...buckets("braid_read_seconds", `${PLAYS},route="original"`, [0.1, 1], 10),
        [`braid_read_slo_seconds{${PLAYS},bound="target"}`]: steady(0.5),
        [`braid_read_slo_seconds{${PLAYS},bound="max"}`]: steady(1),
      },
      at: 30,
    },
    silent: {
      series: {
        ...buckets("braid_read_seconds", `${PLAYS},route="original"`, [0.1, 1], 0),
        [`braid_read_slo_seconds{${PLAYS},bound="target"}`]: steady(0.5),
      },
      at: 30,
    },
  },
  BraidEventsLost: onStep(
    `braid_write_queue_dropped_events_total{${PLAYS},code="STORAGE_UNAVAILABLE"}`,
  ),
  BraidEventsRefused: {
    fires: {
      series: {
        [`braid_refused_events_total{${PLAYS},code="EVENT_TOO_OLD"}`]: "0+10x2000",
        [`braid_refused_events_total{${PLAYS},code="ID_BLOCKED"}`]: NONE,
        [`braid_written_events_total{${PLAYS}}`]: "0+90x2000",
      },
      at: 15,
    },
    silent: {
      series: {
        [`braid_refused_events_total{${PLAYS},code="EVENT_TOO_OLD"}`]: "0+1x2000",
        [`braid_refused_events_total{${PLAYS},code="ID_BLOCKED"}`]: "0+50x2000",
        [`braid_written_events_total{${PLAYS}}`]: "0+50x2000",
      },
      at: 15,
    },
  },
  BraidDiskLow: above(
    `braid_disk_free_bytes{${A}}`,
    { bad: 300, good: 500, minutes: 5 },
    limit("server.free_space_min", 100),
  ),
  BraidDiskFillsUp: {
    fires: {
      series: {
        [`braid_disk_free_bytes{${A}}`]: "100000-60x2000",
        ...limit("server.free_space_min", 100),
      },
      at: 500,
    },
    silent: {
      series: {
        [`braid_disk_free_bytes{${A}}`]: "100000-5x2000",
        ...limit("server.free_space_min", 100),
      },
      at: 500,
    },
  },
  BraidDiskReadOnly: above(`braid_disk_read_only{${A}}`, { bad: 1, good: 0, minutes: 0 }),
  BraidTablesDamaged: above(`braid_engine_damaged_tables_total{${A}}`, {
    bad: 1,
    good: 0,
    minutes: 0,
  }),
  BraidCommitsSlow: {
    fires: { series: buckets("braid_engine_commit_seconds", A, [0.1, 0.5], 10), at: 30 },
    silent: { series: buckets("braid_engine_commit_seconds", A, [0.1, 0.5], 0), at: 30 },
  },
  BraidCassandraNodesDown: above(
    `braid_engine_nodes_up{${A}}`,
    { bad: 2, good: 3, minutes: 5 },
    { [`braid_engine_nodes{${A}}`]: steady(3) },
  ),
  BraidStatementsFail: {
    fires: {
      series: {
        [`braid_engine_statement_seconds_count{${A},kind="read",outcome="ok"}`]: "0+90x2000",
        [`braid_engine_statement_seconds_count{${A},kind="read",outcome="failed"}`]: "0+10x2000",
      },
      at: 10,
    },
    silent: {
      series: {
        [`braid_engine_statement_seconds_count{${A},kind="read",outcome="ok"}`]: "0+9990x2000",
        [`braid_engine_statement_seconds_count{${A},kind="read",outcome="failed"}`]: "0+10x2000",
      },
      at: 10,
    },
  },
  BraidCassandraReadsQueue: above(`braid_cassandra_pending_reads{${A},node="n:9042"}`, {
    bad: 50,
    good: 20,
    minutes: 5,
  }),
  BraidCassandraGc: {
    fires: {
      series: { [`braid_cassandra_gc_seconds_total{${A},node="n:9042"}`]: "0+12x2000" },
      at: 17,
    },
    // The node started again.
    silent: {
      series: { [`braid_cassandra_gc_seconds_total{${A},node="n:9042"}`]: "9000x5 0+1x2000" },
      at: 17,
    },
  },
  BraidCassandraBusy: above(`braid_cassandra_cpu_ratio{${A},node="n:9042"}`, {
    bad: 0.95,
    good: 0.7,
    minutes: 15,
  }),
  BraidDeadLetters: onStep(`braid_queue_dead_letters_total{${A}}`),
  BraidDetectionsDropped: {
    fires: { series: { [`braid_queue_dropped_total{${A},reason="full"}`]: STEP }, at: 12 },
    // A process that stops drops what it could not send.
    silent: { series: { [`braid_queue_dropped_total{${A},reason="closed"}`]: STEP }, at: 12 },
  },
  BraidQueueLag: {
    fires: { series: { [`braid_queue_lag{${A}}`]: "900+50x2000" }, at: 30 },
    // As many, but fewer and fewer.
    silent: { series: { [`braid_queue_lag{${A}}`]: "90000-50x1000" }, at: 30 },
  },
  BraidNoWorker: {
    fires: {
      series: { [`braid_detections_total{${PLAYS},outcome="emitted"}`]: "0+1x2000" },
      at: 20,
    },
    silent: {
      series: {
        [`braid_detections_total{${PLAYS},outcome="emitted"}`]: "0+1x2000",
        [`braid_detections_handled_total{${B},namespace="plays",outcome="known"}`]: "0+1x2000",
      },
      at: 20,
    },
  },
  BraidSplitsFailed: {
    fires: { series: splitsIn("FAILED", 1), at: 7 },
    silent: { series: { ...splitsIn("FAILED", 0), ...splitsIn("PARKED", 3) }, at: 7 },
  },
  BraidSplitsStuck: {
    fires: { series: { ...splitsIn("SPLITTING", 1), ...NOT_MOVING }, at: 70 },
    silent: {
      series: {
        ...splitsIn("SPLITTING", 1),
        ...NOT_MOVING,
        // One large copy moves no split for long.
        [`braid_split_bytes_total{${PLAYS},stage="read"}`]: "0+1000x2000",
      },
      at: 70,
    },
  },
  BraidSplitsPaused: {
    fires: { series: { [`braid_splits_paused{${PLAYS}}`]: steady(1) }, at: 740 },
    silent: { series: { [`braid_splits_paused{${PLAYS}}`]: steady(1) }, at: 700 },
  },
  BraidSplitEntriesUnreadable: above(`braid_split_work_unreadable_total{${A}}`, {
    bad: 1,
    good: 0,
    minutes: 0,
  }),
  BraidWalksBehind: above(`braid_walk_lag_seconds{${PLAYS}}`, {
    bad: 200_000,
    good: 90_000,
    minutes: 60,
  }),
  BraidTuningTakenBack: onStep(`braid_tunings_total{${PLAYS},outcome="TAKEN_BACK"}`),
  BraidKillSwitchOn: {
    fires: {
      series: { [`braid_kill_switch{${A}}`]: steady(1), [`braid_kill_switch{${B}}`]: NONE },
      at: 12,
    },
    silent: { series: { [`braid_kill_switch{${A}}`]: "0x3 1x5 0x1990" }, at: 12 },
  },
  BraidSplitDiffers: onStep(`braid_compare_bytes_total{${PLAYS},result="differ"}`),
  BraidReadModeFellBack: {
    fires: {
      series: {
        [`braid_read_mode{${PLAYS},mode="SERVE"}`]: "1x9 0x1990",
        [`braid_read_mode{${PLAYS},mode="SHADOW"}`]: "0x9 1x1990",
      },
      at: 12,
    },
    // A new namespace is in SHADOW too, and another one serves.
    silent: {
      series: {
        [`braid_read_mode{${PLAYS},mode="SERVE"}`]: NONE,
        [`braid_read_mode{${PLAYS},mode="SHADOW"}`]: steady(1),
        [`braid_read_mode{${A},namespace="other",mode="SERVE"}`]: steady(1),
        [`braid_read_mode{${A},namespace="other",mode="SHADOW"}`]: NONE,
      },
      at: 12,
    },
  },
  BraidFallbacks: {
    fires: { series: { [`braid_fallbacks_total{${PLAYS},reason="integrity"}`]: STEP }, at: 18 },
    silent: { series: { [`braid_fallbacks_total{${PLAYS},reason="unconfirmed"}`]: STEP }, at: 18 },
  },
};
