/** How large events and write requests may be. */

/** Fixed by the contract; a server's configuration may set lower limits. */
export interface EventLimits {
  readonly seriesIdBytesMax: number;
  readonly eventIdBytesMax: number;
  readonly itemKeyBytesMax: number;
  readonly itemsMax: number;
  readonly eventBytesMax: number;
  /** Of one request: this also bounds what the server holds in answers and bookkeeping for it. */
  readonly requestEventsMax: number;
}

export const CONTRACT_EVENT_LIMITS: EventLimits = {
  seriesIdBytesMax: 512,
  eventIdBytesMax: 256,
  itemKeyBytesMax: 256,
  itemsMax: 256,
  eventBytesMax: 1024 * 1024,
  requestEventsMax: 100_000,
};
