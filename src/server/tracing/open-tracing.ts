/** Makes the tracer of a process. Loaded only if the environment asks for traces. */
import { hostname } from "node:os";
import { BUILD_INFO } from "../../lib/build-info.ts";
import type { Runtime, Tracing } from "../runtime.ts";
import { SpanExporter } from "./span-exporter.ts";
import { SpanRecorder } from "./span-recorder.ts";
import { readTracingSettings } from "./tracing-settings.ts";
import type { Variables } from "./tracing-settings.ts";

/** Undefined if no traces are wanted after all. */
export function openTracing(
  variables: Variables,
  { clock, random, log }: Runtime,
): Tracing | undefined {
  const { settings, warnings } = readTracingSettings(variables);
  for (const warning of warnings) log.warn(warning);
  if (settings === undefined) return undefined;
  const resource = {
    "service.version": BUILD_INFO.version,
    "host.name": hostname(),
    "process.pid": String(process.pid),
    ...settings.resource,
  };
  const exporter = new SpanExporter({ clock, random, log, settings: { ...settings, resource } });
  const { sampled } = settings;
  const tracer = new SpanRecorder({ clock, random, sampled, ended: (span) => exporter.add(span) });
  log.info({ receiver: new URL(settings.url).origin }, "traces are sent");
  return { tracer, run: (signal) => exporter.run(signal), spans: () => exporter.counts };
}
