/**
 * Asks the Jolokia agent of one node, which serves JMX over HTTP, for Cassandra's metrics: of one
 * table, and of the node itself.
 *
 * A missing agent is normal. An answer is used only if it has the form of Cassandra's; the wait and
 * the bytes read are bounded.
 */
import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { LinkedAbort } from "../../lib/linked-abort.ts";
import { SIZE_BUCKETS, SizeHistogram } from "../../model/size-histogram.ts";
import type { NodeAnswer } from "./partition-sizes-nodes.ts";
import type { Host } from "./session.ts";

const ANSWER_MS_MAX = 2_000;
/** An answer has a few kilobytes. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** One of Cassandra's metrics of a table: its name, and the form of its value. */
interface Metric<T> {
  readonly name: string;
  readonly value: z.ZodType<T>;
}

const PARTITION_SIZES: Metric<readonly number[]> = {
  name: "EstimatedPartitionSizeHistogram",
  value: z.array(z.number().nonnegative()).max(SIZE_BUCKETS),
};

const LIVE_SSTABLES: Metric<number> = {
  name: "LiveSSTableCount",
  value: z.number().int().nonnegative(),
};

/** What a node says of itself; undefined where it does not say. */
export interface NodeFigures {
  /** Reads that wait for a thread. */
  readonly pendingReads: number | undefined;
  /** Reads that it coordinated and that were not answered in time, since it started. */
  readonly readTimeouts: number | undefined;
  /** Time in garbage collections, since it started. */
  readonly gcSeconds: number | undefined;
  /** The share of its machine's processors that it uses now: 0 to 1. */
  readonly cpuShare: number | undefined;
}

/** One request for all figures, in the order in which they are answered. */
const FIGURES = [
  {
    type: "read",
    mbean:
      "org.apache.cassandra.metrics:type=ThreadPools,path=request,scope=ReadStage,name=PendingTasks",
    attribute: "Value",
  },
  {
    type: "read",
    mbean: "org.apache.cassandra.metrics:type=ClientRequest,scope=Read,name=Timeouts",
    attribute: "Count",
  },
  // One for each collector, whatever they are called.
  {
    type: "read",
    mbean: "java.lang:type=GarbageCollector,name=*",
    attribute: ["CollectionTime"],
  },
  { type: "read", mbean: "java.lang:type=OperatingSystem", attribute: "ProcessCpuLoad" },
] as const;

const countSchema = z.number().nonnegative();
const collectorsSchema = z.record(z.string(), z.object({ CollectionTime: countSchema }));
const bulkSchema = z
  .array(z.object({ status: z.number(), value: z.unknown().optional() }))
  .length(4);

export interface TableName {
  readonly keyspace: string;
  readonly table: string;
}

/** `agent` is `http://host:port`. Rejects only when the signal aborts, with its reason. */
export async function readSizeHistogram(
  clock: Clock,
  agent: string,
  table: TableName,
  signal: AbortSignal,
): Promise<NodeAnswer<SizeHistogram>> {
  const answer = await readMetric(clock, agent, table, PARTITION_SIZES, signal);
  return "value" in answer ? { value: SizeHistogram.ofCounts(answer.value) } : answer;
}

/** In how many data files (SSTables) the node has the table. Otherwise like `readSizeHistogram`. */
export function readDataFiles(
  clock: Clock,
  agent: string,
  table: TableName,
  signal: AbortSignal,
): Promise<NodeAnswer<number>> {
  return readMetric(clock, agent, table, LIVE_SSTABLES, signal);
}

/** Figures of the node itself. Otherwise like `readSizeHistogram`. */
export async function readFigures(
  clock: Clock,
  agent: string,
  signal: AbortSignal,
): Promise<NodeAnswer<NodeFigures>> {
  const answer = await ask(clock, `${agent}/jolokia/`, agent, signal, JSON.stringify(FIGURES));
  if ("reason" in answer) return answer;
  const { success, data } = bulkSchema.safeParse(jsonOf(answer.value));
  if (!success) return { reason: `the service at ${agent} does not answer as Jolokia does` };
  const [pending, timeouts, collectors, cpu] = data.map(({ status, value }) =>
    status === 200 ? value : undefined,
  );
  const collected = collectorsSchema.safeParse(collectors).data;
  const gcMs =
    collected === undefined
      ? undefined
      : Object.values(collected).reduce((sum, { CollectionTime }) => sum + CollectionTime, 0);
  return {
    value: {
      pendingReads: countSchema.safeParse(pending).data,
      readTimeouts: countSchema.safeParse(timeouts).data,
      gcSeconds: gcMs === undefined ? undefined : gcMs / 1_000,
      // Negative until the machine knows.
      cpuShare: countSchema.max(1).safeParse(cpu).data,
    },
  };
}

async function readMetric<T>(
  clock: Clock,
  agent: string,
  { keyspace, table }: TableName,
  metric: Metric<T>,
  signal: AbortSignal,
): Promise<NodeAnswer<T>> {
  const bean = `org.apache.cassandra.metrics:type=Table,keyspace=${keyspace},scope=${table},name=${metric.name}`;
  const answer = await ask(clock, `${agent}/jolokia/read/${bean}/Value`, agent, signal);
  return "value" in answer ? valueOf(answer.value, agent, metric) : answer;
}

/** The text of the agent's answer. A request with a body is a POST. */
async function ask(
  clock: Clock,
  url: string,
  agent: string,
  signal: AbortSignal,
  body?: string,
): Promise<NodeAnswer<string>> {
  signal.throwIfAborted();
  const leaving = new LinkedAbort(signal);
  const cancel = clock.after(ANSWER_MS_MAX, () => leaving.abort());
  try {
    const response = await fetch(url, {
      signal: leaving.signal,
      redirect: "error",
      ...(body !== undefined && { method: "POST", body }),
    });
    const value = await textOf(response, ANSWER_BYTES_MAX);
    return response.ok ? { value } : { reason: `the agent at ${agent} answers ${response.status}` };
  } catch (error) {
    signal.throwIfAborted();
    if (leaving.signal.aborted) {
      return { reason: `the agent at ${agent} did not answer within ${ANSWER_MS_MAX} ms` };
    }
    return { reason: `no Jolokia agent at ${agent} (${causeOf(error)})` };
  } finally {
    cancel();
    leaving.abort();
  }
}

function valueOf<T>(body: string, agent: string, metric: Metric<T>): NodeAnswer<T> {
  // Jolokia answers 200 even if the status inside is another.
  const answerSchema = z.object({
    status: z.number(),
    value: metric.value.optional(),
    error: z.string().optional(),
    error_type: z.string().optional(),
  });
  const { success, data } = answerSchema.safeParse(jsonOf(body));
  if (!success) return { reason: `the service at ${agent} does not answer as Jolokia does` };
  const { status, value, error, error_type } = data;
  if (status === 200 && value !== undefined) return { value };
  if (error_type?.endsWith(".InstanceNotFoundException") === true) {
    return { reason: `the node of the agent at ${agent} does not know the slice's table` };
  }
  const why = (error ?? "no reason given").slice(0, 200);
  return { reason: `the agent at ${agent} answers ${status}: ${why}` };
}

/** At the address on which the node answers CQL. */
export function agentOf({ address }: Host, port: number): string {
  const host = address.slice(0, address.lastIndexOf(":"));
  return `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
}

async function textOf(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  if (body === null) return "";
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error("its answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Undefined if it is not JSON; no schema accepts that. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // For example the web page of another service on that port.
    return undefined;
  }
}

/**
 * `fetch` only says that it failed; the reason is in the cause or, for several addresses, in its
 * code.
 */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
