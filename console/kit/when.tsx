/** A moment: in UTC or local time, as the operator chose, with the other and the age in the title. */
import { signal } from "@preact/signals";
import { every, nowMs } from "../api/clock.ts";
import { timeZone } from "../frame/time-zone.ts";
import type { TimeZone } from "../frame/time-zone.ts";
import { durationText } from "./format.ts";

/** An RFC 3339 time of the API, or milliseconds since 1970. */
export type Moment = string | number | undefined;

/** "2026-11-18 16:05:07 UTC". */
export function When({ time, seconds = true }: { time: Moment; seconds?: boolean }) {
  const ms = momentMs(time);
  if (ms === undefined) return <span class="none">–</span>;
  const other = timeZone.value === "UTC" ? "local" : "UTC";
  return (
    <time
      class="number"
      dateTime={new Date(ms).toISOString()}
      title={`${timeText(ms, other)}, ${agoText(ms)}`}
    >
      {timeText(ms, timeZone.value, seconds)}
    </time>
  );
}

/** "12 s ago", with the time in the title. It keeps counting. */
export function Ago({ at }: { at: Moment }) {
  const ms = momentMs(at);
  if (ms === undefined) return <span class="none">–</span>;
  return (
    <time class="number" dateTime={new Date(ms).toISOString()} title={bothText(ms)}>
      {agoText(ms, ticks.value)}
    </time>
  );
}

/** Changes every second, for ages on the page. */
const ticks = signal(nowMs());
every(1_000, () => {
  if (!document.hidden) ticks.value = nowMs();
});

export function momentMs(time: Moment): number | undefined {
  if (time === undefined || time === "") return undefined;
  const ms = typeof time === "number" ? time : Date.parse(time);
  return Number.isFinite(ms) ? ms : undefined;
}

export function timeText(ms: number, zone: TimeZone, seconds = true): string {
  const length = seconds ? 19 : 16;
  if (zone === "UTC") return `${new Date(ms).toISOString().slice(0, length).replace("T", " ")} UTC`;
  const offset = -new Date(ms).getTimezoneOffset();
  const local = new Date(ms + offset * 60_000).toISOString().slice(0, length).replace("T", " ");
  return `${local} ${offsetText(offset)}`;
}

function bothText(ms: number): string {
  return `${timeText(ms, "UTC")}, ${timeText(ms, "local")}`;
}

function agoText(ms: number, now = nowMs()): string {
  const age = now - ms;
  if (Math.abs(age) < 1_000) return "now";
  // Nobody needs the seconds of an age of minutes, and they would move all the time.
  const stepMs = Math.abs(age) < 60_000 ? 1_000 : 60_000;
  const whole = Math.trunc(age / stepMs) * stepMs;
  return age > 0 ? `${durationText(whole)} ago` : `in ${durationText(-whole)}`;
}

function offsetText(minutes: number): string {
  const size = Math.abs(minutes);
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, "0");
  return `UTC${minutes < 0 ? "−" : "+"}${two(size / 60)}:${two(size % 60)}`;
}
