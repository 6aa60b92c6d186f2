/** `braid explain`: how a read is served, partition by partition. */
import { Option } from "commander";
import type { Command } from "commander";
import type { ExplainedRead } from "../../client/connect.ts";
import { line, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { count, millis, size } from "./print.ts";
import { addQueryFlags, queryOf } from "./query-flags.ts";
import type { QueryFlags } from "./query-flags.ts";
import type { Terminal } from "./terminal.ts";

/** More events than any interval holds: the read ends at the end of the interval. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export function addExplain(program: Command, terminal: Terminal): void {
  addQueryFlags(program.command("explain <namespace> <id>"))
    .addOption(
      new Option("--all", "read the whole interval, not only the first page").conflicts([
        "limit",
        "pageSize",
      ]),
    )
    .description("show how a read is served: slices, partitions, and the route of each")
    .addHelpText("after", "\nExample:\n  $ braid explain plays profile:123 --from -1h --all")
    .action(async (namespace: string, id: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & QueryFlags & { all?: true }>();
      const query = await queryOf(id, options, terminal);
      const asked = options.all === true ? { ...query, totalRecordLimit: NO_LIMIT } : query;
      const explained = await clientFor(options, terminal).explain(namespace, asked);
      const blocks = describe(explained);
      await emit(terminal, options, { value: explained, records: explained.partitions, blocks });
    });
}

function describe({ slices, partitions, totals }: ExplainedRead): Block[] {
  const rows = partitions.map((partition) => [
    partition.timeSlice,
    count(partition.timeBucket),
    count(partition.eventBucket),
    partition.read ? partition.route : "NOT READ",
    count(partition.parts),
    size(partition.bytes),
    count(partition.events),
    millis(partition.millis),
    partition.why,
  ]);
  const heads = [
    "SLICE",
    ">BUCKET",
    ">EVENT BUCKET",
    "=ROUTE",
    ">PARTS",
    ">SIZE",
    ">EVENTS",
    ">TIME",
    "WHY",
  ];
  const touched = slices.map(
    ({ timeSlice, timeBuckets }) => `${timeSlice} (${count(timeBuckets)})`,
  );
  return [
    line(`slices (time buckets): ${touched.join(", ") || "none"}`),
    ...(rows.length > 0 ? [table(heads, rows)] : []),
    line(
      `${count(totals.partitionsRead)} of ${count(totals.partitions)} partitions read, ` +
        `${size(totals.bytes)}, ${count(totals.events)} events, ` +
        `${count(totals.eventsReturned)} returned, ${millis(totals.millis)}`,
    ),
  ];
}
