/**
 * Whether and where to send traces: the standard environment variables of OpenTelemetry. A value
 * that cannot be used is a warning, and its default counts: a server never fails to start by them.
 */
import type { CallersTrace } from "./traceparent.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface TracingSettings {
  /** Where to POST. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly gzip: boolean;
  readonly timeoutMs: number;
  /** How long ended spans may wait to be sent. */
  readonly delayMs: number;
  /** Ended spans that wait at most; the others are dropped. */
  readonly queueMax: number;
  readonly batchMax: number;
  /** Describes this process. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampled: (traceId: string, caller: CallersTrace | undefined) => boolean;
}

export interface ReadSettings {
  /** Undefined if no traces are wanted. */
  readonly settings: TracingSettings | undefined;
  readonly warnings: readonly string[];
}

const URL_DEFAULT = "http://localhost:4318";
const QUEUE_DEFAULT = 2_048;
const BATCH_DEFAULT = 512;
const TIMEOUT_DEFAULT_MS = 10_000;
const DELAY_DEFAULT_MS = 5_000;
/** Of a trace id, the random digits that decide: as many as a number holds exactly. */
const DECIDING_DIGITS = 13;

export function readTracingSettings(variables: Variables): ReadSettings {
  const warnings: string[] = [];
  const given = (name: string): string | undefined => variables[name]?.trim() || undefined;
  /** A value for traces alone comes before one for everything. */
  const otlp = (name: string): string | undefined =>
    given(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? given(`OTEL_EXPORTER_OTLP_${name}`);
  const off = { settings: undefined, warnings };
  if (given("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return off;
  const exporters = (
    given("OTEL_TRACES_EXPORTER") ?? (otlp("ENDPOINT") === undefined ? "none" : "otlp")
  )
    .split(",")
    .map((each) => each.trim());
  for (const each of exporters) {
    if (each !== "otlp" && each !== "none") {
      warnings.push(
        `OTEL_TRACES_EXPORTER: "${each}" is not known; Braid sends traces by otlp only`,
      );
    }
  }
  if (!exporters.includes("otlp")) return off;
  const protocol = otlp("PROTOCOL") ?? "http/json";
  if (!protocol.startsWith("http/")) {
    warnings.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL: Braid sends traces over HTTP, not ${protocol}; no trace is sent. Set it ` +
        "to http/json, and the endpoint to the receiver's port for HTTP (often 4318)",
    );
    return off;
  }
  const url = urlOf(
    given("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    given("OTEL_EXPORTER_OTLP_ENDPOINT"),
  );
  if (url === undefined) {
    warnings.push("OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https address; no trace is sent");
    return off;
  }
  const number = (name: string, value: string | undefined, byDefault: number): number => {
    if (value === undefined) return byDefault;
    if (/^\d{1,9}$/.test(value) && Number(value) > 0) return Number(value);
    warnings.push(`${name}: "${value}" is not a positive number; ${byDefault} counts`);
    return byDefault;
  };
  const compression = otlp("COMPRESSION") ?? "none";
  if (compression !== "none" && compression !== "gzip") {
    warnings.push(`OTEL_EXPORTER_OTLP_COMPRESSION: "${compression}" is not known; none counts`);
  }
  const queueMax = number(
    "OTEL_BSP_MAX_QUEUE_SIZE",
    given("OTEL_BSP_MAX_QUEUE_SIZE"),
    QUEUE_DEFAULT,
  );
  const batch = given("OTEL_BSP_MAX_EXPORT_BATCH_SIZE");
  const resource = pairsOf("OTEL_RESOURCE_ATTRIBUTES", given("OTEL_RESOURCE_ATTRIBUTES"), warnings);
  const name = given("OTEL_SERVICE_NAME") ?? resource["service.name"] ?? "braid";
  const settings = {
    url,
    headers: pairsOf("OTEL_EXPORTER_OTLP_HEADERS", otlp("HEADERS"), warnings),
    gzip: compression === "gzip",
    timeoutMs: number("OTEL_EXPORTER_OTLP_TIMEOUT", otlp("TIMEOUT"), TIMEOUT_DEFAULT_MS),
    delayMs: number("OTEL_BSP_SCHEDULE_DELAY", given("OTEL_BSP_SCHEDULE_DELAY"), DELAY_DEFAULT_MS),
    queueMax,
    batchMax: Math.min(queueMax, number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", batch, BATCH_DEFAULT)),
    resource: { ...resource, "service.name": name },
    sampled: samplerOf(given("OTEL_TRACES_SAMPLER"), given("OTEL_TRACES_SAMPLER_ARG"), warnings),
  };
  return { settings, warnings };
}

/** An address for traces is taken as it is; to the general one belongs the path of the standard. */
function urlOf(forTraces: string | undefined, general = URL_DEFAULT): string | undefined {
  const url = URL.parse(forTraces ?? general);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (forTraces === undefined) url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/traces`;
  return url.href;
}

/** `a=b,c=d`, with values in percent-encoding. */
function pairsOf(
  variable: string,
  text: string | undefined,
  warnings: string[],
): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of text?.split(",") ?? []) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, at)).trim();
    try {
      if (name === "") throw new Error("it has no name");
      pairs[name] = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      // Not the text itself: headers hold keys.
      warnings.push(`${variable}: one of the pairs is not of the form name=value`);
    }
  }
  return pairs;
}

function samplerOf(
  name = "parentbased_always_on",
  argument: string | undefined,
  warnings: string[],
): TracingSettings["sampled"] {
  const parentBased = name.startsWith("parentbased_");
  const root = rootSampler(name.replace(/^parentbased_/, ""), argument, warnings);
  return (traceId, caller) =>
    parentBased && caller !== undefined ? caller.sampled : root(traceId);
}

function rootSampler(
  name: string,
  argument: string | undefined,
  warnings: string[],
): (traceId: string) => boolean {
  switch (name) {
    case "always_on":
      return () => true;
    case "always_off":
      return () => false;
    case "traceidratio": {
      const ratio = Number(argument ?? "1");
      if (ratio >= 0 && ratio <= 1) {
        // By the trace id, so that all servers decide alike.
        return (traceId) =>
          Number.parseInt(traceId.slice(-DECIDING_DIGITS), 16) < ratio * 16 ** DECIDING_DIGITS;
      }
      warnings.push(`OTEL_TRACES_SAMPLER_ARG: "${argument}" is not between 0 and 1; 1 counts`);
      return () => true;
    }
    default:
      warnings.push(`OTEL_TRACES_SAMPLER: "${name}" is not known; every trace is sampled`);
      return () => true;
  }
}
