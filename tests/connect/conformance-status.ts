/**
 * Stands in for `src/api/protocols/rpc-status.ts` in the conformance server: the suite asks for
 * codes and details that Braid's errors do not have. All else is the server's own code.
 */
import type { Any } from "@bufbuild/protobuf/wkt";
import { ServiceError } from "../../src/lib/errors.ts";
import { rpcStatus as ownStatus } from "../../src/api/protocols/rpc-status.ts";
import type { RpcStatus } from "../../src/api/protocols/rpc-status.ts";

export { clipped, CODE_HEADER } from "../../src/api/protocols/rpc-status.ts";

/** An error as a test case wants it. */
export class WantedError extends ServiceError {
  readonly status: RpcStatus;

  constructor(code: number, message: string, details: readonly Any[]) {
    super("REQUEST_INVALID", message);
    this.status = { code, message, details };
  }
}

/** The suite expects errors of the server itself to have no details. */
export function rpcStatus(error: ServiceError): RpcStatus {
  return error instanceof WantedError ? error.status : { ...ownStatus(error), details: [] };
}
