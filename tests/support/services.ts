/**
 * Where the run's Cassandra and Kafka are, for test files that say `@needs cassandra` or `@needs
 * kafka`.
 *
 * All files of a run share them, so each uses names of its own for what it creates there.
 */
import { randomInt } from "node:crypto";

export interface TestCassandra {
  /** Each "host:port". */
  readonly contactPoints: string[];
  readonly datacenter: string;
}

export function testCassandra(): TestCassandra {
  return {
    contactPoints: addressFrom("BRAID_TEST_CASSANDRA", "cassandra").split(","),
    datacenter: "datacenter1",
  };
}

/** The brokers, each "host:port". */
export function testKafka(): string[] {
  return addressFrom("BRAID_TEST_KAFKA", "kafka").split(",");
}

/** The URL of the agent that serves the Cassandra node's JMX over HTTP. */
export function testJolokia(): string {
  return addressFrom("BRAID_TEST_JOLOKIA", "cassandra");
}

const NAME_CHARS_MAX = 16;
const UNIQUE_CHARS = 8;

/** A unique name: at most 16 characters of a-z and 0-9, the prefix first. */
export function uniqueName(prefix: string): string {
  const kept = prefix.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  // 36^8 is a little more than 2^41; randomInt goes up to 2^48.
  const unique = randomInt(36 ** UNIQUE_CHARS)
    .toString(36)
    .padStart(UNIQUE_CHARS, "0");
  return kept.slice(0, NAME_CHARS_MAX - UNIQUE_CHARS) + unique;
}

function addressFrom(variable: string, need: string): string {
  const address = process.env[variable];
  if (address !== undefined && address !== "") return address;
  throw new Error(
    `${variable} is not set: the file says \`@needs ${need}\` in its opening comment and is run by \`npm test -- <its path>\``,
  );
}
