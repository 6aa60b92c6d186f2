/**
 * The deck's example: views by video. 5,000 shows, five of them with ten million views and bursts
 * when an episode airs. A row stands for several views, so that a sample of a few hundred thousand
 * rows shows all of them.
 */
import { SeededRandom } from "../../lib/seeded-random.ts";
import { NO_DELETES } from "../roles.ts";
import type { SourceRow } from "../row-source.ts";
import { generatedSource, queryOf } from "./example.ts";
import type { Example } from "./example.ts";

const SHOWS = 5_000;
const POPULAR_SHOWS = 5;
const POPULAR_VIEWS = 10_000_000;
const POPULAR_ROWS = 20_000;
const OTHER_ROWS_MAX = 20;
const USERS = 20_000_000;
const EPISODES = 16;
/** The share of views in the hours after an episode airs, and how long half of them take. */
const BURST_SHARE = 0.6;
const BURST_MS = 3 * 3_600_000;
const START_MS = Date.UTC(2020, 0, 1);
const DAYS = 730;
const DAY_MS = 86_400_000;

export const viewsByVideo: Example = {
  name: "views",
  about: "views by video: 5,000 shows, five with ten million views and bursts at the airing",
  roles: {
    table: "views_by_video",
    partitionKey: ["video_id"],
    clustering: [{ column: "view_id", order: "DESC" }],
    time: "view_id",
    candidates: ["user_id", "view_id", "device"],
    weight: "views",
    // Viewers erase one view in a hundred from their history, a day later.
    deletes: { ...NO_DELETES, share: 0.01, afterMicros: DAY_MS * 1_000 },
  },
  queries: [queryOf("all views of a video", ["video_id"])],
  limits: {},
  source: generatedSource("the example views", rows),
};

function* rows(): Generator<SourceRow> {
  const random = new SeededRandom(2021);
  for (let video = 1; video <= SHOWS; video++) yield* viewsOf(video, random.fork());
}

function* viewsOf(video: number, random: SeededRandom): Generator<SourceRow> {
  const popular = video <= POPULAR_SHOWS;
  // From 100 to 20,000 views, a few thousand at the middle.
  const views = popular ? POPULAR_VIEWS : Math.round(100 * 200 ** random.fraction());
  const count = popular ? POPULAR_ROWS : Math.min(OTHER_ROWS_MAX, views);
  const firstAiring = START_MS + random.below(DAYS - 7 * EPISODES) * DAY_MS + 20 * 3_600_000;
  for (let nth = 0; nth < count; nth++) {
    const airing = firstAiring + random.below(EPISODES) * 7 * DAY_MS;
    const ms = random.chance(BURST_SHARE)
      ? airing - BURST_MS * Math.log(1 - random.fraction())
      : START_MS + random.fraction() * DAYS * DAY_MS;
    yield {
      video_id: video,
      view_id: timeUuid(Math.floor(ms), random),
      device: deviceOf(random.fraction()),
      user_id: random.below(USERS),
      views: Math.round(views / count),
    };
  }
}

function deviceOf(fraction: number): string {
  if (fraction < 0.45) return "tv";
  if (fraction < 0.8) return "phone";
  return fraction < 0.95 ? "web" : "tablet";
}

/** A UUID of version 1. */
function timeUuid(ms: number, random: SeededRandom): string {
  const ticks = BigInt(ms) * 10_000n + BigInt(random.below(10_000)) + 0x01b2_1dd2_1381_4000n;
  const hex = ticks.toString(16).padStart(15, "0");
  const node = hexOf(random, 12);
  return `${hex.slice(7)}-${hex.slice(3, 7)}-1${hex.slice(0, 3)}-8${hexOf(random, 3)}-${node}`;
}

function hexOf(random: SeededRandom, digits: number): string {
  return Math.floor(random.fraction() * 16 ** digits)
    .toString(16)
    .padStart(digits, "0");
}
