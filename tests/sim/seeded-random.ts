/** The simulator's randomness is that of the program. */
export { SeededRandom } from "../../src/lib/seeded-random.ts";
