/** The one table of methods. gRPC, HTTP, OpenAPI and the docs page all follow it. */
import type { WatchUseCase } from "../watch/watches.ts";
import type { ReadModeUseCases, SplitUseCases, VerifyUseCases } from "../../splits/use-cases.ts";
import { blockedIdMethods } from "./blocked-ids.ts";
import { filterMethods } from "./filters.ts";
import type { FiltersUseCase } from "./filters.ts";
import { histogramMethods } from "./histogram.ts";
import type { SizesUseCase } from "./histogram.ts";
import { idMethods } from "./ids.ts";
import type { IdsUseCase } from "./ids.ts";
import type { Method } from "./method.ts";
import { metricsHistoryMethods } from "./metrics-history.ts";
import type { MetricsHistoryUseCase } from "./metrics-history.ts";
import { namespaceMethods } from "./namespaces.ts";
import type { NamespaceUseCases } from "./namespaces.ts";
import { planMethods } from "./plan.ts";
import type { PlanUseCase } from "./plan.ts";
import { partitionMethods } from "./partitions.ts";
import type { PartitionsUseCase } from "./partitions.ts";
import { queueMethods } from "./queue.ts";
import type { QueueUseCases } from "./queue.ts";
import { readMethods } from "./read-events.ts";
import type { ReadMethods } from "./read-events.ts";
import { readModeMethods } from "./read-mode-methods.ts";
import { remedyMethods } from "./remedies.ts";
import type { RemediesUseCase } from "./remedies.ts";
import { serverMethods } from "./servers.ts";
import type { ServersUseCase } from "./servers.ts";
import { splitMethods } from "./splits.ts";
import { statusMethods } from "./status.ts";
import type { StatusUseCase } from "./status.ts";
import { tuningMethods } from "./tunings.ts";
import type { TuningUseCases } from "./tunings.ts";
import { verifyMethods } from "./verify.ts";
import { watchMethods } from "./watch.ts";
import { widthMapMethods } from "./width-map.ts";
import type { WidthMapUseCase } from "./width-map.ts";
import { writeMethods } from "./write-events.ts";
import type { Writing } from "./write-events.ts";

export interface MethodDependencies {
  readonly writing: Writing;
  readonly reading: ReadMethods;
  readonly namespaces: NamespaceUseCases;
  readonly planner: PlanUseCase;
  readonly sizes: SizesUseCase;
  readonly tunings: TuningUseCases;
  readonly partitions: PartitionsUseCase;
  readonly maps: WidthMapUseCase;
  readonly ids: IdsUseCase;
  readonly doctor: RemediesUseCase;
  readonly splits: SplitUseCases;
  readonly modes: ReadModeUseCases;
  readonly verify: VerifyUseCases;
  readonly queue: QueueUseCases;
  readonly status: StatusUseCase;
  readonly servers: ServersUseCase;
  readonly filters: FiltersUseCase;
  readonly history: MetricsHistoryUseCase;
  readonly watches: WatchUseCase;
}

export function allMethods(deps: MethodDependencies): Method[] {
  return [
    ...writeMethods(deps.writing),
    ...readMethods(deps.reading),
    ...namespaceMethods(deps.namespaces, deps.planner, (name) => deps.tunings.waiting(name)),
    ...planMethods(deps.planner),
    ...blockedIdMethods(deps.namespaces),
    ...histogramMethods(deps.sizes),
    ...tuningMethods(deps.tunings),
    ...partitionMethods(deps.partitions),
    ...widthMapMethods(deps.maps),
    ...idMethods(deps.ids),
    ...remedyMethods(deps.doctor),
    ...splitMethods(deps.splits),
    ...readModeMethods(deps.modes),
    ...verifyMethods(deps.verify, (namespace, splitId) => deps.splits.locate(namespace, splitId)),
    ...queueMethods(deps.queue),
    ...statusMethods(deps.status),
    ...serverMethods(deps.servers),
    ...filterMethods(deps.filters),
    ...metricsHistoryMethods(deps.history),
    ...watchMethods(deps.watches),
  ];
}
