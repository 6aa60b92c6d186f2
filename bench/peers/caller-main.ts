/**
 * The process of one caller: it gets pieces of work from the bench, and answers with what each
 * took. It has a process of its own so that callers and servers do not share processor time.
 */
import { braidCaller } from "./braid-caller.ts";
import type { CallerOptions, FromCaller, ToCaller } from "./caller-process.ts";
import { grpcCaller } from "./grpc-caller.ts";
import { postgresCaller } from "./postgres-caller.ts";
import { runWork } from "./run-work.ts";
import { sqliteCaller } from "./sqlite-caller.ts";
import type { PeerCaller } from "./work.ts";

// The bench writes it, and nobody else.
const options = JSON.parse(process.argv[2] ?? "{}") as CallerOptions;
const caller = await open(options);

process.on("message", (work: ToCaller) => {
  void runWork(caller, options.series, work).then(
    (done) => answer({ done }),
    (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit());
answer({ ready: true });

function answer(message: FromCaller): void {
  process.send?.(message);
}

function open({ peer, port, directory }: CallerOptions): PeerCaller | Promise<PeerCaller> {
  switch (peer) {
    case "client":
      return braidCaller(port);
    case "gRPC":
      return grpcCaller(port);
    case "PostgreSQL":
      return postgresCaller(port, "INSERT");
    case "PostgreSQL COPY":
      return postgresCaller(port, "COPY");
    case "SQLite":
      return sqliteCaller(directory);
  }
}
