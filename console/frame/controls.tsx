/** The controls of every page: live or stopped, the time zone, light or dark. */
import { live, refreshNow } from "../api/live.ts";
import { nextTheme, theme } from "./theme.ts";
import { otherTimeZone, timeZone } from "./time-zone.ts";
import { helpIsOpen } from "./shortcuts.tsx";

export function Controls() {
  return (
    <div class="controls" role="group" aria-label="Settings of the console">
      <button
        type="button"
        class={live.value ? "control is-live" : "control"}
        aria-pressed={live.value}
        title="Pages refresh by themselves while this is on (l)"
        onClick={() => (live.value = !live.value)}
      >
        <span class="live-dot" aria-hidden="true" />
        {live.value ? "Live" : "Stopped"}
      </button>
      <button type="button" class="control" title="Refresh now (r)" onClick={refreshNow}>
        Refresh
      </button>
      <button
        type="button"
        class="control"
        title="Show times in UTC or in this browser's time zone (z)"
        onClick={otherTimeZone}
      >
        <span class="visually-hidden">Times: </span>
        {timeZone.value === "UTC" ? "UTC" : "Local time"}
      </button>
      <button
        type="button"
        class="control"
        title="Light, dark or as the system (t)"
        onClick={nextTheme}
      >
        <span class="visually-hidden">Colours: </span>
        {theme.value === "auto" ? "Auto" : theme.value === "light" ? "Light" : "Dark"}
      </button>
      <button
        type="button"
        class="control"
        title="Keyboard shortcuts (?)"
        aria-haspopup="dialog"
        onClick={() => (helpIsOpen.value = true)}
      >
        <kbd>?</kbd>
        <span class="visually-hidden">Keyboard shortcuts</span>
      </button>
    </div>
  );
}
