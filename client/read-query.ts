/** What a read asks for, and the page that answers it. */
import type { CallOptions } from "./call-options.ts";
import type { ItemValue } from "./events.ts";
import type { ResponseContext } from "./messages.ts";
import type { ReceivedEvent } from "./received-event.ts";

export interface ReadQuery extends CallOptions {
  readonly timeSeriesId: string;
  /** The interval includes it. */
  readonly start: Date | string;
  /** The interval excludes it. */
  readonly end: Date | string;
  /** Items an event must have, with exactly these values. */
  readonly filters?: Readonly<Record<string, ItemValue>>;
  readonly order?: "NEWEST_FIRST" | "OLDEST_FIRST";
  readonly pageSize?: number;
  /** Events of all pages together. */
  readonly totalRecordLimit?: number;
  readonly allowPartial?: boolean;
  /** Continues after a page of the same query. */
  readonly pageToken?: string;
}

export interface EventPage {
  readonly events: readonly ReceivedEvent[];
  /** Continues after this page, also in another process; empty at the end. */
  readonly nextPageToken: string;
  /** What the page cost and whether it is partial. */
  readonly context: ResponseContext | undefined;
}
