/** What operator requests have in common: which split, who asks, and why. */
import type { Partition } from "../../gen/braid/v1/split_pb.js";
import type { Problems } from "../../lib/problems.ts";
import { isSplitId } from "../../records/split-ids.ts";
import type { SplitLocation, OperatorRequest } from "../../splits/use-cases.ts";
import { OPERATOR_HEADER } from "../caller.ts";
import type { Caller } from "../caller.ts";
import { namespaceIn } from "./request-fields.ts";
import { CONTRACT_EVENT_LIMITS } from "../../wire/event-limits.ts";

const REASON_CHARACTERS_MAX = 1_024;
/** No slice has a longer name. */
const TIME_SLICE_CHARACTERS_MAX = 64;

/** The name in histories when the caller gives none. */
const UNNAMED_OPERATOR = "operator";
/** Fits one line of a terminal and of a log: no control characters, no invisible ones. */
const OPERATOR_FORM = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

/** Who asks, as claimed, and why. Adds what is wrong with either to `problems`. */
export function operatorRequestOf(
  reason: string,
  caller: Caller,
  problems: Problems,
): OperatorRequest {
  const { length } = reason;
  if (length > REASON_CHARACTERS_MAX) {
    problems.add(
      `reason has ${length} characters, the limit is ${REASON_CHARACTERS_MAX}`,
      "reason",
    );
  }
  return { by: operatorOf(caller, problems), reason };
}

function operatorOf({ operator }: Caller, problems: Problems): string {
  if (operator === undefined || operator === "") return UNNAMED_OPERATOR;
  if (!OPERATOR_FORM.test(operator)) {
    problems.add(`${OPERATOR_HEADER} must be at most 128 printable ASCII characters`);
  }
  return operator;
}

/** A split as a request names it. */
export interface NamedSplit {
  readonly namespace: string;
  readonly partition?: Partition | undefined;
  readonly splitId: string;
}

/** Finds a split's partition by its id. */
export type Locate = (namespace: string, splitId: string) => Promise<SplitLocation>;

/**
 * The split that a request names, by partition or by id. Adds what is wrong with the name to
 * `problems`. The id is looked up only when the result is called, so that a request with problems
 * does no work.
 */
export function splitNamed(
  request: NamedSplit,
  problems: Problems,
): (locate: Locate) => Promise<SplitLocation> {
  const namespace = namespaceIn(request, problems);
  const { partition, splitId } = request;
  if (partition !== undefined && splitId !== "") {
    problems.add("give partition or splitId, not both");
  }
  if (partition === undefined && splitId === "" && problems.sound("splitId")) {
    problems.add("partition is missing; give it, or splitId as ListSplits shows it", "partition");
  }
  if (splitId !== "" && !isSplitId(splitId)) {
    problems.add(
      "splitId is not the id of a split (for example c11psr2pyb); ListSplits shows the ids",
    );
  }
  const location = partition && locationOf(namespace, partition, problems);
  return (locate) => (location ? Promise.resolve(location) : locate(namespace, splitId));
}

function locationOf(namespace: string, partition: Partition, problems: Problems): SplitLocation {
  const { timeSlice, timeSeriesId, timeBucket, eventBucket } = partition;
  const idBytesMax = CONTRACT_EVENT_LIMITS.seriesIdBytesMax;
  const idBytes = Buffer.byteLength(timeSeriesId);
  const idField = "partition.timeSeriesId";
  if (idBytes === 0) problems.add(`${idField} is missing`, idField);
  if (idBytes > idBytesMax) {
    problems.add(`${idField} has ${idBytes} bytes, the limit is ${idBytesMax}`, idField);
  }
  if (timeSlice === "") problems.add("partition.timeSlice is missing", "partition.timeSlice");
  checkTimeSlice(timeSlice, "partition.timeSlice", problems);
  return { namespace, timeSlice, seriesId: timeSeriesId, timeBucket, eventBucket };
}

export function checkTimeSlice(name: string, field: string, problems: Problems): void {
  if (name.length <= TIME_SLICE_CHARACTERS_MAX) return;
  problems.add(`${field} is longer than any name of a slice (for example data_20260328)`, field);
}
