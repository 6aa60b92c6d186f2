/** The status of the server, asked once for the whole frame. Pages may read it too. */
import { signal } from "@preact/signals";
import type { ServerStatus } from "../../client/connect.ts";
import type { Query } from "../api/use-query.ts";

export const serverStatus = signal<Query<ServerStatus> | undefined>(undefined);
