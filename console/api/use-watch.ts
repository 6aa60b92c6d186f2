/**
 * Changes as the server sends them, while the component is on the page.
 *
 * The client resumes a broken watch by itself. A stopped or hidden page closes it: browsers open at
 * most six connections to a server, and each watch holds one.
 */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { WatchChange, WatchQuery } from "../../client/connect.ts";
import { client } from "./client.ts";
import { live } from "./live.ts";
import { pageIsSeen } from "./page-is-seen.ts";

export interface Watch {
  /** `away`: the server cannot be reached, and the watch tries again. `failed`: it has ended. */
  readonly state: "connecting" | "live" | "away" | "stopped" | "failed";
  /** Why it is away or has failed. */
  readonly error: unknown;
}

/** `take` is called with each change, the first with all there is. */
export function useWatch(query: WatchQuery, take: (change: WatchChange) => void): Watch {
  const watch = useSignal<Watch>({ state: "connecting", error: undefined });
  const latest = useRef(take);
  latest.current = take;
  const key = JSON.stringify(query);
  const wanted = live.value && pageIsSeen.value;
  useEffect(() => {
    const stopped = new AbortController();
    const { signal } = stopped;
    const say = (state: Watch["state"], error?: unknown): void => {
      if (!signal.aborted && watch.peek().state !== state) watch.value = { state, error };
    };
    const follow = async (): Promise<void> => {
      say("connecting");
      for await (const update of client.watch({ ...query, signal })) {
        if (signal.aborted) return;
        if (update.kind === "away") say("away", update.error);
        else {
          say("live");
          latest.current(update);
        }
      }
    };
    if (wanted) follow().catch((error: unknown) => say("failed", error));
    else say("stopped");
    return () => stopped.abort();
  }, [key, wanted]);
  return watch.value;
}
