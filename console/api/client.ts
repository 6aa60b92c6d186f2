/** The one client of the console. It speaks the public API of the server that served the page. */
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";

/** An operator sees a failure soon, and decides; a long wait would hide it. */
const DEADLINE_MS = 15_000;

export const client: BraidClient = connect(globalThis.location.origin, {
  deadlineMs: DEADLINE_MS,
  retries: { attemptsMax: 2 },
  operator: "console",
});

/** The address for commands that people copy. */
export const serverUrl: string = globalThis.location.origin;
