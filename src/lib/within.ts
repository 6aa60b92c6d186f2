/**
 * A wait with a bound, for what has no bound of its own.
 *
 * What was waited for goes on, unseen: it must be harmless, or stopped by other means.
 */
import type { Clock } from "./clock.ts";

/** What `work` comes to, or a rejection that names it if that takes longer than `ms`. */
export function within<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`${what} took longer than ${ms} ms`)));
    void work.then(resolve, reject).finally(cancel);
  });
}
