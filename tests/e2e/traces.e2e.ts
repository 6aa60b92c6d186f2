/** Traces of a real server, sent to a receiver of this test. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "../../client/connect.ts";
import { makeWide, SOON, splitWide } from "../support/split-namespace.ts";
import { startServer } from "../support/started-server.ts";
import { TraceReceiver, valuesOf } from "../support/trace-receiver.ts";
import type { ReceivedSpan } from "../support/trace-receiver.ts";
import { eventually } from "./splits-support.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";

test("a read, its partitions, the engine's calls and the steps of a split are spans of traces", async () => {
  await using receiver = await TraceReceiver.start();
  await using server = await startServer({
    env: {
      ...SOON,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=not%20secret",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_SERVICE_NAME: "braid-test",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    },
  });
  const client = connect(server.url);
  const wide = await makeWide(client, "plays");
  await splitWide(client, "plays", wide);
  const { start, end } = wide;
  const answer = await fetch(`${server.url}/braid.v1.TimeSeriesService/ReadEventRecords`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      traceparent: `00-${TRACE}-${CALLER}-01`,
      tracestate: "vendor=1",
    },
    body: JSON.stringify({
      namespace: "plays",
      timeSeriesId: "wide",
      timeInterval: { start, end },
      pageSize: 10,
    }),
  });
  equal(answer.status, 200);
  const read = await rootOf(receiver, (span) => span.traceId === TRACE && span.kind === 2);
  equal(read.name, "braid.v1.TimeSeriesService/ReadEventRecords");
  equal(read.parentSpanId, CALLER);
  equal(read.traceState, "vendor=1");
  const { "braid.outcome": outcome, "braid.namespace": namespace } = valuesOf(read.attributes);
  deepEqual([outcome, namespace], ["OK", "plays"]);
  const [partition] = await eventually(
    "the partition of the read has arrived",
    () => receiver.below(read).filter(({ name }) => name === "partition"),
    (found) => found.length > 0,
  );
  ok(partition !== undefined);
  const known = valuesOf(partition.attributes);
  equal(known["braid.time_bucket"], "0");
  match(known["braid.route"] ?? "", /^(?:ORIGINAL|SPLIT)/);
  ok(
    receiver
      .below(partition)
      .some(({ name }) => name === "store scan" || name === "store scanBlocks"),
  );
  ok(BigInt(read.startTimeUnixNano) <= BigInt(partition.startTimeUnixNano));
  ok(BigInt(partition.endTimeUnixNano) >= BigInt(partition.startTimeUnixNano));

  const split = await rootOf(
    receiver,
    ({ name, attributes }) =>
      name === "split" && valuesOf(attributes)["braid.state"] === "COMPLETED",
  );
  const steps = receiver.spans.filter(({ parentSpanId }) => parentSpanId === split.spanId);
  deepEqual(
    steps.map(({ name }) => name).filter((name) => /^(?:plan|copy|validate|confirm)$/.test(name)),
    ["plan", "copy", "validate", "confirm"],
  );
  const copy = steps.find(({ name }) => name === "copy");
  ok(copy !== undefined);
  ok(receiver.below(copy).some(({ name }) => name === "store appendBlocks"));

  // What identifies people is in no trace.
  equal(JSON.stringify(receiver.spans).includes("wide|"), false);
  equal(receiver.resource["service.name"], "braid-test");
  equal(receiver.resource["deployment.environment.name"], "test");
  equal(receiver.requests[0]?.path, "/v1/traces");
  equal(receiver.requests[0]?.headers["api-key"], "not secret");
});

test("a receiver that never answers fails no request, and what does not fit is dropped and counted", async () => {
  const silent = createServer((socket) => void socket.on("error", () => undefined));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo; // It listens on TCP.
  try {
    await using server = await startServer({
      env: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/mine`,
        OTEL_EXPORTER_OTLP_TIMEOUT: "200",
        OTEL_BSP_SCHEDULE_DELAY: "20",
        OTEL_BSP_MAX_QUEUE_SIZE: "4",
      },
      flags: ["--log-level", "error"],
    });
    const client = connect(server.url, { retries: { attemptsMax: 1 } });
    await client.createNamespace("plays");
    for (let nth = 0; nth < 40; nth++) {
      await client.writeSync("plays", [
        { timeSeriesId: "a", eventTime: new Date(), eventId: `e${nth}`, items: {} },
      ]);
    }
    await eventually(
      "spans were dropped",
      async () => (await fetch(`${server.url}/metrics`)).text(),
      (metrics) => /braid_trace_spans_total\{result="dropped"\} [1-9]/.test(metrics),
    );
    // It still stops.
    equal(await server.stop("SIGTERM"), 0);
  } finally {
    silent.close();
  }
});

async function rootOf(
  receiver: TraceReceiver,
  isIt: (span: ReceivedSpan) => boolean,
): Promise<ReceivedSpan> {
  const found = await eventually(
    "the trace has arrived",
    () => receiver.spans.find(isIt),
    (span) => span !== undefined,
  );
  ok(found !== undefined);
  return found;
}
