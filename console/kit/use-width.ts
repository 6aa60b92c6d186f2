/** The width of an element in pixels, for charts that are drawn to measure. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export function useWidth<T extends HTMLElement>(): [holder: { current: T | null }, width: number] {
  const holder = useRef<T>(null);
  const width = useSignal(0);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    width.value = element.clientWidth;
    const resized = new ResizeObserver(() => (width.value = element.clientWidth));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  return [holder, width.value];
}
