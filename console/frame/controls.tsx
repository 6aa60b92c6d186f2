/** The controls of every page: live or stopped, the time zone, light or dark. */
import { live, refreshNow } from "../api/live.ts";
import { nextTheme, theme } from "./theme.ts";
import { otherTimeZone, timeZone } from "./time-zone.ts";
import { serverStatus } from "./server-status.ts";
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
        <span class="control-mark" aria-hidden="true">
          <span class="live-dot" />
        </span>
        {live.value ? "Live" : "Stopped"}
      </button>
      <button type="button" class="control" title="Refresh now (r)" onClick={refreshNow}>
        <Mark text="↻" />
        Refresh
      </button>
      <button
        type="button"
        class="control"
        title="Show times in UTC or in this browser's time zone (z)"
        onClick={otherTimeZone}
      >
        <Mark text="◷" />
        <span class="visually-hidden">Times: </span>
        {timeZone.value === "UTC" ? "UTC" : "Local time"}
      </button>
      <button
        type="button"
        class="control"
        title="Light, dark or as the system (t)"
        onClick={nextTheme}
      >
        <Mark text="◐" />
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
        <Mark text="?" />
        Shortcuts
      </button>
    </div>
  );
}

/** Which server answers, below the controls. */
export function ServedBy() {
  const status = serverStatus.value?.data;
  if (status === undefined) return null;
  return (
    <p class="served-by" title={`Build ${status.build}, Node ${status.nodeVersion}`}>
      Braid {status.version}, {status.process}
    </p>
  );
}

function Mark({ text }: { text: string }) {
  return (
    <span class="control-mark" aria-hidden="true">
      {text}
    </span>
  );
}
