/**
 * One question to the server, asked when the component appears and again every few seconds.
 *
 * The last answer stays while the next is on its way, and also when the next fails: then the page
 * shows the old answer, the error, and how old the answer is.
 */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { after, nowMs } from "./clock.ts";
import { live, refreshes } from "./live.ts";
import { pageIsSeen } from "./page-is-seen.ts";

export interface Query<T> {
  /** The last answer; undefined before the first. */
  readonly data: T | undefined;
  /** Why the last question failed; undefined if it did not. */
  readonly error: unknown;
  readonly loading: boolean;
  /** When the answer arrived, in milliseconds since 1970. */
  readonly at: number | undefined;
  /** Asks again now. */
  readonly refresh: () => void;
}

export interface QueryOptions {
  /** The pause between an answer and the next question. Without it the question is asked once. */
  readonly everyMs?: number;
}

/** `key` names the question: when it changes, the old answer is forgotten. */
export function useQuery<T>(
  key: string,
  ask: (signal: AbortSignal) => Promise<T>,
  { everyMs }: QueryOptions = {},
): Query<T> {
  const state = useSignal<Omit<Query<T>, "refresh">>(LOADING);
  const asked = useSignal(0);
  const latest = useRef(ask);
  latest.current = ask;

  useEffect(() => {
    state.value = LOADING;
  }, [key]);

  useRepeated(key, asked.value + refreshes.value, everyMs, async (stop) => {
    state.value = { ...state.value, loading: true };
    try {
      const data = await latest.current(stop);
      if (!stop.aborted) state.value = { data, error: undefined, loading: false, at: nowMs() };
    } catch (error) {
      if (!stop.aborted) state.value = { ...state.value, error, loading: false };
    }
  });
  return { ...state.value, refresh: () => (asked.value += 1) };
}

const LOADING = { data: undefined, error: undefined, loading: true, at: undefined };

/** Runs at once when `key` or `count` changes, then again after each pause while the page is live. */
function useRepeated(
  key: string,
  count: number,
  everyMs: number | undefined,
  run: (signal: AbortSignal) => Promise<void>,
): void {
  const wake = useRef<() => void>(() => undefined);
  useEffect(() => {
    const stopped = new AbortController();
    let stopTimer = (): void => undefined;
    let due = false;
    const turn = (): void => {
      due = false;
      void run(stopped.signal).then(() => {
        if (everyMs === undefined || stopped.signal.aborted) return;
        stopTimer = after(everyMs, () => {
          due = true;
          wake.current();
        });
      });
    };
    // A hidden or stopped page asks nothing; it asks at once when it is seen or started again.
    wake.current = () => {
      if (due && live.peek() && pageIsSeen.peek()) turn();
    };
    turn();
    return () => {
      stopped.abort();
      stopTimer();
    };
  }, [key, count, everyMs]);
  useSignalEffect(() => {
    if (live.value && pageIsSeen.value) wake.current();
  });
}
