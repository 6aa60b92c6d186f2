/** The one port of a server: requests within their limits, and the listener that answers them. */
import type { ReadyDetail } from "../api/http.ts";
import { Listener } from "../api/listen.ts";
import type { Method } from "../api/methods/method.ts";
import { Requests } from "../api/requests.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import type { KillSwitch } from "../splits/record/kill-switch.ts";
import type { CommonParts } from "./common-parts.ts";
import { isLoopback } from "./config.ts";
import { requestObserver } from "./measured-methods.ts";
import type { ServerContext } from "./server-context.ts";

/** Of paused namespaces that /readyz names. */
const PAUSED_MAX = 100;

/** When it stops, requests that are under way have the grace to end. */
export async function startListening(
  context: ServerContext,
  methods: readonly Method[],
  killSwitch: KillSwitch,
): Promise<Listener> {
  const { config, runtime, parts, lifecycle, measures } = context;
  const requests = newRequests(context);
  const listener = await Listener.open({
    methods,
    requests,
    metrics: parts.metrics,
    clock: runtime.clock,
    requestBytesMax: config.limits.request_bytes,
    loopbackOnly: isLoopback(config.listen.host),
    notReady: () => parts.storage.notReady(),
    readyDetail: () => readyDetail(parts, killSwitch),
    host: config.listen.host,
    port: config.listen.port,
    connectionsMax: config.server.connections,
  });
  measures.connections.from(() => listener.connections);
  lifecycle.started("the listener", async () => {
    const finished = await listener.drain(config.server.drain_grace);
    if (!finished) {
      const { inFlight } = requests;
      runtime.log.warn({ requests: inFlight }, "requests were cut off: the grace was over");
    }
    await listener.close();
  });
  return listener;
}

/** A server that has not heard of the switch for too long acts as if it were on, and says why. */
function readyDetail({ views }: CommonParts, killSwitch: KillSwitch): ReadyDetail {
  const { by = "", reason = "" } = killSwitch.lastKnown() ?? {};
  const unheard = { on: true, by: "", reason: "not heard of for too long: taken as on" };
  return {
    killSwitch: killSwitch.stale() ? unheard : { on: killSwitch.on(), by, reason },
    paused: views.pausedNames(PAUSED_MAX),
  };
}

function newRequests({ config, runtime, parts, measures }: ServerContext): Requests {
  const budget = new ByteBudget(config.server.request_memory);
  const requests = new Requests({
    ...runtime,
    observe: requestObserver(measures, (name) => parts.views.current(name) !== undefined),
    inFlightMax: config.server.requests_in_flight,
    budget,
  });
  measures.requestsInFlight.from(() => requests.inFlight);
  measures.requestBytes.from(() => budget.used);
  return requests;
}
