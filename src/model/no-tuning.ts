/** Why the tuner proposes nothing: the code that the API returns, and the sentence for people. */
export const NO_TUNING_TEXTS = {
  OFF: "tuning is off",
  CLOCK_IN_DOUBT: "nothing is decided while the server's clock is in doubt",
  EFFECT_NOT_MEASURED: "the last change has not shown its effect in two sealed slices yet",
  TOO_LITTLE_EVIDENCE:
    "fewer than two of the newest six sealed slices hold enough and have the present partitioning",
  NOT_READ: "nobody has read the namespace lately",
  FITS: "partitions have the target size",
  SLICES_DISAGREE: "the two newest sealed slices that hold enough disagree",
  NEWER_SLICES_DISAGREE:
    "most slices that have ended since the evidence, and still take late events, have other sizes",
  COOLING_DOWN: "the last change is too recent",
  NOTHING_BETTER: "no other partitioning comes closer to the target",
  DECIDED_BEFORE: "the sizes have not changed since the last proposal",
} as const;

export type NoTuning = keyof typeof NO_TUNING_TEXTS;

/** What to run about it; undefined if waiting is enough. */
export function noTuningCommand(why: string, namespace: string): string | undefined {
  switch (why) {
    case "OFF":
      return `braid ns update ${namespace} --set tuning.mode=PROPOSE`;
    case "CLOCK_IN_DOUBT":
      return "braid clock confirm";
    default:
      return undefined;
  }
}
