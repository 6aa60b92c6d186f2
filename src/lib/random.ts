/**
 * Randomness as a value that callers pass in. Only this file draws it; the simulator passes a
 * seeded source.
 */
import { randomBytes } from "node:crypto";

export interface Random {
  bytes(length: number): Uint8Array;
  /** At least 0 and less than 1. Not for secrets. */
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  fraction: () => Math.random(),
};
