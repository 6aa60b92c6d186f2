/**
 * Events as a program writes them.
 *
 * Times are RFC 3339 text or a Date; text keeps microseconds. Values are bytes or text.
 */

/** A text is sent as its UTF-8. */
export type ItemValue = Uint8Array | string;

export interface NewEvent {
  readonly timeSeriesId: string;
  /** A Date has milliseconds; text may have microseconds. */
  readonly eventTime: Date | string;
  readonly eventId: string;
  readonly items?: Readonly<Record<string, ItemValue>> | ReadonlyMap<string, ItemValue>;
}

/**
 * An event that is already the JSON of an `EventRecord`, as UTF-8. The client sends it unchanged,
 * in a request of JSON.
 */
export interface JsonEvent {
  readonly json: Uint8Array;
}

export function entriesOf(items: NonNullable<NewEvent["items"]>): [string, ItemValue][] {
  return isMap(items) ? [...items] : Object.entries(items);
}

function isMap(items: NonNullable<NewEvent["items"]>): items is ReadonlyMap<string, ItemValue> {
  return items instanceof Map;
}

export function timeText(time: Date | string): string {
  return typeof time === "string" ? time : time.toISOString();
}
