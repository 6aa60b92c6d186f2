/**
 * The methods on namespaces and their time slices: translates messages for the use cases and back.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService, TimeSlice_Status } from "../../gen/braid/v1/control_service_pb.js";
import type {
  DeletedNamespaceSchema,
  TimeSliceSchema,
} from "../../gen/braid/v1/control_service_pb.js";
import { ReadMode_Mode } from "../../gen/braid/v1/read_mode_pb.js";
import type { Problems } from "../../lib/problems.ts";
import { namespaceNameProblem } from "../../model/check-config.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { DeletedNamespace, DeletedRef } from "../../namespaces/deleted-namespaces.ts";
import type { SliceListing } from "../../namespaces/list-time-slices.ts";
import type { Namespaces } from "../../namespaces/namespaces.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { configMessage, defaultFields, patchOf } from "./namespace-config.ts";
import { operatorRequestOf } from "./operator-request.ts";
import type { PlanUseCase } from "./plan.ts";
import { provisionedMessage } from "./plan.ts";
import { workloadOf } from "./workload-message.ts";
import { namespaceIn, pageIn } from "./request-fields.ts";
import { pauseMessage } from "./switch-messages.ts";
import { timeOfMicros } from "./times.ts";
import type { TuningUseCases } from "./tunings.ts";

/** The interface of `Namespaces`. */
export type NamespaceUseCases = Pick<Namespaces, keyof Namespaces>;

export function namespaceMethods(
  namespaces: NamespaceUseCases,
  planner: PlanUseCase,
  waitingTuning: TuningUseCases["waiting"],
): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.createNamespace,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: ({ namespace, config, workload }, problems) => {
        const patch = patchOf(config, problems);
        const request =
          workload === undefined
            ? undefined
            : planner.check({ workload: workloadOf(workload, problems), patch }, problems);
        // Problems of the configuration alone are CONFIG_INVALID, which `create` throws.
        if (problems.count > 0) namespaces.checkCreation(namespace, patch, problems);
        return { namespace, patch, request };
      },
      handle: async ({ namespace, patch, request }, signal) => {
        if (request === undefined)
          return namespaceMessage(await namespaces.create(namespace, patch));
        const plan = await planner.plan(request, signal);
        const { timePartition } = plan.chosen;
        const config = { ...request.config, timePartition };
        return namespaceMessage(await namespaces.create(namespace, config, planner.keep(plan)));
      },
    }),
    messageMethod({
      desc: service.getNamespace,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: namespaceIn,
      handle: async (name) => {
        const namespace = await namespaces.get(name);
        const defaults = { defaultFields: defaultFields(namespace.config) };
        const message = { ...namespaceMessage(namespace), ...defaults };
        const tuning = await waitingTuning(name);
        return tuning === undefined ? message : { ...message, waitingTuning: tuning };
      },
    }),
    messageMethod({
      desc: service.listNamespaces,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: pageIn,
      handle: async (wanted) => {
        const page = await namespaces.list(wanted);
        return {
          namespaces: page.namespaces.map(namespaceMessage),
          nextPageToken: page.nextPageToken,
        };
      },
    }),
    messageMethod({
      desc: service.updateNamespace,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: async (request, problems) => {
        const namespace = namespaceIn(request, problems);
        const { config, reset } = request;
        const patch = patchOf(config, problems);
        // As for a new namespace.
        if (problems.count > 0) await namespaces.checkUpdate(namespace, patch, reset, problems);
        return { namespace, patch, reset };
      },
      handle: async ({ namespace, patch, reset }, signal) =>
        namespaceMessage(await namespaces.update(namespace, patch, reset, signal)),
    }),
    messageMethod({
      desc: service.deleteNamespace,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems, caller) => {
        const { purge, reason } = request;
        const { by } = operatorRequestOf(reason, caller, problems);
        if (request.id !== "" && !purge) {
          problems.add("id is for a purge; give purge, or namespace", "id");
        }
        return { ref: deletedRefIn(request, problems), wanted: { by, reason, purge } };
      },
      handle: async ({ ref, wanted }, signal) =>
        deletedMessage(await namespaces.delete("id" in ref ? ref : ref.name, wanted, signal)),
    }),
    messageMethod({
      desc: service.undeleteNamespace,
      changes: true,
      namespaceOf: ({ namespace, asName }) => (asName === "" ? namespace : asName),
      argumentsOf: (request, problems) => {
        const { asName } = request;
        const problem = asName === "" ? undefined : namespaceNameProblem(asName);
        if (problem !== undefined) problems.add(problem, "asName");
        return { ref: deletedRefIn(request, problems), asName };
      },
      handle: async ({ ref, asName }, signal) =>
        namespaceMessage(await namespaces.undelete(ref, asName, signal)),
    }),
    messageMethod({
      desc: service.listDeletedNamespaces,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: pageIn,
      handle: async (wanted) => {
        const page = await namespaces.listDeleted(wanted);
        return {
          namespaces: page.namespaces.map(deletedMessage),
          nextPageToken: page.nextPageToken,
        };
      },
    }),
    messageMethod({
      desc: service.listTimeSlices,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: namespaceIn,
      handle: async (namespace) => {
        const slices = await namespaces.listTimeSlices(namespace);
        return { slices: slices.map(sliceMessage) };
      },
    }),
    messageMethod({
      desc: service.undropTimeSlice,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: sliceIn,
      handle: async ({ namespace, timeSlice }, signal) =>
        sliceMessage(await namespaces.undropTimeSlice(namespace, timeSlice, signal)),
    }),
    messageMethod({
      desc: service.purgeTimeSlice,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: sliceIn,
      handle: async ({ namespace, timeSlice }, signal) =>
        sliceMessage(await namespaces.purgeTimeSlice(namespace, timeSlice, signal)),
    }),
  ];
}

export function namespaceMessage(namespace: Namespace) {
  const { splitsPaused, provisioned } = namespace;
  return {
    namespace: namespace.name,
    id: namespace.id,
    config: configMessage(namespace.config),
    epoch: BigInt(namespace.epoch),
    createTime: timeOfMicros(namespace.createdAt),
    version: BigInt(namespace.version),
    readMode: ReadMode_Mode[namespace.readMode.mode],
    splitsPaused: splitsPaused !== null,
    ...(splitsPaused !== null && {
      splitsPause: pauseMessage({ namespace: namespace.name, ...splitsPaused }),
    }),
    ...(provisioned !== undefined && { provisioned: provisionedMessage(provisioned) }),
  };
}

function sliceIn(
  request: { readonly namespace: string; readonly timeSlice: string },
  problems: Problems,
): { readonly namespace: string; readonly timeSlice: string } {
  const namespace = namespaceIn(request, problems);
  const { timeSlice } = request;
  if (timeSlice === "") {
    problems.add("timeSlice is missing; ListTimeSlices shows the names", "timeSlice");
  }
  return { namespace, timeSlice };
}

/** By id or by name, not both. */
function deletedRefIn(
  request: { readonly namespace: string; readonly id: string },
  problems: Problems,
): DeletedRef {
  const { namespace, id } = request;
  if (id === "") return { name: namespaceIn(request, problems) };
  if (namespace !== "") problems.add("give namespace or id, not both", "id");
  return { id };
}

function deletedMessage(
  deleted: DeletedNamespace,
): MessageInitShape<typeof DeletedNamespaceSchema> {
  const { restorableUntil, size } = deleted;
  return {
    namespace: deleted.name,
    id: deleted.id,
    config: configMessage(deleted.config),
    deleteTime: timeOfMicros(deleted.deletedAt),
    ...(restorableUntil !== undefined && { restorableUntil: timeOfMicros(restorableUntil) }),
    purged: deleted.state === "purged",
    deletedBy: deleted.by,
    reason: deleted.reason,
    ...(size && { bytes: BigInt(size.bytes), events: BigInt(size.events) }),
  };
}

export function sliceMessage(slice: SliceListing): MessageInitShape<typeof TimeSliceSchema> {
  return {
    name: slice.name,
    start: timeOfMicros(slice.start),
    end: timeOfMicros(slice.end),
    status: TimeSlice_Status[slice.status],
    timePartition: { ...slice.timePartition },
    bytes: BigInt(slice.bytes),
    events: BigInt(slice.events),
    ...(slice.dropAt !== undefined && { dropTime: timeOfMicros(slice.dropAt) }),
  };
}
