/** The one client of the console. It speaks the public API of the server that served the page. */
import { connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { operatorName } from "../frame/operator.ts";

const OPERATOR = "braid-operator";
/** An operator sees a failure soon, and decides; a long wait would hide it. */
const DEADLINE_MS = 15_000;

export const client: BraidClient = connect(globalThis.location.origin, {
  deadlineMs: DEADLINE_MS,
  retries: { attemptsMax: 2 },
  operator: "console",
  fetch: (input, init) => fetch(input, { ...init, headers: named(new Headers(init?.headers)) }),
});

/** The operator may give a name at any time, so it is put in when a call leaves. */
function named(headers: Headers): Headers {
  if (headers.has(OPERATOR)) headers.set(OPERATOR, operatorName());
  return headers;
}

/** The address for commands that people copy. */
export const serverUrl: string = globalThis.location.origin;
