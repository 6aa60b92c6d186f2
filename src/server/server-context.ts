/** What every part of `braid serve` needs to start. */
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Runtime } from "./runtime.ts";
import type { ServerMetrics } from "./server-metrics.ts";

export interface ServerContext {
  readonly config: ServiceConfig;
  readonly runtime: Runtime;
  readonly parts: CommonParts;
  readonly lifecycle: Lifecycle;
  readonly measures: ServerMetrics;
  /** The name of this process. */
  readonly by: string;
}
