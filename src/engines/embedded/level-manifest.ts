/**
 * The content of LevelDB's MANIFEST: which table files are live, how long they are, and from which
 * log on there is something to recover.
 */
import { VarintReader } from "../../wire/varint.ts";
import { LevelDamage } from "./level-damage.ts";
import { readLog } from "./level-log.ts";

export interface LevelManifest {
  /** Live tables: file number to length in bytes. */
  readonly tables: ReadonlyMap<number, number>;
  /** Logs with this number or a greater one are recovered at opening; older ones are leftovers. */
  readonly firstLog: number;
  /** A crash cut the last edit short. */
  readonly torn: boolean;
}

const COMPARATOR = 1;
const LOG_NUMBER = 2;
const NEXT_FILE_NUMBER = 3;
const LAST_SEQUENCE = 4;
const COMPACT_POINTER = 5;
const DELETED_FILE = 6;
const NEW_FILE = 7;
const PREVIOUS_LOG_NUMBER = 9;

export function readManifest(bytes: Uint8Array, name: string): LevelManifest {
  const tables = new Map<number, number>();
  let firstLog = 0;
  const torn = readLog(bytes, name, (edit) => {
    const reader = new VarintReader();
    const number = (): number => {
      const value = reader.read(edit, edit.length);
      if (value < 0) throw new LevelDamage(`${name} has an edit that cannot be read`);
      return value;
    };
    const skip = (): void => {
      const length = number();
      reader.position += length;
    };
    while (reader.position < edit.length) {
      switch (number()) {
        case COMPARATOR:
          skip();
          break;
        case LOG_NUMBER:
          firstLog = number();
          break;
        case NEXT_FILE_NUMBER:
        case LAST_SEQUENCE:
        case PREVIOUS_LOG_NUMBER:
          number();
          break;
        case COMPACT_POINTER:
          number();
          skip();
          break;
        case DELETED_FILE:
          number();
          tables.delete(number());
          break;
        case NEW_FILE: {
          number();
          const file = number();
          tables.set(file, number());
          skip();
          skip();
          break;
        }
        default:
          throw new LevelDamage(`${name} has an edit of an unknown kind`);
      }
    }
  });
  return { tables, firstLog, torn };
}
