/**
 * Thrown if a file of the store is not what was written. Becomes DATA_LOSS, with the store's name.
 */
export class LevelDamage extends Error {
  constructor(message: string) {
    super(message);
    this.name = "LevelDamage";
  }
}
