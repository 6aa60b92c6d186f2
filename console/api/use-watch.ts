/**
 * A stream of the server, followed while the component is on the page. A broken stream is opened
 * again after a pause that grows; a stopped or hidden page closes it.
 */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { sleep } from "./clock.ts";
import { live } from "./live.ts";

export type WatchState = "connecting" | "live" | "broken" | "stopped";

export interface Watch {
  readonly state: WatchState;
  /** Why the stream broke last. */
  readonly error: unknown;
}

const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 15_000;

/** `take` is called with each message. `open` is called again after a break. */
export function useWatch<T>(
  key: string,
  open: (signal: AbortSignal) => AsyncIterable<T>,
  take: (message: T) => void,
): Watch {
  const watch = useSignal<Watch>({ state: "connecting", error: undefined });
  const calls = useRef({ open, take });
  calls.current = { open, take };
  const wanted = live.value;
  useEffect(() => {
    if (!wanted) {
      watch.value = { state: "stopped", error: undefined };
      return undefined;
    }
    const stopped = new AbortController();
    void follow(stopped.signal, calls, (state, error) => {
      if (!stopped.signal.aborted) watch.value = { state, error };
    });
    return () => stopped.abort();
  }, [key, wanted]);
  return watch.value;
}

async function follow<T>(
  signal: AbortSignal,
  calls: { current: { open: (signal: AbortSignal) => AsyncIterable<T>; take: (m: T) => void } },
  changed: (state: WatchState, error?: unknown) => void,
): Promise<void> {
  let pauseMs = PAUSE_MS_MIN;
  while (!signal.aborted) {
    changed("connecting");
    try {
      for await (const message of calls.current.open(signal)) {
        if (signal.aborted) return;
        changed("live");
        pauseMs = PAUSE_MS_MIN;
        calls.current.take(message);
      }
      changed("connecting");
    } catch (error) {
      changed("broken", error);
    }
    await sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
  }
}
