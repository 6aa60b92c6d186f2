/** Whether the page is seen: a hidden one asks the server nothing. */
import { signal } from "@preact/signals";

export const pageIsSeen = signal(!document.hidden);

document.addEventListener("visibilitychange", () => {
  pageIsSeen.value = !document.hidden;
});
