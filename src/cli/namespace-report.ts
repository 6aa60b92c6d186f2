/** Shows a namespace to people. */
import type {
  DeletedNamespace,
  Namespace,
  ProvisionedPlan,
  TimePartition,
} from "../../client/connect.ts";
import { pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { count, duration, millis, size } from "./print.ts";
import { relative, withRelative } from "./relative-time.ts";

/** Its configuration, one line per part. */
export function describeNamespace(shown: Namespace, nowMicros: number): Block {
  const { namespace, id, config, epoch, version, createTime, provisioned } = shown;
  const { timePartition: layout, retention, slos, widePartition: wide, tuning } = config;
  const rows: [string, string][] = [
    ["namespace", namespace],
    ["id", id],
    ["created", withRelative(createTime, nowMicros)],
    ["version", `${version}, epoch ${epoch}`],
    [
      "partitions",
      `slices of ${seconds(layout.secondsPerTimeSlice)}, buckets of ` +
        `${seconds(layout.secondsPerTimeBucket)}, ${count(layout.eventBuckets)} ` +
        (layout.eventBuckets === 1 ? "event bucket" : "event buckets"),
    ],
    [
      "accepts",
      `events at most ${duration(config.acceptLimit)} old, ${duration(config.futureLimit)} early`,
    ],
    [
      "retention",
      `closed after ${duration(retention.closeAfter)}, deleted after ${duration(retention.deleteAfter)}`,
    ],
    ["reads", `target ${duration(slos.read.target)}, at most ${duration(slos.read.max)}`],
    ["writes", `target ${duration(slos.write.target)}, at most ${duration(slos.write.max)}`],
    ["consistency", config.consistency],
    [
      "wide",
      wide.detect
        ? `over ${size(wide.bytesMax)} or ${count(wide.eventsMax)} events; ` +
          `parts of ${size(wide.targetBytes)}, ${wide.layout}, ${wide.strategy}` +
          (wide.whenHarmless === "LEAVE" ? "; left alone while reads meet their target" : "")
        : "not detected",
    ],
    ["splits", splitsLine(shown, nowMicros)],
    [
      "tuning",
      `${tuning.mode}, ${size(tuning.densityMinBytes)} to ${size(tuning.densityMaxBytes)}`,
    ],
  ];
  if (provisioned !== undefined) {
    rows.push([
      "expected",
      `${expectedText(provisioned, layout)}; planned ${withRelative(provisioned.planTime, nowMicros)}`,
    ]);
  }
  return pairs(rows);
}

/** What its creation from a workload expected. */
function expectedText({ plan }: ProvisionedPlan, now: TimePartition): string {
  const { p50Bytes, p99Bytes, partitionsPerRead, timePartition: then } = plan;
  const same =
    then.secondsPerTimeSlice === now.secondsPerTimeSlice &&
    then.secondsPerTimeBucket === now.secondsPerTimeBucket &&
    then.eventBuckets === now.eventBuckets;
  return (
    `partitions of p50 ${size(Math.round(p50Bytes.mid))}, p99 ${size(Math.round(p99Bytes.mid))}; ` +
    `${Number(partitionsPerRead.mid.toPrecision(2))} partitions a read` +
    (same ? "" : ", before the partitioning was changed")
  );
}

function splitsLine({ readMode, splitsPause }: Namespace, nowMicros: number): string {
  if (splitsPause === undefined) return `read mode ${readMode}`;
  const { since, by, reason } = splitsPause;
  const why = reason === "" ? "" : `: ${reason}`;
  return `read mode ${readMode}; paused by ${by} at ${withRelative(since, nowMicros)}${why}`;
}

/** One line per namespace. */
export function listNamespaces(namespaces: readonly Namespace[], nowMicros: number): Block {
  return table(
    [
      "=NAMESPACE",
      ">SLICE",
      ">BUCKET",
      "?>EVENT BUCKETS",
      ">ACCEPT",
      "?>CLOSE",
      "?>DELETE",
      "=MODE",
      "=CREATED",
    ],
    namespaces.map(({ namespace, config, createTime, readMode, splitsPaused }) => [
      namespace,
      seconds(config.timePartition.secondsPerTimeSlice),
      seconds(config.timePartition.secondsPerTimeBucket),
      count(config.timePartition.eventBuckets),
      duration(config.acceptLimit),
      duration(config.retention.closeAfter),
      duration(config.retention.deleteAfter),
      splitsPaused ? `${readMode}, paused` : readMode,
      relative(createTime, nowMicros),
    ]),
  );
}

/** One line per deleted namespace. */
export function listDeletedNamespaces(
  deleted: readonly DeletedNamespace[],
  nowMicros: number,
): Block {
  return table(
    ["=NAMESPACE", "=ID", "=DELETED", "=RESTORABLE UNTIL", ">SIZE", "?>EVENTS", "?=BY", "?=REASON"],
    deleted.map((each) => [
      each.namespace,
      each.id,
      relative(each.deleteTime, nowMicros),
      restorable(each, nowMicros),
      each.bytes === undefined ? "" : size(each.bytes),
      each.events === undefined ? "" : count(each.events),
      each.deletedBy,
      each.reason,
    ]),
  );
}

function restorable({ purged, restorableUntil }: DeletedNamespace, nowMicros: number): string {
  if (purged) return "never, it is being removed";
  if (restorableUntil === undefined) return "the clock is in doubt";
  return withRelative(restorableUntil, nowMicros);
}

function seconds(number: number): string {
  return millis(number * 1000);
}
