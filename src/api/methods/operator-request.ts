/** What requests of operators have in common: which partition, who asks, and why. */
import type { Partition } from "../../gen/braid/v1/split_pb.js";
import { Problems } from "../../lib/problems.ts";
import type { SplitLocation, OperatorRequest } from "../../splits/use-cases.ts";
import { CONTRACT_EVENT_LIMITS } from "../../wire/validate-event.ts";

const REASON_CHARACTERS_MAX = 1_024;
/** No slice has a longer name. */
const TIME_SLICE_CHARACTERS_MAX = 64;

/** Callers are not known by name: whoever can reach the API operates it. */
const BY = "operator";

export function operatorRequestOf(reason: string, problems: Problems): OperatorRequest {
  const { length } = reason;
  if (length > REASON_CHARACTERS_MAX) {
    problems.add(`reason has ${length} characters, the limit is ${REASON_CHARACTERS_MAX}`);
  }
  return { by: BY, reason };
}

/** A wish that is all that can be wrong with its request. */
export function onlyOperatorRequestOf(reason: string): OperatorRequest {
  const problems = new Problems();
  const operatorRequest = operatorRequestOf(reason, problems);
  problems.throwIfAny("REQUEST_INVALID");
  return operatorRequest;
}

/** The partition a request is about. What is wrong with it goes to `problems`. */
export function locationOf(
  namespace: string,
  partition: Partition | undefined,
  problems: Problems,
): SplitLocation {
  if (partition === undefined) {
    problems.add("partition is missing");
    return { namespace, timeSlice: "", seriesId: "", timeBucket: 0, eventBucket: 0 };
  }
  const { timeSlice, timeSeriesId, timeBucket, eventBucket } = partition;
  const idBytesMax = CONTRACT_EVENT_LIMITS.seriesIdBytesMax;
  const idBytes = Buffer.byteLength(timeSeriesId);
  if (idBytes === 0) problems.add("partition.timeSeriesId is missing");
  if (idBytes > idBytesMax) {
    problems.add(`partition.timeSeriesId has ${idBytes} bytes, the limit is ${idBytesMax}`);
  }
  if (timeSlice === "") problems.add("partition.timeSlice is missing");
  checkTimeSlice(timeSlice, "partition.timeSlice", problems);
  return { namespace, timeSlice, seriesId: timeSeriesId, timeBucket, eventBucket };
}

export function checkTimeSlice(name: string, field: string, problems: Problems): void {
  if (name.length <= TIME_SLICE_CHARACTERS_MAX) return;
  problems.add(`${field} is longer than any slice's name, such as data_20260328`);
}
