/** Names the split of a command: by its short id, or by flags for its partition. */
import type { Command } from "commander";
import type { Partition, SplitTarget } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";

export interface LocationFlags {
  readonly slice?: string;
  readonly id?: string;
  readonly timeBucket?: string;
  readonly eventBucket?: string;
}

export function addLocationFlags(command: Command): Command {
  for (const argument of command.registeredArguments) {
    if (argument.name() === "split") argument.description = SPLIT_ARGUMENT;
  }
  return command
    .option("--slice <name>", "time slice, such as data_20261115")
    .option("--id <id>", "time series id")
    .option("--time-bucket <number>", "time bucket in the slice, from 0")
    .option("--event-bucket <number>", "event bucket (0 if not given)");
}

const SPLIT_ARGUMENT =
  "its short id, as `braid splits ls` shows it; or name its partition by --slice, --id and --time-bucket";

/** An id as in the first column of `braid splits ls`, for examples. */
export const EXAMPLE_SPLIT = "c11psr2pyb";

/** The flags of a partition, for examples. */
export const LOCATION_ARGUMENTS = "--slice data_20261115 --id profile:123 --time-bucket 7";

/** Whether a flag names a partition; `--slice` alone does not. */
export function isPartitionNamed({ id, timeBucket, eventBucket }: LocationFlags): boolean {
  return id !== undefined || timeBucket !== undefined || eventBucket !== undefined;
}

/** The split that the command line names, in one of the two ways. */
export function splitTarget(splitId: string | undefined, flags: LocationFlags): SplitTarget {
  if (splitId === undefined) return partitionOf(flags);
  if (isPartitionNamed(flags) || flags.slice !== undefined) {
    throw new UsageError("name the split by its id or by flags, not by both");
  }
  return { splitId };
}

function partitionOf(flags: LocationFlags): Partition {
  const { slice, id, timeBucket, eventBucket = "0" } = flags;
  if (slice === undefined || id === undefined || timeBucket === undefined) {
    const missing = Object.entries({ "--slice": slice, "--id": id, "--time-bucket": timeBucket })
      .filter(([, value]) => value === undefined)
      .map(([flag]) => flag);
    throw new UsageError(
      `which partition? ${missing.join(", ")} not given; give all of ${LOCATION_ARGUMENTS}, ` +
        "or the id of its split, which `braid splits ls` shows",
    );
  }
  return {
    timeSlice: slice,
    timeSeriesId: id,
    timeBucket: bucketOf("--time-bucket", timeBucket),
    eventBucket: bucketOf("--event-bucket", eventBucket),
  };
}

function bucketOf(flag: string, text: string): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= 0xffff_ffff) return number;
  throw new UsageError(`${flag} ${text}: not the number of a bucket; they count from 0`);
}
