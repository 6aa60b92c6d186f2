/**
 * The methods on namespaces and their time slices: translates messages for the use cases and back.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService, TimeSlice_Status } from "../../gen/braid/v1/control_service_pb.js";
import type { NamespaceSchema, TimeSliceSchema } from "../../gen/braid/v1/control_service_pb.js";
import { ReadMode_Mode } from "../../gen/braid/v1/read_mode_pb.js";
import { Problems } from "../../lib/problems.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { SliceListing } from "../../namespaces/list-time-slices.ts";
import type { Namespaces } from "../../namespaces/namespaces.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { configMessage, patchOf } from "./namespace-config.ts";
import { pauseMessage } from "./switch-messages.ts";
import { timeOfMicros } from "./times.ts";

/** The interface of `Namespaces`. */
export type NamespaceUseCases = Pick<Namespaces, keyof Namespaces>;

export function namespaceMethods(namespaces: NamespaceUseCases): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.createNamespace,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => {
        const problems = new Problems();
        const patch = patchOf(request.config, problems);
        problems.throwIfAny("REQUEST_INVALID");
        return namespaceMessage(await namespaces.create(request.namespace, patch));
      },
    }),
    messageMethod({
      desc: service.getNamespace,
      changes: false,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => namespaceMessage(await namespaces.get(request.namespace)),
    }),
    messageMethod({
      desc: service.listNamespaces,
      changes: false,
      namespaceOf: () => "",
      handle: async ({ pageSize, pageToken }) => {
        const page = await namespaces.list({ pageSize, pageToken });
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
      handle: async (request, _caller, signal) => {
        const problems = new Problems();
        const patch = patchOf(request.config, problems);
        problems.throwIfAny("REQUEST_INVALID");
        const { namespace, reset } = request;
        return namespaceMessage(await namespaces.update(namespace, patch, reset, signal));
      },
    }),
    messageMethod({
      desc: service.deleteNamespace,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async (request, _caller, signal) => {
        await namespaces.delete(request.namespace, signal);
        return {};
      },
    }),
    messageMethod({
      desc: service.listTimeSlices,
      changes: false,
      namespaceOf: (request) => request.namespace,
      handle: async (request) => {
        const slices = await namespaces.listTimeSlices(request.namespace);
        return { slices: slices.map(sliceMessage) };
      },
    }),
    messageMethod({
      desc: service.undropTimeSlice,
      changes: true,
      namespaceOf: (request) => request.namespace,
      handle: async ({ namespace, timeSlice }, _caller, signal) =>
        sliceMessage(await namespaces.undropTimeSlice(namespace, timeSlice, signal)),
    }),
  ];
}

function namespaceMessage(namespace: Namespace): MessageInitShape<typeof NamespaceSchema> {
  const { splitsPaused } = namespace;
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
  };
}

function sliceMessage(slice: SliceListing): MessageInitShape<typeof TimeSliceSchema> {
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
