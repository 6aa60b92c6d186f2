/** Light, dark, or as the system has it. Kept in this browser. */
import { effect, signal } from "@preact/signals";
import { recall, remember } from "./remembered.ts";

export type Theme = "auto" | "light" | "dark";

const THEMES: readonly Theme[] = ["auto", "light", "dark"];

export const theme = signal<Theme>(THEMES.find((each) => each === recall("theme")) ?? "auto");

/** Changes when colours change, for what is drawn on a canvas. */
export const colours = signal(0);

export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    remember("theme", theme.value);
    colours.value = colours.peek() + 1;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.value += 1;
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}
