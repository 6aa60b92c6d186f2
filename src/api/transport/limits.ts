/**
 * The limits of connections, streams and slow peers, for both versions of HTTP.
 *
 * `server.*` settings limit how many connections and requests there are at once; the size of a
 * request depends on its method.
 */

/** All headers of a request. */
export const HEADER_BYTES_MAX = 16 * 1024;
/** Headers of one HTTP/2 request. */
export const HEADER_PAIRS_MAX = 100;
/** Requests at once on one HTTP/2 connection. */
export const STREAMS_MAX = 256;

/** A normal client sends its first bytes at once. */
export const SILENCE_MS = 10_000;
/** Time for the headers to arrive: a slow sender must not hold a connection indefinitely. */
export const HEADERS_MS = 10_000;
/** Time for a whole request to arrive. */
export const RECEIVE_MS = 30_000;
/** How long the rest of a request may still arrive after its answer was sent. */
export const UNREAD_MS = 5_000;
/** How long an HTTP/1.1 connection stays open between two requests. */
export const KEEP_ALIVE_MS = 75_000;
/** An HTTP/2 session without traffic for this long is ended. */
export const IDLE_MS = 300_000;
/** An HTTP/2 session ends at this age, plus or minus a tenth; streams in flight finish. */
export const AGE_MS = 3_600_000;
/** A peer that vanished is detected within these. */
export const PING_EVERY_MS = 60_000;
export const PING_ANSWER_MS = 20_000;
/** How long connections have to close by themselves after the last answer of a shutdown. */
export const FAREWELL_MS = 500;

/** Connections beyond the limit that may use only health and control. */
export const CONNECTIONS_RESERVED = 16;
/** Exchanges of one connection at a time that are no requests: pages, health, reflection. */
export const CONNECTION_ASIDES_MAX = 64;
/** A connection that has been idle for less than this may be about to send a request. */
export const IDLE_MS_MIN = 1_000;

/**
 * With Node's 64 KiB, a large request waits one round trip per 64 KiB: little on loopback (8 MiB
 * requests were up to 15 % faster with these windows), most of its time on a network. A connection
 * may hold this many unread bytes.
 */
export const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
export const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
/** In MiB: windows of received bytes, and slices of sent bytes. */
export const SESSION_MEMORY_MIB = 64;
/** An HTTP/2 session ends after this many frames that break the protocol. */
export const INVALID_FRAMES_MAX = 100;
/** RST_STREAM frames by the peer: this many at once, and this many per second. */
export const RESET_BURST = 1_000;
export const RESET_RATE = 100;
