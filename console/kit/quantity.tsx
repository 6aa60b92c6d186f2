/** A number with its unit. The exact value is in the title. A missing number is a dash. */
import {
  bytesText,
  countText,
  durationText,
  msOf,
  nounText,
  percentText,
  rateText,
} from "./format.ts";

/** Numbers of the API are also strings: 64-bit integers. */
type Value = number | string | undefined;

export function Bytes({ value }: { value: Value }) {
  const bytes = numberOf(value);
  return bytes === undefined ? <None /> : shown(bytesText(bytes), `${countText(bytes)} bytes`);
}

/** `<Count value={3} noun="event" />` is "3 events". */
export function Count({ value, noun, plural }: { value: Value; noun: string; plural?: string }) {
  const count = numberOf(value);
  if (count === undefined) return <None />;
  return <span class="number">{nounText(count, noun, plural)}</span>;
}

/** Milliseconds, or a duration of the API ("3600s"). */
export function Duration({ value }: { value: Value }) {
  const ms = typeof value === "string" ? msOf(value) : value;
  return ms === undefined ? <None /> : shown(durationText(ms), `${ms} ms`);
}

export function Rate({ value, noun }: { value: Value; noun?: string }) {
  const rate = numberOf(value);
  if (rate === undefined) return <None />;
  return shown(rateText(rate), `${rate} ${noun ?? ""} per second`);
}

/** Of a fraction: 0.37 is "37 %". */
export function Percent({ value }: { value: Value }) {
  const fraction = numberOf(value);
  return fraction === undefined ? <None /> : shown(percentText(fraction), `${fraction * 100} %`);
}

function shown(text: string, exact: string) {
  return (
    <span class="number" title={exact}>
      {text}
    </span>
  );
}

function None() {
  return (
    <span class="none" title="Not known">
      –
    </span>
  );
}

function numberOf(value: Value): number | undefined {
  if (value === undefined || value === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}
