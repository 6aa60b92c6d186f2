/** Where figures come from and how old they are: nothing hides that data is sampled or stale. */
import type { ComponentChildren } from "preact";
import { nowMs } from "../api/clock.ts";
import type { Query } from "../api/use-query.ts";
import { Ago, momentMs } from "./when.tsx";
import type { Moment } from "./when.tsx";

export function Freshness({
  at,
  staleAfterMs,
  children,
}: {
  /** When the data was true. */
  at: Moment;
  /** Older data is marked as stale. */
  staleAfterMs?: number;
  /** "sampled 1 %", "estimated from 3 servers". */
  children?: ComponentChildren;
}) {
  const ms = momentMs(at);
  const stale = ms !== undefined && staleAfterMs !== undefined && nowMs() - ms > staleAfterMs;
  return (
    <span class={stale ? "freshness is-stale" : "freshness"}>
      {stale && (
        <strong>
          <span aria-hidden="true">▲ </span>stale,{" "}
        </strong>
      )}
      {ms === undefined ? (
        "not known yet"
      ) : (
        <>
          as of <Ago at={ms} />
        </>
      )}
      {children !== undefined && <>; {children}</>}
    </span>
  );
}

/** The age of an answer, and that the last refresh failed. */
export function AnswerAge({ query }: { query: Query<unknown> }) {
  return (
    <Freshness at={query.at}>
      {query.error === undefined ? undefined : <strong>the last refresh failed</strong>}
    </Freshness>
  );
}
