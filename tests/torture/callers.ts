/** What every group of the torture's callers has, and how a group is used. */
import { setTimeout as pause } from "node:timers/promises";
import type { BraidClient } from "../../client/connect.ts";
import type { SeededRandom } from "../../src/lib/seeded-random.ts";
import type { JudgedQuery, Ledger } from "../e2e/splits-ledger.ts";
import type { Answer, CallsUnderWay } from "./calls-under-way.ts";
import type { Promised } from "./promised.ts";

export interface CallerContext {
  /** Asks once. */
  readonly client: BraidClient;
  /** Asks until it has an answer: for what the torture itself wants to know. */
  readonly patient: BraidClient;
  readonly calls: CallsUnderWay;
  readonly random: SeededRandom;
  /** The name of the call that the next kill is aimed at; "" if there is none. */
  readonly wanted: { call: string };
  /** Violations; must stay empty. */
  readonly wrong: string[];
  /** Names of this era's namespaces end in it. */
  readonly era: number;
}

/** Callers with a namespace of their own. */
export interface Callers {
  begin(): Promise<void>;
  /** Calls until the signal aborts; each promise is one caller. */
  call(signal: AbortSignal): readonly Promise<void>[];
  /** After a restart, before anything else calls: reads all that was acknowledged. */
  check(): Promise<void>;
  /** Without faults: everything must come to rest and be right. */
  end(): Promise<void>;
  /** Events read and compared. */
  readonly eventsJudged: number;
  readonly eventsAcknowledged: number;
}

/** Repeats a call, with pauses of up to twice `meanMs`, until the signal aborts. */
export async function often(
  { random }: CallerContext,
  meanMs: number,
  signal: AbortSignal,
  act: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await act();
    await pause(random.below(2 * meanMs));
  }
}

export async function judgedRead(
  { client, calls }: CallerContext,
  ledger: Ledger,
  namespace: string,
  query: JudgedQuery,
): Promise<Answer<number>> {
  return calls.make("read", () => ledger.read([client], namespace, query));
}

/** Adds what the ledger found, and forgets it there. */
export function collectWrong({ wrong }: CallerContext, namespace: string, ledger: Ledger): void {
  for (const what of ledger.wrong.splice(0)) wrong.push(`${namespace}: ${what}`);
}

export function checkPromise<T extends string | boolean>(
  { wrong }: CallerContext,
  promised: Promised<T>,
  found: T,
): void {
  const problem = promised.problemOf(found);
  if (problem !== undefined) wrong.push(problem);
}
