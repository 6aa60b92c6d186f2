/** Keys for what the mouse does, and the dialog that lists them. No key acts while one types. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { nowMs } from "../api/clock.ts";
import { live, refreshNow } from "../api/live.ts";
import { Dialog } from "../kit/dialog.tsx";
import { goTo } from "./router.ts";
import { ROUTES } from "./routes.ts";
import { nextTheme } from "./theme.ts";
import { otherTimeZone } from "./time-zone.ts";

export const helpIsOpen = signal(false);

/** The second key of `g o` follows within this time. */
const SEQUENCE_MS = 1_500;

const KEYS: readonly { key: string; what: string; run: () => void }[] = [
  { key: "?", what: "Show this list", run: () => (helpIsOpen.value = true) },
  { key: "/", what: "Go to the filter of the page", run: focusFilter },
  { key: "r", what: "Refresh now", run: refreshNow },
  { key: "l", what: "Live or stopped", run: () => (live.value = !live.value) },
  { key: "z", what: "UTC or local time", run: otherTimeZone },
  { key: "t", what: "Light, dark or as the system", run: nextTheme },
];

export function Shortcuts() {
  useEffect(listen, []);
  return (
    <Dialog
      title="Keyboard shortcuts"
      open={helpIsOpen.value}
      onClose={() => (helpIsOpen.value = false)}
    >
      <dl class="keys">
        {KEYS.map(({ key, what }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
        {ROUTES.filter((route) => route.key !== undefined).map((route) => (
          <div key={route.path}>
            <dt>
              <kbd>g</kbd> <kbd>{route.key}</kbd>
            </dt>
            <dd>Open {route.title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function listen(): () => void {
  let goPressedAt = -SEQUENCE_MS;
  const pressed = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
    if (nowMs() - goPressedAt < SEQUENCE_MS) {
      goPressedAt = -SEQUENCE_MS;
      const route = ROUTES.find((each) => each.key === event.key);
      if (route !== undefined) goTo(route.path);
      return;
    }
    if (event.key === "g") {
      goPressedAt = nowMs();
      return;
    }
    const found = KEYS.find((each) => each.key === event.key);
    if (found === undefined) return;
    event.preventDefault();
    found.run();
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea") !== null;
}

function focusFilter(): void {
  const filter = document.querySelector("main input[type=search]");
  if (filter instanceof HTMLInputElement) filter.focus();
}
