/**
 * The methods on read modes and the kill switch: translates messages for the use cases and back.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { ReadMode_Mode } from "../../gen/braid/v1/read_mode_pb.js";
import type { ReadModeSchema } from "../../gen/braid/v1/read_mode_pb.js";
import type { Problems } from "../../lib/problems.ts";
import { READ_MODES } from "../../model/read-mode.ts";
import type { ReadMode } from "../../model/read-mode.ts";
import type { ReadModeReport, ReadModeUseCases } from "../../splits/use-cases.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { pauseMessage, switchMessage } from "./switch-messages.ts";
import { timeOfMicros } from "./times.ts";
import { operatorRequestOf } from "./operator-request.ts";
import { namespaceIn } from "./request-fields.ts";

export function readModeMethods(modes: ReadModeUseCases): UnaryMethod[] {
  const service = ControlService.method;
  return [
    messageMethod({
      desc: service.getReadMode,
      changes: false,
      namespaceOf: (request) => request.namespace,
      argumentsOf: namespaceIn,
      handle: async (namespace) => modeMessage(await modes.get(namespace)),
    }),
    messageMethod({
      desc: service.setReadMode,
      changes: true,
      namespaceOf: (request) => request.namespace,
      argumentsOf: (request, problems, caller) => ({
        namespace: namespaceIn(request, problems),
        mode: modeOf(request.mode, problems),
        options: { force: request.force, autoAdvance: request.autoAdvance },
        operatorRequest: operatorRequestOf(request.reason, caller, problems),
      }),
      handle: async ({ namespace, mode, options, operatorRequest }) =>
        modeMessage(await modes.set(namespace, mode, options, operatorRequest)),
    }),
    messageMethod({
      desc: service.getKillSwitch,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: () => undefined,
      handle: async () => switchMessage(await modes.killSwitch()),
    }),
    messageMethod({
      desc: service.setKillSwitch,
      changes: true,
      namespaceOf: () => "",
      argumentsOf: ({ on, reason }, problems, caller) => ({
        on,
        operatorRequest: operatorRequestOf(reason, caller, problems),
      }),
      handle: async ({ on, operatorRequest }) =>
        switchMessage(await modes.setKillSwitch(on, operatorRequest)),
    }),
  ];
}

function modeOf(mode: ReadMode_Mode, problems: Problems): ReadMode {
  const known = READ_MODES.find((name) => ReadMode_Mode[name] === mode);
  if (known !== undefined) return known;
  const given = mode === ReadMode_Mode.UNSPECIFIED ? "is missing" : `${String(mode)} is not known`;
  problems.add(`mode ${given}; use ${READ_MODES.join(" or ")}`, "mode");
  return "OFF";
}

export function modeMessage(report: ReadModeReport): MessageInitShape<typeof ReadModeSchema> {
  const { state, evidence, nextMode, blockedBy, splitsPaused } = report;
  return {
    mode: ReadMode_Mode[state.mode],
    evidence: evidence.map((seen) => ({
      layout: seen.layout,
      strategy: seen.strategy,
      readsCompared: BigInt(seen.readsCompared),
      bytesMatched: BigInt(seen.bytesMatched),
      bytesDiffered: BigInt(seen.bytesDiffered),
      splitsCompared: BigInt(seen.splitsCompared),
      since: timeOfMicros(seen.since),
    })),
    ...(nextMode !== undefined && { nextMode: ReadMode_Mode[nextMode] }),
    blockedBy,
    autoAdvance: state.autoAdvance,
    since: timeOfMicros(state.since),
    by: state.by,
    reason: state.reason,
    killSwitch: switchMessage(report.killSwitch),
    ...(splitsPaused && { splitsPause: pauseMessage(splitsPaused) }),
  };
}
