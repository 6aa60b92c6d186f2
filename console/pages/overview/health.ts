/** Whether the installation is healthy, in one sentence with the next step. */
import type { ServerStatus } from "../../../client/connect.ts";
import { nounText } from "../../kit/format.ts";
import type { Tone } from "../../kit/state-badge.tsx";

export interface Health {
  readonly tone: Tone;
  readonly sentence: string;
}

/** The most urgent finding wins. */
export function healthOf(status: ServerStatus): Health {
  const failed = countOf(status, "FAILED");
  if (!status.ready)
    return { tone: "bad", sentence: `This server does not serve: ${status.notReady}` };
  if (status.disk.readOnly) {
    return {
      tone: "bad",
      sentence: "Events are refused because the disk is nearly full: free space.",
    };
  }
  if (status.clock.inDoubt) {
    return {
      tone: "warn",
      sentence:
        "The clock is in doubt, so no slice is closed: check it and run braid clock confirm.",
    };
  }
  if (status.killSwitch.on) {
    return {
      tone: "warn",
      sentence:
        "Reads use originals only, because the kill switch is on: switch it off when the cause is found.",
    };
  }
  if (failed > 0) {
    return {
      tone: "warn",
      sentence: `${nounText(failed, "split")} failed: look at the reason, then retry.`,
    };
  }
  if (status.namespaces === 0) {
    return {
      tone: "idle",
      sentence:
        "The server is ready and has no namespace yet: create one with braid ns create plays.",
    };
  }
  return {
    tone: "ok",
    sentence: `Healthy: this server serves ${nounText(status.namespaces, "namespace")}, and nothing needs attention.`,
  };
}

function countOf(status: ServerStatus, wanted: string): number {
  return status.splits
    .filter(({ state }) => state === wanted)
    .reduce((sum, { count }) => sum + Number(count), 0);
}
