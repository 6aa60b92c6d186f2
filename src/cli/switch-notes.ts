/**
 * Notes on what is switched off or paused, one sentence each, for lists that would be confusing
 * without them.
 */
import type { KillSwitch, SplitsPause } from "../../client/connect.ts";
import { relative } from "./relative-time.ts";

export function killSwitchNotes(killSwitch: KillSwitch | undefined, nowMicros: number): string[] {
  if (killSwitch?.on !== true) return [];
  const { by, setTime, reason } = killSwitch;
  const set = `${by} set it${setTime === undefined ? "" : ` ${relative(setTime, nowMicros)}`}`;
  return [
    `the kill switch is on: no read uses a split (${set}${because(reason)}); ` +
      'run "braid kill-switch off" to use splits again',
  ];
}

export function pauseNotes(
  pauses: readonly SplitsPause[],
  namespace: string,
  nowMicros: number,
): string[] {
  return pauses.map(({ since, by, reason, namespace: paused }) => {
    const name = paused === "" ? namespace : paused;
    return (
      `${by} paused the splits of ${name} ${relative(since, nowMicros)}${because(reason)}; ` +
      `run "braid splits resume ${name}" to resume`
    );
  });
}

function because(reason: string): string {
  return reason === "" ? "" : `: ${reason}`;
}
