/**
 * A caller that creates namespaces, fills them, deletes them and restores some of them. What it was
 * acknowledged holds after every kill: a namespace is there or is gone, with all its events.
 */
import type { NewEvent } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import { collectWrong, checkPromise, often } from "./callers.ts";
import type { CallerContext, Callers } from "./callers.ts";
import type { Answer } from "./calls-under-way.ts";
import { Promised } from "./promised.ts";

const SECOND = 1_000_000;
const EVENTS = 60;
const SERIES = "p";

interface Step {
  readonly name: string;
  /** Whether it is done, perhaps by an earlier call whose answer was lost. */
  readonly take: () => Promise<boolean>;
}

export class NamespaceCallers implements Callers {
  readonly #context: CallerContext;
  #created = 0;
  #ledger = new Ledger();
  #exists = new Promised<boolean>("that a namespace exists", false);
  #steps: Step[] = [];
  #from = 0;
  #judgedBefore = 0;
  #acknowledgedBefore = 0;

  constructor(context: CallerContext) {
    this.#context = context;
  }

  get eventsJudged(): number {
    return this.#judgedBefore + this.#ledger.eventsJudged;
  }

  get eventsAcknowledged(): number {
    return this.#acknowledgedBefore + this.#ledger.acknowledged;
  }

  async begin(): Promise<void> {
    this.#next();
  }

  call(signal: AbortSignal): readonly Promise<void>[] {
    return [often(this.#context, 60, signal, () => this.#step())];
  }

  async check(): Promise<void> {
    const context = this.#context;
    const names = await Array.fromAsync(
      context.patient.listNamespaces(),
      ({ namespace }) => namespace,
    );
    const exists = names.includes(this.#name);
    checkPromise(context, this.#exists, exists);
    if (exists) await this.#readWhole();
    collectWrong(context, this.#name, this.#ledger);
  }

  async end(): Promise<void> {
    await this.check();
    const { patient } = this.#context;
    for await (const { namespace } of patient.listNamespaces()) {
      if (namespace === this.#name) await patient.deleteNamespace(namespace, { purge: true });
    }
    for await (const { id } of patient.listDeletedNamespaces()) {
      await patient.deleteNamespace({ id }, { purge: true });
    }
  }

  get #name(): string {
    return `brief_${this.#context.era}_${this.#created}`;
  }

  /** The steps of the next namespace. */
  #next(): void {
    const { random } = this.#context;
    this.#created++;
    this.#judgedBefore = this.eventsJudged;
    this.#acknowledgedBefore = this.eventsAcknowledged;
    this.#ledger = new Ledger();
    this.#exists = new Promised<boolean>(`that ${this.#name} exists`, false);
    this.#from = Date.now() * 1_000 - 30 * SECOND;
    const restored = random.chance(0.7);
    this.#steps = [
      { name: "create", take: () => this.#create() },
      { name: "write", take: () => this.#write() },
      { name: "read", take: () => this.#read() },
      { name: "delete", take: () => this.#delete() },
      ...(restored
        ? [
            { name: "undelete", take: () => this.#undelete() },
            { name: "read", take: () => this.#read() },
            { name: "delete", take: () => this.#delete() },
          ]
        : []),
    ];
  }

  async #step(): Promise<void> {
    const [step] = this.#steps;
    if (step === undefined) this.#next();
    else if (await step.take()) this.#steps.shift();
  }

  async #create(): Promise<boolean> {
    const { calls, client } = this.#context;
    return this.#change(true, ["NAMESPACE_EXISTS"], () =>
      calls.make("create namespace", () => client.createNamespace(this.#name)),
    );
  }

  async #delete(): Promise<boolean> {
    const { calls, client } = this.#context;
    return this.#change(false, ["NAMESPACE_NOT_FOUND"], () =>
      calls.make("delete namespace", () => client.deleteNamespace(this.#name)),
    );
  }

  async #undelete(): Promise<boolean> {
    const { calls, client, wrong } = this.#context;
    const isDeleted = this.#exists.value === false;
    return this.#change(true, ["NAMESPACE_EXISTS", "NAMESPACE_NOT_FOUND"], async () => {
      const answer = await calls.make("undelete namespace", () =>
        client.undeleteNamespace(this.#name),
      );
      const lost = answer.kind === "refused" && answer.code === "NAMESPACE_NOT_FOUND";
      if (lost && isDeleted) wrong.push(`${this.#name} was deleted and cannot be restored`);
      return answer;
    });
  }

  /** `already`: the answers if an earlier call, whose answer was lost, has done it. */
  async #change<T>(
    exists: boolean,
    already: readonly string[],
    call: () => Promise<Answer<T>>,
  ): Promise<boolean> {
    const unsure = this.#exists.value === undefined;
    const answer = await this.#exists.change(exists, call);
    if (answer.kind === "done") return true;
    if (answer.kind !== "refused" || !already.includes(answer.code) || !unsure) return false;
    // So it is known now.
    await this.#exists.change(exists, async () => ({ kind: "done", value: undefined }));
    return true;
  }

  async #write(): Promise<boolean> {
    const { calls, client } = this.#context;
    const events: NewEvent[] = Array.from({ length: EVENTS }, (_, nth) =>
      this.#ledger.event(SERIES, this.#from + nth * 100_000, 300),
    );
    const answer = await calls.make("write", () => client.writeSync(this.#name, events));
    if (answer.kind === "done") this.#ledger.acknowledge(events);
    return answer.kind === "done";
  }

  async #read(): Promise<boolean> {
    const answer = await this.#context.calls.make("read", () => this.#readWhole());
    collectWrong(this.#context, this.#name, this.#ledger);
    return answer.kind === "done";
  }

  async #readWhole(): Promise<void> {
    const query = { series: SERIES, from: this.#from, to: this.#from + 30 * SECOND } as const;
    const whole = { ...query, order: "OLDEST_FIRST", over: "stream" } as const;
    await this.#ledger.read([this.#context.client], this.#name, whole);
  }
}
