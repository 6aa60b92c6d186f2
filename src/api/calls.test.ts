import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ControlService } from "../gen/braid/v1/control_service_pb.js";
import { TimeSeriesService } from "../gen/braid/v1/time_series_service_pb.js";
import { ByteBudget } from "../lib/byte-budget.ts";
import { ServiceError } from "../lib/errors.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import { silentLog } from "../lib/log.ts";
import { systemRandom } from "../lib/random.ts";
import { Calls } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { Answer, Method, UnaryMethod } from "./methods/method.ts";
import { Connection } from "./transport/connection.ts";
import { PeerGone } from "./transport/exchange.ts";
import type { Exchange } from "./transport/exchange.ts";

const IN_FLIGHT_MAX = 100;

test("O6: one namespace fills most of the server, never all of it", async () => {
  const fixture = new Fixture();
  let refused = 0;
  for (let n = 0; n < IN_FLIGHT_MAX; n++) {
    const call = fixture.begin(WRITE, `busy ${n}`);
    call.admit();
    call.run(fixture.waiting("busy")).catch((error: unknown) => {
      ok(overloaded(error));
      refused++;
      fixture.close(`busy ${n}`);
    });
    await settled();
  }
  ok(refused > 0, "it is refused at its share");
  ok(refused <= IN_FLIGHT_MAX / 4, "and has most of the server");
  const other = fixture.begin(WRITE, "quiet");
  other.admit();
  deepEqual(await other.run(fixture.answering("quiet")), ANSWER);
});

test("control methods have slots of their own", () => {
  const fixture = new Fixture();
  for (let n = 0; n < IN_FLIGHT_MAX; n++) fixture.begin(WRITE, `c${n}`).admit();
  throws(() => fixture.begin(WRITE, "d").admit(), overloaded);
  fixture.begin(GET, "d").admit();
});

test("O5: one connection has a share of the requests and of the bytes", () => {
  const fixture = new Fixture();
  const calls = Array.from({ length: 10 }, () => fixture.begin(WRITE, "one"));
  for (const call of calls) call.admit();
  throws(() => fixture.begin(WRITE, "one").admit(), overloaded);
  const [call] = calls as [Call];
  call.take(900);
  throws(() => call.take(200), overloaded);
  fixture.close("one");
  equal(fixture.budget.used, 0);
  equal(fixture.calls.inFlight, 0);
});

test("O1: a full server gives up its slowest sender for a new request", async () => {
  const fixture = new Fixture();
  const slow = fixture.begin(WRITE, "slow");
  slow.admit();
  await fixture.clock.advance(1_500);
  for (let n = 1; n < IN_FLIGHT_MAX; n++) fixture.begin(WRITE, `c${n}`).admit();
  fixture.begin(WRITE, "new").admit();
  ok(slow.signal.aborted);
  throws(() => fixture.begin(WRITE, "newer").admit(), overloaded);
});

test("a call whose work does not stop is answered when its time is over", async () => {
  const fixture = new Fixture();
  const call = fixture.begin(WRITE, "a", 50);
  call.admit();
  const running = rejects(call.run(fixture.waiting("plays")), ServiceError);
  await settled();
  await fixture.clock.advance(60);
  await running;
  equal(call.failed(call.signal.reason)?.code, "OUTCOME_UNKNOWN");
  const read = fixture.begin(READ, "b", 0);
  throws(
    () => read.admit(),
    (error) => (error as ServiceError).code === "DEADLINE_EXCEEDED",
  );
});

test("an answer that nobody takes is cut off, a stream later while there is room", () => {
  const fixture = new Fixture();
  const unary = fixture.begin(READ, "a");
  const stream = fixture.begin({ ...READ, kind: "stream" } as unknown as UnaryMethod, "b");
  fixture.stall(unary, 11_000);
  fixture.stall(stream, 11_000);
  fixture.calls.cutStalled();
  deepEqual(fixture.cut, ["a"]);
  fixture.stall(stream, 61_000);
  fixture.calls.cutStalled();
  deepEqual(fixture.cut, ["a", "a", "b"]);
});

test("O3, C27: a call that is over takes neither bytes nor a share, whatever its work still does", async () => {
  const fixture = new Fixture();
  const late = fixture.begin(WRITE, "left");
  late.admit();
  let understood: (request: ReturnType<Fixture["answering"]>) => void = () => undefined;
  const running = late.run(
    new Promise((resolve) => {
      understood = resolve;
    }),
  );
  fixture.close("left");
  // The caller has left while its request was decompressed, decoded or answered.
  understood(fixture.answering("plays"));
  await rejects(running, PeerGone);
  throws(() => late.take(100), PeerGone);
  late.takeAnswer(100);
  late.giveAnswer(50);
  equal(fixture.budget.used, 0);
  equal(fixture.calls.inFlight, 0);
  equal(fixture.calls.sharesHeld, 0);
});

const ANSWER: Answer = { binary: () => Buffer.alloc(0), json: () => "{}" };

function methodOf(desc: UnaryMethod["desc"]): UnaryMethod {
  return {
    kind: "unary",
    desc,
    changes: desc.name.startsWith("Write"),
    requestBytesMax: 1_000,
    fromBinary: () => ({ namespace: "plays", run: () => Promise.resolve(ANSWER) }),
    fromJson: () => ({ namespace: "plays", run: () => Promise.resolve(ANSWER) }),
  };
}

const WRITE = methodOf(TimeSeriesService.method.writeEventRecordsSync);
const READ = methodOf(TimeSeriesService.method.readEventRecords);
const GET = methodOf(ControlService.method.getNamespace);
const WATCH: Method = {
  kind: "stream",
  desc: ControlService.method.watch,
  changes: false,
  lasting: true,
  requestBytesMax: 1_000,
  fromBinary: () => ({ namespace: "", run: () => pagesOf(ANSWER) }),
  fromJson: () => ({ namespace: "", run: () => pagesOf(ANSWER) }),
};

async function* pagesOf(answer: Answer): AsyncGenerator<Answer, void, undefined> {
  yield answer;
}

class Fixture {
  readonly clock = new VirtualClock(0);
  readonly budget = new ByteBudget(10_000);
  readonly cut: string[] = [];
  readonly #connections = new Map<string, Connection>();
  readonly #closers: { connection: string; close: () => void }[] = [];
  readonly #stalled = new Map<Call, number>();
  readonly calls = new Calls({
    clock: this.clock,
    random: systemRandom,
    log: silentLog,
    inFlightMax: IN_FLIGHT_MAX,
    budget: this.budget,
    reads: new FairQueue(this.clock, 8),
    readWaitMsMax: () => 500,
    namespaceExists: () => true,
  });

  begin(method: Method, connection = `c${this.#connections.size}`, deadlineMs?: number): Call {
    const limits = { connectionsMax: 1_000, requestsMax: 10, bytesMax: 1_000 };
    let found = this.#connections.get(connection);
    if (found === undefined) {
      // Only its limits are used here.
      found = new Connection(new PassThrough() as never, limits, this.clock, false);
      this.#connections.set(connection, found);
    }
    const closers = this.#closers;
    const { cut } = this;
    const stalled = this.#stalled;
    const own: { call?: Call } = {};
    const exchange: Exchange = {
      httpVersion: 2,
      verb: "POST",
      query: "",
      path: "",
      headers: {},
      connection: found,
      body: new PassThrough(),
      acceptBody: () => undefined,
      begin: () => undefined,
      send: () => Promise.resolve(),
      end: () => undefined,
      answer: () => undefined,
      cut: () => void cut.push(connection),
      get stalledMs() {
        return own.call === undefined ? 0 : (stalled.get(own.call) ?? 0);
      },
      onClosed: (listener) => void closers.push({ connection, close: () => listener(true) }),
    };
    own.call = this.calls.begin(exchange, method, deadlineMs);
    return own.call;
  }

  stall(call: Call, ms: number): void {
    this.#stalled.set(call, ms);
  }

  close(connection: string): void {
    for (const each of this.#closers) if (each.connection === connection) each.close();
  }

  /** A request whose work never ends. */
  waiting(namespace: string): { namespace: string; run: () => Promise<Answer> } {
    return { namespace, run: () => new Promise<Answer>(() => undefined) };
  }

  answering(namespace: string): { namespace: string; run: () => Promise<Answer> } {
    return { namespace, run: () => Promise.resolve(ANSWER) };
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

function overloaded(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "OVERLOADED";
}

test("watchers have a limit of their own and take nothing from other control methods", () => {
  const fixture = new Fixture();
  for (let nth = 0; nth < 100; nth++) fixture.begin(WATCH).admit();
  equal(fixture.calls.watchers, 100);
  throws(() => fixture.begin(WATCH).admit(), /100 watchers already \(server\.watchers\)/);
  for (let nth = 0; nth < 64; nth++) fixture.begin(GET).admit();
  throws(() => fixture.begin(GET).admit(), /control requests in flight/);
});
