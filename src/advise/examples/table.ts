/** The generated examples, by name. */
import type { Example } from "./example.ts";
import { jaegerTags } from "./jaeger-tags.ts";
import { kairosdbPoints } from "./kairosdb-points.ts";
import { viewsByVideo } from "./views-by-video.ts";

export const EXAMPLES: readonly Example[] = [viewsByVideo, jaegerTags, kairosdbPoints];
