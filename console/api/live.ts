/** Whether pages refresh by themselves, and the order to refresh now. One setting for all pages. */
import { signal } from "@preact/signals";

/** False while the operator has stopped the page. */
export const live = signal(true);

/** Every change makes each query ask again. */
export const refreshes = signal(0);

export function refreshNow(): void {
  refreshes.value += 1;
}
