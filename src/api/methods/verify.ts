/** StartVerify and GetVerify: translates messages for the use cases and back. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Verification_State } from "../../gen/braid/v1/verify_pb.js";
import type { StartVerifyRequest, VerificationSchema } from "../../gen/braid/v1/verify_pb.js";
import type { Problems } from "../../lib/problems.ts";
import type { SplitLocation, VerifyProgress, VerifyUseCases } from "../../splits/use-cases.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn } from "./request-fields.ts";
import { timeOfMicros } from "./times.ts";
import { checkTimeSlice, splitNamed } from "./operator-request.ts";
import type { Locate } from "./operator-request.ts";

/** No comparison has a longer id. */
const VERIFY_ID_CHARACTERS_MAX = 128;

/** `locate` finds the partition of a split by the split's id. */
export function verifyMethods(verify: VerifyUseCases, locate: Locate): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.startVerify,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({
        namespace: namespaceIn(request, problems),
        target: targetOf(request, problems),
      }),
      handle: async ({ namespace, target }) => ({
        verifyId: await verify.start(namespace, await target(locate)),
      }),
    }),
    messageMethod({
      desc: service.getVerify,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => {
        const namespace = namespaceIn(request, problems);
        const { verifyId } = request;
        if (verifyId === "") {
          problems.add("verifyId is missing; StartVerify returns it", "verifyId");
        }
        if (verifyId.length > VERIFY_ID_CHARACTERS_MAX) {
          problems.add("verifyId is not one that StartVerify returns", "verifyId");
        }
        return { namespace, verifyId };
      },
      handle: async ({ namespace, verifyId }) =>
        progressMessage(await verify.get(namespace, verifyId)),
    }),
  ];
}

/** What to compare. The split's id is looked up only when the result is called. */
function targetOf(
  request: StartVerifyRequest,
  problems: Problems,
): (locate: Locate) => Promise<{ location?: SplitLocation; timeSlice?: string }> {
  const { partition, splitId, timeSlice } = request;
  const one = partition !== undefined || splitId !== "";
  if (one && timeSlice !== "") {
    problems.add("give timeSlice, or partition or splitId (which name their slice), but not both");
  }
  checkTimeSlice(timeSlice, "timeSlice", problems);
  const location = one ? splitNamed(request, problems) : undefined;
  return async (locate) => {
    if (location !== undefined) return { location: await location(locate) };
    return timeSlice === "" ? {} : { timeSlice };
  };
}

export function progressMessage(
  progress: VerifyProgress & { readonly by: string },
): MessageInitShape<typeof VerificationSchema> {
  const { startedAt, endedAt } = progress;
  return {
    state: Verification_State[progress.state],
    eventsCompared: BigInt(progress.eventsCompared),
    bytesCompared: BigInt(progress.bytesCompared),
    differences: progress.differences.map(({ location, kind, eventTime, eventId, detail }) => ({
      partition: {
        timeSlice: location.timeSlice,
        timeSeriesId: location.seriesId,
        timeBucket: location.timeBucket,
        eventBucket: location.eventBucket,
      },
      kind,
      eventTime: timeOfMicros(eventTime),
      eventId,
      detail,
    })),
    differencesFound: BigInt(progress.differencesFound),
    verifyId: progress.verifyId,
    namespace: progress.namespace,
    splitsDone: BigInt(progress.splitsDone),
    splitsTotal: BigInt(progress.splitsTotal),
    startTime: timeOfMicros(startedAt),
    ...(endedAt > 0 && { endTime: timeOfMicros(endedAt) }),
    reason: progress.reason,
    ...(progress.bytesTotal !== undefined && { bytesTotal: BigInt(progress.bytesTotal) }),
    ...(progress.eventsTotal !== undefined && { eventsTotal: BigInt(progress.eventsTotal) }),
    owner: progress.by,
  };
}
