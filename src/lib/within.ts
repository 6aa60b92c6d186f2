/**
 * Bounds a wait for work that has no bound of its own.
 *
 * The work continues unobserved after the bound: it must be harmless, or stopped by other means.
 */
import type { Clock } from "./clock.ts";

/** The result of `work`, or a rejection that names it if that takes longer than `ms`. */
export function within<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`${what} took longer than ${ms} ms`)));
    void work.then(resolve, reject).finally(cancel);
  });
}
