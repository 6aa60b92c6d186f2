/** The ids that were read in this browser, newest first; kept by the browser alone. */
const KEPT = 10;

export function recentIds(namespace: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(namespace)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id) => typeof id === "string").slice(0, KEPT) : [];
  } catch {
    return []; // Storage is off, or another program wrote there.
  }
}

export function rememberId(namespace: string, id: string): void {
  const ids = [id, ...recentIds(namespace).filter((each) => each !== id)].slice(0, KEPT);
  try {
    localStorage.setItem(keyOf(namespace), JSON.stringify(ids));
  } catch {
    // Storage is off or full: the ids are only a convenience.
  }
}

function keyOf(namespace: string): string {
  return `braid.recent-ids.${namespace}`;
}
