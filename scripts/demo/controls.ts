/** Judges a gain by what was measured on ids that were never split, which should gain nothing. */

/** Beyond this the machine changes measured times by about as much as a split does. */
const CONTROL_GAIN_MIN = 0.7;
const CONTROL_GAIN_MAX = 1.4;

export function isTooNoisy(controls: readonly number[]): boolean {
  return controls.some((gain) => !(gain >= CONTROL_GAIN_MIN && gain <= CONTROL_GAIN_MAX));
}

/** The gain divided by that of the controls, or why it says nothing. */
export function againstControls(gain: number, controls: readonly number[]): string {
  if (controls.length === 0 || isTooNoisy(controls)) return "too noisy to judge";
  const noise = Math.exp(controls.reduce((sum, each) => sum + Math.log(each), 0) / controls.length);
  return times(gain / noise);
}

export function times(gain: number): string {
  return `${gain.toFixed(1)} times`;
}
