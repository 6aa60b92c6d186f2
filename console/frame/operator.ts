/** The operator's name, recorded with changes as claimed. Kept in this browser. */
import { effect, signal } from "@preact/signals";
import { recall, remember } from "./remembered.ts";

/** What a name may be: it travels in a header. */
export const OPERATOR_PATTERN = "[!-~](?:[ -~]{0,126}[!-~])?";

export const operator = signal(recall("operator") ?? "");

effect(() => remember("operator", operator.value));

/** The name to send: an operator who gives none is "console". */
export function operatorName(): string {
  const name = operator.peek().trim();
  return new RegExp(`^${OPERATOR_PATTERN}$`).test(name) ? name : "console";
}
