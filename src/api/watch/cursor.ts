/**
 * Where a watcher resumes: what it has seen of each topic, as numbers of one process. Opaque to
 * callers. A cursor that this process did not make, or cannot read, means: nothing seen.
 */
import { TOPICS } from "./topics.ts";
import type { Topic } from "./topics.ts";

export type Seen = ReadonlyMap<Topic, number>;

export const CURSOR_CHARACTERS_MAX = 1_024;

/** `scope` is what was watched: a cursor of something else is none. */
export function cursorOf(process: string, scope: number, seen: Seen): string {
  return Buffer.from(JSON.stringify([process, scope, Object.fromEntries(seen)])).toString(
    "base64url",
  );
}

export function seenIn(cursor: string, process: string, scope: number): Seen {
  try {
    const [by, of, seen] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (by !== process || of !== scope || typeof seen !== "object" || seen === null) {
      return new Map();
    }
    const numbers = new Map<Topic, number>();
    for (const topic of TOPICS.values()) {
      const value: unknown = Reflect.get(seen, topic);
      if (Number.isSafeInteger(value)) numbers.set(topic, value as number);
    }
    return numbers;
  } catch {
    // It is no cursor: the watcher starts from the beginning, as after a long break.
    return new Map();
  }
}
