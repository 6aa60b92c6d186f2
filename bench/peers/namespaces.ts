/** The namespace that ingest writes to; those that are read are named for how they are stored. */
export const INGEST_NAMESPACE = "ingest";
