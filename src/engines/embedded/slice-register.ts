/**
 * Which slices this machine has, and which it dropped: recorded in the catalog's store, held in
 * memory.
 */
import { ServiceError } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";
import { compareTables } from "../../model/table-names.ts";
import type { CheckedLevel } from "./checked-level.ts";
import { systemKey } from "./system-keys.ts";

export type SliceState = "LIVE" | "DROPPED";

const STATES: readonly SliceState[] = ["LIVE", "DROPPED"];
const KIND = "s";
/**
 * Dropped slices of a namespace that stay recorded, including split tables. More than are ever
 * needed: the reconciler never makes a slice before the newest dropped one.
 */
const DROPPED_KEPT = 8_000;

export class SliceRegister {
  readonly #level: CheckedLevel;
  readonly #states: Map<string, SliceState>;

  private constructor(level: CheckedLevel, states: Map<string, SliceState>) {
    this.#level = level;
    this.#states = states;
  }

  static async open(level: CheckedLevel): Promise<SliceRegister> {
    const states = new Map<string, SliceState>();
    const prefix = systemKey(KIND);
    const iterator = await level.iterate({
      gte: prefix,
      lt: Buffer.concat([prefix, Buffer.from([0xff])]),
    });
    try {
      for await (const [key, value] of iterator) {
        const name = key.subarray(prefix.length, -1).toString();
        const state = STATES.find((known) => encodeState(key, known).equals(value));
        if (state === undefined) {
          throw new ServiceError("DATA_LOSS", "the register of slices is damaged", {
            details: { slice: name },
          });
        }
        states.set(name, state);
      }
    } catch (error) {
      throw level.readError(error);
    } finally {
      await iterator.close();
    }
    return new SliceRegister(level, states);
  }

  stateOf(name: string): SliceState | undefined {
    return this.#states.get(name);
  }

  dropped(): string[] {
    return [...this.#states].filter(([, state]) => state === "DROPPED").map(([name]) => name);
  }

  /**
   * Forgets the oldest dropped slices of each namespace above the limit. Their names contain the
   * time.
   */
  async forgetOldest(kept: number = DROPPED_KEPT): Promise<void> {
    const byNamespace = Map.groupBy(this.dropped(), (name) => name.split("/", 1)[0]);
    for (const names of byNamespace.values()) {
      const byTime = names.toSorted((a, b) => compareTables(tableIn(a), tableIn(b)));
      await this.#forget(byTime.slice(0, -kept));
    }
  }

  /** Forgets the dropped slices of a deleted namespace. */
  forgetNamespace(namespaceId: string): Promise<void> {
    return this.#forget(this.dropped().filter((name) => name.startsWith(`${namespaceId}/`)));
  }

  async #forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await this.#level.writeAgain((batch) => {
      for (const name of names) batch.del(systemKey(KIND, name));
      return names.length;
    });
    for (const name of names) this.#states.delete(name);
  }

  /** Resolves when durable. */
  async record(name: string, state: SliceState): Promise<void> {
    const key = systemKey(KIND, name);
    const value = encodeState(key, state);
    await this.#level.writeAgain((batch) => {
      batch.put(key, value);
      return key.length + value.length;
    });
    this.#states.set(name, state);
  }
}

/** `data_20260328` of `plays-1/data_20260328`. */
function tableIn(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

function encodeState(key: Uint8Array, state: SliceState): Buffer {
  const text = Buffer.from(state);
  const value = Buffer.allocUnsafe(4 + text.length);
  value.writeUInt32BE(hash32(text, hash32(key, 0)), 0);
  text.copy(value, 4);
  return value;
}
