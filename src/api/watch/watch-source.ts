/** What a watch needs of a topic. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { WatchResponseSchema } from "../../gen/braid/v1/control_service_pb.js";

export type WatchResponseInit = Exclude<
  MessageInitShape<typeof WatchResponseSchema>,
  { $typeName: string }
>;

export interface SourceUpdate {
  /** What the watcher has seen with it. */
  readonly seen: number;
  readonly fields: WatchResponseInit;
}

export interface WatchSource {
  /** Calls `wake` when there may be something new, until the returned function is called. */
  watch(wake: () => void): () => void;
  /** Whether `since` has all there is now. */
  readonly ready: boolean;
  /** Why what was sent may be out of date; "" otherwise. */
  readonly stale: string;
  /** Throws what makes it impossible to watch. */
  throwIfFailed(): void;
  /** Undefined if there is nothing new. `seen` undefined: nothing seen yet. */
  since(seen: number | undefined): SourceUpdate | undefined;
  /** This process may have changed something. */
  changed(): void;
}
