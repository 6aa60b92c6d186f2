import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { readTracingSettings } from "./tracing-settings.ts";
import type { TracingSettings, Variables } from "./tracing-settings.ts";

function settingsOf(variables: Variables): TracingSettings {
  const { settings, warnings } = readTracingSettings(variables);
  deepEqual(warnings, []);
  if (settings === undefined) throw new Error("no traces are wanted");
  return settings;
}

test("traces are wanted with an endpoint or the exporter, and not otherwise", () => {
  const wanted = (variables: Variables) => readTracingSettings(variables).settings !== undefined;
  equal(wanted({}), false);
  equal(wanted({ OTEL_SERVICE_NAME: "x" }), false);
  equal(wanted({ OTEL_TRACES_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://a" }), false);
  equal(wanted({ OTEL_SDK_DISABLED: "true", OTEL_TRACES_EXPORTER: "otlp" }), false);
  equal(wanted({ OTEL_TRACES_EXPORTER: "otlp" }), true);
  equal(wanted({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a" }), true);
  equal(wanted({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://a" }), true);
});

test("the general endpoint gets the standard's path, and that of traces is taken as it is", () => {
  equal(settingsOf({ OTEL_TRACES_EXPORTER: "otlp" }).url, "http://localhost:4318/v1/traces");
  const general = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://a.example/otlp/" };
  equal(settingsOf(general).url, "https://a.example/otlp/v1/traces");
  const own = { ...general, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://b:1/x" };
  equal(settingsOf(own).url, "http://b:1/x");
});

test("headers are decoded, and those of traces come before the general ones", () => {
  const base = { OTEL_TRACES_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_HEADERS: "a=1%2C2, b = x=y" };
  deepEqual(settingsOf(base).headers, { a: "1,2", b: "x=y" });
  deepEqual(settingsOf({ ...base, OTEL_EXPORTER_OTLP_TRACES_HEADERS: "c=3" }).headers, { c: "3" });
});

test("what cannot be used is a warning, and the default counts; no warning shows a header", () => {
  const { settings, warnings } = readTracingSettings({
    OTEL_TRACES_EXPORTER: "otlp,console",
    OTEL_EXPORTER_OTLP_HEADERS: "secret",
    OTEL_EXPORTER_OTLP_TIMEOUT: "soon",
    OTEL_EXPORTER_OTLP_COMPRESSION: "zip",
    OTEL_BSP_MAX_QUEUE_SIZE: "-1",
    OTEL_TRACES_SAMPLER: "sometimes",
  });
  equal(settings?.timeoutMs, 10_000);
  equal(settings?.queueMax, 2_048);
  equal(settings?.gzip, false);
  equal(settings?.sampled("0", undefined), true);
  equal(warnings.length, 6);
  equal(warnings.join().includes("secret"), false);
});

test("over gRPC, or to what is no address, nothing is sent, and a warning says so", () => {
  const grpc = readTracingSettings({
    OTEL_TRACES_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
  });
  equal(grpc.settings, undefined);
  match(grpc.warnings[0] ?? "", /over HTTP, not grpc/);
  for (const url of ["a.example:4318", "ftp://a", "http://"]) {
    const { settings, warnings } = readTracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
    equal(settings, undefined, url);
    equal(warnings.length, 1);
  }
});

test("a batch is never larger than the queue", () => {
  const settings = settingsOf({ OTEL_TRACES_EXPORTER: "otlp", OTEL_BSP_MAX_QUEUE_SIZE: "10" });
  equal(settings.batchMax, 10);
});

test("a ratio decides by the trace id, and the caller's decision comes first", () => {
  const variables = { OTEL_TRACES_EXPORTER: "otlp", OTEL_TRACES_SAMPLER_ARG: "0.25" };
  const low = `${"a".repeat(19)}${"3".padEnd(13, "f")}`;
  const high = `${"a".repeat(19)}${"4".padEnd(13, "0")}`;
  const own = settingsOf({ ...variables, OTEL_TRACES_SAMPLER: "traceidratio" }).sampled;
  deepEqual([own(low, undefined), own(high, undefined)], [true, false]);
  const caller = { traceId: high, spanId: "1", sampled: true, state: "" };
  equal(own(high, caller), false);
  const asCaller = settingsOf({ ...variables, OTEL_TRACES_SAMPLER: "parentbased_traceidratio" });
  equal(asCaller.sampled(high, caller), true);
  equal(asCaller.sampled(low, { ...caller, sampled: false }), false);
  const off = settingsOf({ ...variables, OTEL_TRACES_SAMPLER: "parentbased_always_off" });
  deepEqual([off.sampled(low, undefined), off.sampled(low, caller)], [false, true]);
});
