/** GetStatus: the server that answers, and what it knows of the installation. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { Split_State } from "../../gen/braid/v1/split_pb.js";
import type {
  ClockStatusSchema,
  DiskStatusSchema,
  ServerStatusSchema,
} from "../../gen/braid/v1/status_pb.js";
import type { KillSwitchState } from "../../model/read-mode.ts";
import type { SplitState } from "../../model/split.ts";
import type { PausedNamespace } from "../../splits/use-cases.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { pauseMessage, switchMessage } from "./switch-messages.ts";
import { durationOfMicros, timeOfMicros } from "./times.ts";

/** How far this process believes its clock. */
export interface ShownClock {
  readonly believedMicros: number;
  readonly doubt: { readonly leapMicros: number; readonly evenForMs: number } | undefined;
  /** What it means and what to do; "" without doubt. */
  readonly message: string;
}

/** The free space of the embedded engine's disk. */
export interface ShownDisk {
  /** Undefined if it is not known. */
  readonly freeBytes: number | undefined;
  readonly freeBytesMin: number;
  /** Why events are refused now, or undefined. */
  readonly readOnly: string | undefined;
}

export interface ServiceStatus {
  readonly version: string;
  readonly build: string;
  readonly nodeVersion: string;
  readonly engine: string;
  readonly queue: string;
  /** The name of this process in histories. */
  readonly process: string;
  /** In microseconds, like all times here. */
  readonly startedAt: number;
  readonly uptimeMicros: number;
  readonly now: number;
  /** Why it does not serve; undefined if it does. */
  readonly notReady: string | undefined;
  readonly killSwitch: KillSwitchState;
  readonly paused: readonly PausedNamespace[];
  /** The number of namespace views this process holds, and the age of the oldest. */
  readonly views: { readonly count: number; readonly oldestMs: number; readonly maxAgeMs: number };
  readonly clock: ShownClock;
  /** Undefined if the engine does not watch a disk. */
  readonly disk: ShownDisk | undefined;
  /** Undefined before the first count. */
  readonly splits:
    { readonly countedAt: number; readonly states: ReadonlyMap<SplitState, number> } | undefined;
}

export interface StatusUseCase {
  /** Believes this machine's clock from now on. */
  confirmClock(): Promise<ShownClock>;
  get(): Promise<ServiceStatus>;
}

export function statusMethods(status: StatusUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.getStatus,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: () => undefined,
      handle: async () => statusMessage(await status.get()),
    }),
    messageMethod({
      desc: ControlService.method.confirmClock,
      changes: true,
      namespaceOf: () => "",
      argumentsOf: () => undefined,
      handle: async () => clockMessage(await status.confirmClock()),
    }),
  ];
}

export function statusMessage(status: ServiceStatus): MessageInitShape<typeof ServerStatusSchema> {
  const { notReady, views, splits } = status;
  return {
    version: status.version,
    build: status.build,
    nodeVersion: status.nodeVersion,
    engine: status.engine,
    queue: status.queue,
    process: status.process,
    startTime: timeOfMicros(status.startedAt),
    uptime: durationOfMicros(status.uptimeMicros),
    serverTime: timeOfMicros(status.now),
    ready: notReady === undefined,
    notReady: notReady ?? "",
    killSwitch: switchMessage(status.killSwitch),
    paused: status.paused.map(pauseMessage),
    namespaces: views.count,
    oldestViewAge: durationOfMicros(Math.round(views.oldestMs * 1000)),
    viewMaxAge: durationOfMicros(Math.round(views.maxAgeMs * 1000)),
    clock: clockMessage(status.clock),
    disk: diskMessage(status.disk),
    ...(splits && {
      splitsTime: timeOfMicros(splits.countedAt),
      splits: [...splits.states].map(([state, count]) => {
        return { state: Split_State[state], count: BigInt(count) };
      }),
    }),
  };
}

function diskMessage(disk: ShownDisk | undefined): MessageInitShape<typeof DiskStatusSchema> {
  const { freeBytes, freeBytesMin = 0, readOnly } = disk ?? {};
  return {
    ...(freeBytes !== undefined && { freeBytes: BigInt(freeBytes) }),
    freeBytesMin: BigInt(freeBytesMin),
    readOnly: readOnly !== undefined,
    message: readOnly ?? "",
  };
}

function clockMessage({
  believedMicros,
  doubt,
  message,
}: ShownClock): MessageInitShape<typeof ClockStatusSchema> {
  return {
    inDoubt: doubt !== undefined,
    believedTime: timeOfMicros(believedMicros),
    leap: durationOfMicros(Math.round(doubt?.leapMicros ?? 0)),
    ...(doubt && { evenFor: durationOfMicros(Math.round(doubt.evenForMs * 1000)) }),
    message,
  };
}
