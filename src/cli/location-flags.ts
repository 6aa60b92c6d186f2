/** Which partition a command is about, from the command line. */
import type { Command } from "commander";
import type { Partition } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";

export interface LocationFlags {
  readonly slice?: string;
  readonly id?: string;
  readonly timeBucket?: string;
  readonly eventBucket?: string;
}

export function addLocationFlags(command: Command): Command {
  return command
    .option("--slice <name>", "time slice, such as data_20261115")
    .option("--id <id>", "time series id")
    .option("--time-bucket <number>", "time bucket in the slice, from 0")
    .option("--event-bucket <number>", "event bucket (0 if not given)");
}

/** The arguments that name a partition again, for hints. */
export const LOCATION_ARGUMENTS = "--slice data_20261115 --id profile:123 --time-bucket 7";

export function partitionOf(flags: LocationFlags): Partition {
  const { slice, id, timeBucket, eventBucket = "0" } = flags;
  if (slice === undefined || id === undefined || timeBucket === undefined) {
    const missing = Object.entries({ "--slice": slice, "--id": id, "--time-bucket": timeBucket })
      .filter(([, value]) => value === undefined)
      .map(([flag]) => flag);
    throw new UsageError(
      `which partition? ${missing.join(", ")} not given; such as ${LOCATION_ARGUMENTS}`,
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
