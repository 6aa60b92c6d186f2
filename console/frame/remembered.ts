/** Small settings kept in this browser. A browser that keeps nothing gets the defaults. */

export function recall(name: string): string | undefined {
  try {
    return localStorage.getItem(`braid.${name}`) ?? undefined;
  } catch {
    return undefined; // Storage is switched off.
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`braid.${name}`, value);
  } catch {
    // Storage is switched off or full: the setting lasts as long as the page.
  }
}
