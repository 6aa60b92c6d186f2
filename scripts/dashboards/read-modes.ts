/** Whether reads use splits, what comparisons say, and what a read pays to find out. */
import { chart, figure, states } from "./panel.ts";
import type { Row } from "./panel.ts";
import { maxBy, quantileBy, rateBy, riseBy, series, shareOfLimit, sumBy } from "./promql.ts";

/** All but those that are normal for a new split. */
const BAD = 'reason!~"unconfirmed|withdrawn"';

export const READ_MODES: readonly Row[] = [
  {
    title: "Modes",
    panels: [
      states("Read mode of each namespace", {
        unit: "none",
        description:
          "A namespace advances by itself on evidence: braid modes get says what is missing. A step from SERVE back to SHADOW means that a split differed from its original.",
        queries: [
          {
            expr:
              maxBy("namespace", "braid_read_mode", 'mode="SHADOW"') +
              ` + 2 * ${maxBy("namespace", "braid_read_mode", 'mode="COMPARE"')}` +
              ` + 3 * ${maxBy("namespace", "braid_read_mode", 'mode="SERVE"')}`,
            legend: "{{namespace}}",
          },
        ],
        words: {
          "0": ["OFF", "text"],
          "1": ["SHADOW", "blue"],
          "2": ["COMPARE", "purple"],
          "3": ["SERVE", "green"],
        },
        alerts: ["BraidReadModeFellBack"],
      }),
      states("Kill switch at each server", {
        unit: "none",
        description:
          "On: this server reads originals only, because an operator says so or because it cannot read the switch.",
        queries: [{ expr: maxBy("instance", "braid_kill_switch"), legend: "{{instance}}" }],
        thresholds: [{ from: 1, color: "orange" }],
        words: { "0": ["off", "green"], "1": ["on", "orange"] },
        alerts: ["BraidKillSwitchOn"],
      }),
      figure("Pages from splits", {
        unit: "percentunit",
        description: "Share of pages that were read from a split at least in part.",
        queries: [
          {
            expr: `(sum(rate(${series("braid_read_seconds_count", 'route="split"')}[$__rate_interval])) or vector(0)) / (sum(rate(${series("braid_read_seconds_count")}[$__rate_interval])) > 0)`,
            legend: "from splits",
          },
        ],
      }),
      chart("Pages by route", {
        unit: "cps",
        description:
          "split: at least one partition was read from a split. wide_original: an original that is wide.",
        queries: [{ expr: rateBy("route", "braid_read_seconds_count"), legend: "{{route}}" }],
        width: 20,
      }),
    ],
  },
  {
    title: "Evidence",
    panels: [
      chart("Bytes that match", {
        unit: "Bps",
        description: "Bytes of splits that were compared with their originals and are equal.",
        queries: [
          {
            expr: rateBy("namespace", "braid_compare_bytes_total", 'result="match"'),
            legend: "{{namespace}}",
          },
        ],
      }),
      chart("Bytes that differ", {
        unit: "bytes",
        description:
          "In the time of one point. One byte is too many: the split is quarantined, and the mode falls back if a recheck confirms it.",
        queries: [
          {
            expr: riseBy("namespace", "braid_compare_bytes_total", 'result="differ"'),
            legend: "{{namespace}}",
          },
        ],
        thresholds: [{ from: 1, color: "red" }],
        alerts: ["BraidSplitDiffers", "BraidReadModeFellBack"],
      }),
      chart("Comparisons by result", {
        unit: "cps",
        description:
          "integrity_error: the split could not be read. failed: storage failed. skipped: too many were waiting.",
        queries: [{ expr: rateBy("result", "braid_comparisons_total"), legend: "{{result}}" }],
        alerts: ["BraidSplitDiffers"],
      }),
      chart("Reads that fell back to the original", {
        unit: "cps",
        description:
          "There is a split and the read did not trust it. Answers stay right; they are slower.",
        queries: [{ expr: rateBy("reason", "braid_fallbacks_total", BAD), legend: "{{reason}}" }],
        alerts: ["BraidFallbacks"],
      }),
      chart("Reads that found a new or withdrawn split", {
        unit: "cps",
        description:
          "unconfirmed: no second read has agreed yet. withdrawn: mode, switch or route changed during the read. Both are normal.",
        queries: [
          {
            expr: rateBy("reason", "braid_fallbacks_total", 'reason=~"unconfirmed|withdrawn"'),
            legend: "{{reason}}",
          },
        ],
      }),
    ],
  },
  {
    title: "Filters",
    panels: [
      chart("Filter answers", {
        unit: "cps",
        description:
          "none: no partition of the slice is split. miss: this one is not. hit: it probably is. not_loaded: the read used the original.",
        queries: [{ expr: rateBy("result", "braid_filter_checks_total"), legend: "{{result}}" }],
      }),
      chart("False positives among hits", {
        unit: "percentunit",
        description: "Hits of partitions that have no route; each costs one read of the catalog.",
        queries: [
          {
            expr: `${rateBy("namespace", "braid_filter_false_positives_total")} / (${rateBy("namespace", "braid_filter_checks_total", 'result="hit"')} > 0)`,
            legend: "{{namespace}}",
          },
        ],
      }),
      chart("Time of a filter check, 99th percentile", {
        unit: "s",
        description: "Every read pays it. Microseconds.",
        queries: [{ expr: quantileBy(0.99, "", "braid_filter_check_seconds"), legend: "check" }],
      }),
      chart("Split partitions in filters", {
        unit: "short",
        description: "The largest over the servers, all slices together.",
        queries: [
          {
            expr: `max by (namespace) (${sumBy("namespace, instance", "braid_filter_entries")})`,
            legend: "{{namespace}}",
          },
        ],
      }),
      chart("Memory of filters", {
        unit: "bytes",
        description: "Of each server.",
        queries: [{ expr: sumBy("instance", "braid_filter_bytes"), legend: "{{instance}}" }],
      }),
    ],
  },
  {
    title: "Routes",
    panels: [
      chart("Routes asked for", {
        unit: "cps",
        description: "Many misses while the memory is full: raise splits.route_memory.",
        queries: [{ expr: rateBy("result", "braid_route_cache_total"), legend: "{{result}}" }],
      }),
      chart("Memory of routes, share of splits.route_memory", {
        unit: "percentunit",
        max: 1,
        description: "Full is normal; full with many misses is too small.",
        queries: [
          {
            expr: shareOfLimit("braid_route_cache_bytes", "splits.route_memory"),
            legend: "{{instance}}",
          },
        ],
      }),
      chart("Time to fetch a route, 99th percentile", {
        unit: "s",
        description: "On a miss, from the catalog.",
        queries: [
          {
            expr: quantileBy(0.99, "namespace", "braid_route_fetch_seconds"),
            legend: "{{namespace}}",
          },
        ],
      }),
    ],
  },
];
