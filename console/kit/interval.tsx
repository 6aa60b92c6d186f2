/** The interval of a read, in the address: `start` and `end`, or `last` before now. */
import { nowMs } from "../api/clock.ts";
import { setParams, useParam } from "../frame/router.ts";
import { Select } from "./choice.tsx";
import { Field } from "./field.tsx";

const LAST: readonly (readonly [value: string, text: string, ms: number])[] = [
  ["15m", "the last 15 minutes", 900_000],
  ["1h", "the last hour", 3_600_000],
  ["24h", "the last 24 hours", 86_400_000],
  ["7d", "the last 7 days", 604_800_000],
  ["30d", "the last 30 days", 2_592_000_000],
];
const DEFAULT_LAST = "24h";
/** Events of the near future are read too: clocks differ. */
const AHEAD_MS = 60_000;

export interface Interval {
  readonly start: string;
  readonly end: string;
}

/** The interval that the address asks for. */
export function useInterval(): () => Interval {
  const [start] = useParam("start");
  const [end] = useParam("end");
  const [last] = useParam("last", DEFAULT_LAST);
  return () => {
    if (start !== "" && end !== "") return { start, end };
    const ms = LAST.find(([value]) => value === last)?.[2] ?? 86_400_000;
    const now = nowMs();
    return {
      start: new Date(now - ms).toISOString(),
      end: new Date(now + AHEAD_MS).toISOString(),
    };
  };
}

export function IntervalFields() {
  const [start, setStart] = useParam("start");
  const [end, setEnd] = useParam("end");
  const [last] = useParam("last", DEFAULT_LAST);
  const exact = start !== "" || end !== "";
  return (
    <>
      <div class="field">
        <Select
          label="When"
          value={exact ? "exact" : last}
          options={[
            ...LAST.map(([value, text]) => [value, text] as const),
            ["exact", "from … to …"],
          ]}
          onChange={choose}
        />
      </div>
      {exact && (
        <>
          <Field
            label="From, UTC"
            value={start}
            onInput={setStart}
            required
            pattern={TIME}
            placeholder="2026-11-18T16:00:00Z"
          />
          <Field
            label="To, UTC, not included"
            value={end}
            onInput={setEnd}
            required
            pattern={TIME}
            placeholder="2026-11-18T17:00:00Z"
          />
        </>
      )}
    </>
  );
}

/** RFC 3339. */
const TIME = "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,6})?)?(Z|[+\\-]\\d{2}:\\d{2})";

function choose(value: string): void {
  if (value !== "exact") {
    setParams({ start: "", end: "", last: value === DEFAULT_LAST ? "" : value });
    return;
  }
  const hour = new Date(nowMs());
  hour.setUTCMinutes(0, 0, 0);
  const text = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  setParams({ start: text(hour.getTime()), end: text(hour.getTime() + 3_600_000), last: "" });
}
