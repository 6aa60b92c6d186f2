/**
 * Microseconds and milliseconds as types that the compiler tells apart.
 *
 * Event time and wall clocks count in microseconds, waits and the monotonic clock in milliseconds.
 * The compiler refuses one of these types where the other is expected. It accepts a plain number as
 * either, and arithmetic gives a plain number: so only ports, the clock and margins name the types,
 * and the code between them needs no casts.
 */
declare const unit: unique symbol;

export type Micros = number & { readonly [unit]?: "microseconds" };
export type Millis = number & { readonly [unit]?: "milliseconds" };

/** A length of time that code both waits for and adds to event time. */
export interface Duration {
  readonly ms: Millis;
  readonly micros: Micros;
}

export function durationOfMs(ms: Millis): Duration {
  return { ms, micros: ms * 1_000 };
}
