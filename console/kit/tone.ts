/** How something stands: a colour, always with a word or mark beside it. */
export type Tone = "ok" | "busy" | "warn" | "bad" | "idle";
