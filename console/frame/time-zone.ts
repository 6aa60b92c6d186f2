/** Whether times are shown in UTC or in the time of this browser; the other is one hover away. */
import { effect, signal } from "@preact/signals";
import { recall, remember } from "./remembered.ts";

export type TimeZone = "UTC" | "local";

export const timeZone = signal<TimeZone>(recall("time-zone") === "local" ? "local" : "UTC");

effect(() => remember("time-zone", timeZone.value));

export function otherTimeZone(): void {
  timeZone.value = timeZone.value === "UTC" ? "local" : "UTC";
}
