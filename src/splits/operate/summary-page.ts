/** The numbers of all splits as last counted, for one namespace or page by page for all. */
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { NO_SPLITS } from "../../model/split-summary.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import {
  listSummaries,
  readSummary,
  readTotalSummary,
} from "../../records/split-summary-records.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import type { SplitSummaryPage } from "../use-cases.ts";

export interface SummaryPageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** `namespace` "" means all namespaces that have splits. */
export async function readSummaryPage(
  catalog: Catalog,
  namespace: string,
  { pageSize, pageToken }: SummaryPageRequest,
  skip: (entry: UnreadableEntry) => void,
): Promise<SplitSummaryPage> {
  const after = nameIn(pageToken);
  const total = await readTotalSummary(catalog);
  if (namespace !== "") {
    const { name } = await readReadyNamespace(catalog, namespace);
    const summary = await readSummary(catalog, name);
    return { total, namespaces: [summary ?? { ...NO_SPLITS, namespace }], nextPageToken: "" };
  }
  const { summaries, last } = await listSummaries(catalog, after, pageSize, skip);
  return { total, namespaces: summaries, nextPageToken: tokenOf(last) };
}

function tokenOf(name: string): string {
  return Buffer.from(utf8(name)).toString("base64url");
}

function nameIn(token: string): string {
  try {
    const name = fromUtf8(Buffer.from(token, "base64url"));
    if (tokenOf(name) === token) return name;
  } catch {
    // Not UTF-8, so Braid did not issue this token; handled as below.
  }
  throw new ServiceError(
    "PAGE_TOKEN_INVALID",
    "pageToken is not one this server gave out for this list; begin again without it",
  );
}
