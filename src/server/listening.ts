/** The one port of a server: the limits of calls, and the listener that answers them. */
import type { Outcome } from "../api/error-map.ts";
import type { Listener } from "../api/listen.ts";
import type { Method } from "../api/methods/method.ts";
import type { ReadyDetail } from "../api/http-pages.ts";
import { doubtMessage } from "../namespaces/believed-time.ts";
import type { BelievedTime } from "../namespaces/believed-time.ts";
import { formatTime } from "../wire/time-text.ts";
import type { KillSwitch } from "../splits/record/kill-switch.ts";
import type { CommonParts } from "./common-parts.ts";
import { requestObserver } from "./measured-methods.ts";
import { openListener } from "./open-listener.ts";
import type { ServerContext } from "./server-context.ts";

/** For a namespace that this server does not know (yet). */
const READ_MAX_MS = 1_000;

/** The number of paused namespaces that /readyz names. */
const PAUSED_MAX = 100;

/** Called when a request has ended. `namespace` is "" if it does not exist. */
export type Ended = (method: string, outcome: Outcome, namespace: string, ms: number) => void;

/** On stop, requests in flight have the grace to finish. */
export async function startListening(
  { config, runtime, parts, lifecycle, measures }: ServerContext,
  methods: readonly Method[],
  killSwitch: KillSwitch,
  ended: Ended,
): Promise<Listener> {
  const { views, metrics, storage } = parts;
  const namespaceExists = (name: string): boolean => views.current(name) !== undefined;
  const counted = requestObserver(measures, namespaceExists);
  const { listener, calls, budget } = await openListener(config, runtime, {
    methods,
    metrics,
    notReady: () => storage.notReady(),
    readyDetail: () => readyDetail(parts, killSwitch),
    observe: (method, outcome, namespace, ms) => {
      counted(method, outcome, namespace, ms);
      ended(method, outcome, namespaceExists(namespace) ? namespace : "", ms);
    },
    namespaceExists,
    // The other half of the time for a page is left for reading it.
    readWaitMsMax: (name) =>
      (views.current(name)?.namespace.config.slos.read.maxMs ?? READ_MAX_MS) / 2,
  });
  measures.connections.from(() => listener.connections);
  measures.requestsInFlight.from(() => calls.inFlight);
  measures.watchers.from(() => calls.watchers);
  measures.requestBytes.from(() => budget.used);
  lifecycle.started("the listener", async () => {
    const finished = await listener.drain(config.server.drain_grace);
    if (!finished) {
      const { inFlight } = calls;
      runtime.log.warn(
        { requests: inFlight },
        "cut off requests that did not finish within the grace",
      );
    }
    listener.close();
  });
  return listener;
}

/** A server whose copy of the switch is too old acts as if the switch were on, and says why. */
function readyDetail({ views, time, storage }: CommonParts, killSwitch: KillSwitch): ReadyDetail {
  const { by = "", reason = "" } = killSwitch.lastKnown() ?? {};
  const unheard = {
    on: true,
    by: "",
    reason: "its state is unknown for too long; this server treats it as on",
  };
  return {
    killSwitch: killSwitch.stale() ? unheard : { on: killSwitch.on(), by, reason },
    paused: views.pausedNames(PAUSED_MAX),
    readOnly: storage.readOnly?.(),
    clock: clockDetail(time),
  };
}

function clockDetail(time: BelievedTime): ReadyDetail["clock"] {
  const { doubt, believedMicros } = time.status();
  const message = doubt === undefined ? "" : doubtMessage(doubt.leapMicros);
  return { inDoubt: doubt !== undefined, believedTime: formatTime(believedMicros), message };
}
