/** GetRemedies: translates messages for the use case and back. */
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Remedy_Kind } from "../../gen/braid/v1/remedies_pb.js";
import type { Doctor } from "../../doctor/doctor.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { namespaceIn } from "./request-fields.ts";

/** The interface of `Doctor`. */
export type RemediesUseCase = Pick<Doctor, "remediesFor">;

export function remedyMethods(doctor: RemediesUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.getRemedies,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems) => ({ namespace: namespaceIn(request, problems) }),
      handle: async ({ namespace }) => ({
        remedies: (await doctor.remediesFor(namespace)).map((each) => ({
          ...each,
          remedy: Remedy_Kind[each.remedy],
        })),
      }),
    }),
  ];
}
