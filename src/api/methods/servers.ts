/** ListServers: the servers and workers of the installation. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { ServerProcess_Role } from "../../gen/braid/v1/servers_pb.js";
import type { ServerProcessSchema } from "../../gen/braid/v1/servers_pb.js";
import type { ProcessRecord } from "../../records/process-records.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { durationOfMicros, timeOfMicros } from "./times.ts";

export interface ShownServer extends ProcessRecord {
  /** It has stopped to announce itself. */
  readonly silent: boolean;
}

export interface ListedServers {
  /** By name. */
  readonly servers: readonly ShownServer[];
  /** The name of the process that answers. */
  readonly answeredBy: string;
  /** Processes of a newer version, whose announcement this one cannot read. */
  readonly unreadable: number;
  readonly viewMaxAgeMs: number;
  readonly now: number;
}

export interface ServersUseCase {
  list(): Promise<ListedServers>;
}

export function serverMethods(servers: ServersUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.listServers,
      changes: false,
      namespaceOf: () => "",
      argumentsOf: () => undefined,
      handle: async () => {
        const { servers: listed, answeredBy, unreadable, viewMaxAgeMs, now } = await servers.list();
        return {
          servers: listed.map(serverMessage),
          answeredBy,
          unreadable,
          viewMaxAge: durationOfMillis(viewMaxAgeMs),
          serverTime: timeOfMicros(now),
        };
      },
    }),
  ];
}

export function serverMessage(server: ShownServer): MessageInitShape<typeof ServerProcessSchema> {
  const { startedAt, announcedAt, views, oldestViewMs, oldestFilterMs, role, ...shown } = server;
  return {
    ...shown,
    role: ServerProcess_Role[role],
    startTime: timeOfMicros(startedAt),
    lastSeenTime: timeOfMicros(announcedAt),
    namespaces: views,
    oldestViewAge: durationOfMillis(oldestViewMs),
    ...(oldestFilterMs !== null && { oldestFilterAge: durationOfMillis(oldestFilterMs) }),
  };
}

function durationOfMillis(ms: number): ReturnType<typeof durationOfMicros> {
  return durationOfMicros(Math.round(ms * 1000));
}
