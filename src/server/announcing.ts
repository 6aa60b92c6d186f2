/** Composes the announcement of this process: what it says of itself, and when it is removed. */
import { hostname } from "node:os";
import { BUILD_INFO } from "../lib/build-info.ts";
import type { ProcessRole } from "../records/process-records.ts";
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { ProcessAnnouncer } from "./process-announcer.ts";
import type { Runtime } from "./runtime.ts";

export interface AnnouncedProcess {
  /** Its name in histories. */
  readonly by: string;
  readonly role: ProcessRole;
  /** Undefined if it has no filters. */
  readonly oldestFilterMs: () => number | undefined;
}

/** When the lifecycle stops, the record goes last. Call `startAnnouncing` when all else runs. */
export function newAnnouncer(
  config: ServiceConfig,
  { clock, log }: Runtime,
  { catalog, views, time, margins }: CommonParts,
  lifecycle: Lifecycle,
  { by, role, oldestFilterMs }: AnnouncedProcess,
): ProcessAnnouncer {
  const startedAt = Math.floor(clock.nowMicros());
  const { engine, queue } = config;
  const host = hostname();
  const announcer = new ProcessAnnouncer({
    catalog,
    clock,
    viewMaxAgeMs: margins.viewMaxAge.ms,
    self: () => {
      const { count, oldestMs } = views.ages();
      return {
        name: by,
        role,
        ...BUILD_INFO,
        nodeVersion: process.version,
        engine,
        queue,
        host,
        startedAt,
        views: count,
        oldestViewMs: oldestMs,
        oldestFilterMs: oldestFilterMs() ?? null,
        clockInDoubt: time.status().doubt !== undefined,
      };
    },
    onFailed: (error) => log.warn({ err: error }, "could not announce this process"),
  });
  lifecycle.started("the announcement", () => announcer.withdraw());
  return announcer;
}

/** When the lifecycle stops, the others hear first that this process drains. */
export function startAnnouncing(announcer: ProcessAnnouncer, lifecycle: Lifecycle): void {
  lifecycle.run("announcing this process", (signal) => announcer.run(signal));
}
