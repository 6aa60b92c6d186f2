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
  ListFilters: {
    request: { namespace: "plays", pageSize: 100 },
    answer: {
      filters: [
        {
          namespace: "plays",
          timeSlice: "data_20261115",
          entries: "120",
          capacity: "409",
          bytes: "512",
          checks: "20000",
          hits: "1500",
          falsePositives: "37",
          configuredRate: 0.01,
          expectedRate: 0.0004,
          observedRate: 0.002,
          age: "2.500s",
          loadTime: "2026-11-15T09:50:00Z",
          openTime: "2026-11-15T09:00:10Z",
        },
      ],
      nextPageToken: "",
      process: SERVER.name,
      total: 1,
      totalBytes: "512",
      viewMaxAge: "10s",
    },
  },
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
