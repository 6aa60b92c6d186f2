/** Examples of the methods on servers and workers: see `examples.ts`. */
import type { Example } from "./example.ts";

const SERVER = {
  name: "server-5f0c2a9d4b71",
  role: "SERVER",
  version: "0.1.0",
  build: "source",
  nodeVersion: "v24.11.1",
  engine: "cassandra",
  queue: "kafka",
  host: "braid-1",
  startTime: "2026-11-15T09:00:00Z",
  lastSeenTime: "2026-11-15T10:00:00Z",
  silent: false,
  draining: false,
  namespaces: 1,
  oldestViewAge: "1.200s",
  oldestFilterAge: "2.500s",
  clockInDoubt: false,
};

const { oldestFilterAge: _none, ...WITHOUT_FILTERS } = SERVER;

export const SERVER_EXAMPLES: Readonly<Record<string, Example>> = {
  ListServers: {
    request: {},
    answer: {
      servers: [
        SERVER,
        {
          ...WITHOUT_FILTERS,
          name: "worker-0d1f77a2c3e4",
          role: "WORKER",
          host: "braid-2",
          lastSeenTime: "2026-11-15T09:59:52Z",
        },
      ],
      answeredBy: SERVER.name,
      unreadable: 0,
      viewMaxAge: "10s",
      serverTime: "2026-11-15T10:00:00Z",
    },
  },
};
