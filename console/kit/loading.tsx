/** Shown until the first answer. A quick answer never shows it: it appears after a moment. */
export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}
