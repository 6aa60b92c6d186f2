/** The kill switch and pauses, as the methods on splits, read modes and the status show them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { KillSwitchSchema, SplitsPauseSchema } from "../../gen/braid/v1/switches_pb.js";
import type { KillSwitchState } from "../../model/read-mode.ts";
import type { PausedNamespace } from "../../splits/use-cases.ts";
import { timeOfMicros } from "./times.ts";

export function switchMessage(
  state: KillSwitchState & { readonly unchanged?: boolean },
): MessageInitShape<typeof KillSwitchSchema> {
  const { on, at, by, reason, unchanged = false } = state;
  return { on, ...(at > 0 && { setTime: timeOfMicros(at) }), by, reason, unchanged };
}

export function pauseMessage({
  namespace,
  at,
  by,
  reason,
}: PausedNamespace): MessageInitShape<typeof SplitsPauseSchema> {
  return { namespace, since: timeOfMicros(at), by, reason };
}
