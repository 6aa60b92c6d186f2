/** Opens the LevelDB database of a store and checks that every acknowledged commit is in it. */
import { join } from "node:path";
import { CommitChain } from "./commit-chain.ts";
import type { LevelOptions } from "./level-options.ts";
import { newLevel } from "./level.ts";
import type { Level } from "./level.ts";

export interface OpenedLevel {
  readonly level: Level;
  readonly chain: CommitChain;
}

export async function openLevel(
  directory: string,
  tuning: LevelOptions,
  acknowledged: number,
): Promise<OpenedLevel> {
  const level = newLevel(join(directory, "level"), tuning);
  try {
    await level.open({ createIfMissing: false });
    return { level, chain: await CommitChain.read(level, acknowledged, tuning.writeBufferSize) };
  } catch (error) {
    await level.close();
    throw error;
  }
}
