/** Numbers for people: two or three digits of an estimate are enough. Pure. */
import { formatCount } from "../lib/quantity.ts";

/** "1,230", "87", "3.4", "0.012". */
export function short(value: number): string {
  if (value >= 1_000) return formatCount(Number(value.toPrecision(3)));
  if (value >= 10) return String(Math.round(value));
  return value === 0 ? "0" : String(Number(value.toPrecision(2)));
}

/** "12 %", "less than 0.01 %". */
export function percent(share: number): string {
  if (share <= 0) return "0 %";
  return share < 0.0001 ? "less than 0.01 %" : `${short(share * 100)} %`;
}

/** "1 partition", "2.5 partitions", "1,230 partitions". */
export function shortQuantity(value: number, noun: string): string {
  const text = short(value);
  return `${text} ${noun}${text === "1" ? "" : "s"}`;
}

/** In units of 1,000, as the limits are given: "98 MB". */
export function bytesText(bytes: number): string {
  for (const [unit, size] of UNITS) if (bytes >= size) return `${short(bytes / size)} ${unit}`;
  return `${Math.round(bytes)} B`;
}

const UNITS = [
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["KB", 1e3],
] as const;
