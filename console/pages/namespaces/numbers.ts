/** The numbers of the form as a configuration. */
import type { NamespaceChange } from "../../../client/connect.ts";

interface Numbers {
  readonly slice: string;
  readonly bucket: string;
  readonly eventBuckets: string;
  readonly closeAfter: string;
  readonly deleteAfter: string;
  readonly acceptLimit: string;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds of "90s", "15m", "1h" or "7d"; undefined if it is none. */
export function secondsOf(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text.trim()) ?? [];
  const seconds = Number(number) * (SECONDS[unit] ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds : undefined;
}

/** The configuration that the numbers ask for; what is left empty keeps its default. */
export function changeOf(numbers: Numbers): NamespaceChange {
  const duration = (text: string): string | undefined => {
    const seconds = secondsOf(text);
    return seconds === undefined ? undefined : `${seconds}s`;
  };
  const buckets = Number(numbers.eventBuckets);
  const given = {
    timePartition: known({
      secondsPerTimeSlice: secondsOf(numbers.slice),
      secondsPerTimeBucket: secondsOf(numbers.bucket),
      eventBuckets: buckets > 0 ? buckets : undefined,
    }),
    retention: known({
      closeAfter: duration(numbers.closeAfter),
      deleteAfter: duration(numbers.deleteAfter),
    }),
    acceptLimit: duration(numbers.acceptLimit),
  };
  return known(given);
}

/** Without the fields that are undefined. */
function known<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
