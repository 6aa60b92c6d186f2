/** Whether the installation is healthy: one sentence, and the next step. */
import type { ServerList, ServerStatus } from "../../../client/connect.ts";
import { durationText, msOf, nounText, rateText } from "../../kit/format.ts";
import type { Tone } from "../../kit/tone.ts";

export interface Health {
  readonly tone: Tone;
  readonly sentence: string;
  /** Where to go, or what to run. */
  readonly next?: { readonly text: string; readonly href?: string; readonly command?: string };
}

/** What happened in the last minute on the server that answers; undefined if it is not known. */
export interface Recent {
  readonly reads: number | undefined;
  readonly writes: number | undefined;
  readonly timeouts: number | undefined;
  readonly refusals: number | undefined;
  /** The most frequent code. */
  readonly refusalCode: string | undefined;
}

/** A share of requests that is more than bad luck. */
const FAILED_SHARE_MAX = 0.01;

/** The most urgent finding wins. */
export function healthOf(
  status: ServerStatus,
  servers: ServerList | undefined,
  recent: Recent,
): Health {
  return (
    stopped(status) ??
    away(servers) ??
    failing(recent) ??
    switchedOff(status) ??
    stale(servers) ??
    failedSplits(status) ??
    healthy(status, recent)
  );
}

function stopped(status: ServerStatus): Health | undefined {
  if (!status.ready) {
    return {
      tone: "bad",
      sentence: `This server does not serve: ${status.notReady}.`,
      next: { text: "See why in /readyz", href: "/readyz" },
    };
  }
  if (status.disk.readOnly) {
    return { tone: "bad", sentence: `Events are refused: ${status.disk.message}` };
  }
  return undefined;
}

function away(servers: ServerList | undefined): Health | undefined {
  const silent = servers?.servers.filter((server) => server.silent) ?? [];
  const [first] = silent;
  if (first === undefined) return undefined;
  const others = silent.length === 1 ? "" : ` and ${silent.length - 1} more`;
  return {
    tone: "bad",
    sentence: `${first.name} on ${first.host}${others} has not been heard for 30 s: it hangs, cannot reach the catalog, or died.`,
    next: { text: "Look at its log" },
  };
}

function failing(recent: Recent): Health | undefined {
  const { reads, writes, timeouts, refusals, refusalCode } = recent;
  const requests = (reads ?? 0) + (writes ?? 0);
  const ended = requests + (refusals ?? 0);
  if ((timeouts ?? 0) > ended * FAILED_SHARE_MAX && (timeouts ?? 0) > 0) {
    return {
      tone: "bad",
      sentence: `${rateText(timeouts ?? 0)} of ${rateText(ended)} requests ended in a timeout in the last minute.`,
      next: { text: "See the latency and the event loop below" },
    };
  }
  if ((refusals ?? 0) > ended * FAILED_SHARE_MAX && (refusals ?? 0) > 0) {
    return {
      tone: "warn",
      sentence: `${rateText(refusals ?? 0)} of ${rateText(ended)} requests were refused in the last minute${refusalCode === undefined ? "" : `, most with ${refusalCode}`}.`,
      next: { text: "What each code means", href: "/docs#errors" },
    };
  }
  return undefined;
}

function switchedOff(status: ServerStatus): Health | undefined {
  if (status.clock.inDoubt) {
    return {
      tone: "warn",
      sentence: "The clock is in doubt, so no slice is closed or dropped.",
      next: { text: "Check the clock, then run", command: "braid clock confirm" },
    };
  }
  if (status.killSwitch.on) {
    return {
      tone: "warn",
      sentence: "Reads use originals only, because the kill switch is on.",
      next: { text: "When the cause is found, see Read modes", href: "/read-modes" },
    };
  }
  return undefined;
}

function stale(servers: ServerList | undefined): Health | undefined {
  const maxMs = msOf(servers?.viewMaxAge) ?? Infinity;
  const old = servers?.servers.find(({ oldestViewAge }) => (msOf(oldestViewAge) ?? 0) > maxMs);
  if (old !== undefined) {
    return {
      tone: "warn",
      sentence: `${old.name} refuses requests: its view is ${durationText(msOf(old.oldestViewAge) ?? 0)} old, more than ${durationText(maxMs)}.`,
      next: { text: "Check that it reaches the catalog" },
    };
  }
  const doubtful = servers?.servers.find(({ clockInDoubt }) => clockInDoubt);
  if (doubtful === undefined) return undefined;
  return {
    tone: "warn",
    sentence: `${doubtful.name} doubts the clock of ${doubtful.host}, so it closes and drops no slice.`,
    next: { text: "Check that clock, then run there", command: "braid clock confirm" },
  };
}

function failedSplits(status: ServerStatus): Health | undefined {
  const failed = splitsIn(status, ["FAILED"]);
  if (failed === 0) return undefined;
  return {
    tone: "warn",
    sentence: `${nounText(failed, "split")} failed; their reads use the originals.`,
    next: { text: "See why, then retry", href: "/splits?state=FAILED" },
  };
}

function healthy(status: ServerStatus, { reads, writes }: Recent): Health {
  if (status.namespaces === 0) {
    return {
      tone: "idle",
      sentence: "The server is ready and has no namespace yet.",
      next: { text: "Create one", command: "braid ns create plays" },
    };
  }
  const traffic =
    (reads ?? 0) + (writes ?? 0) > 0
      ? `${rateText(reads ?? 0)} reads and ${rateText(writes ?? 0)} writes in the last minute`
      : "no reads or writes in the last minute";
  const paused = status.paused.length;
  const but = paused > 0 ? `; the splits of ${nounText(paused, "namespace")} are paused` : "";
  return {
    tone: "ok",
    sentence: `Healthy: ${nounText(status.namespaces, "namespace")}, ${traffic}${but}. Nothing needs attention.`,
  };
}

/** The states of a split that a worker works on, or will. */
export const IN_FLIGHT = ["DETECTED", "PLANNING", "PLANNED", "SPLITTING", "VALIDATING", "PARKED"];

export function splitsIn(status: ServerStatus, states: readonly string[]): number {
  return status.splits
    .filter(({ state }) => states.includes(state))
    .reduce((sum, { count }) => sum + Number(count), 0);
}
