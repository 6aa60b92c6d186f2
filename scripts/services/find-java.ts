/**
 * Finds the Java that Cassandra runs on, and Maven, which fetches it.
 *
 * Exactly Java 17: Cassandra 5.0 is made for 11 and 17, and from 18 on its security manager is
 * refused. Kafka 4 runs on 17 as well, so one Java is enough for both.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { delimiter, join } from "node:path";

const WHERE_JAVAS_ARE = ["/usr/lib/jvm/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home"];

let java17: string | undefined | null = null;

/** The path of a Java 17, or undefined. Looks once. */
export function findJava17(): string | undefined {
  if (java17 === null) java17 = candidates().find((java) => existsSync(java) && isJava17(java));
  return java17;
}

export function findMaven(): string | undefined {
  return onPath("mvn").find((mvn) => existsSync(mvn));
}

/** What has to be installed before the services can be, or undefined if nothing has. */
export function missingTools(): string | undefined {
  const missing = [
    ...(findJava17() === undefined ? ["Java 17 (Debian and Ubuntu: openjdk-17-jre-headless)"] : []),
    ...(findMaven() === undefined ? ["Maven (Debian and Ubuntu: maven)"] : []),
  ];
  if (missing.length === 0) return undefined;
  return `install ${missing.join(" and ")}; a Java 17 is looked for in JAVA_HOME, in ${WHERE_JAVAS_ARE.join(", ")} and in PATH`;
}

function candidates(): string[] {
  const home = process.env["JAVA_HOME"];
  const homes = [
    ...(home === undefined ? [] : [home]),
    // The ones with 17 in their name first: asking a Java for its version takes a while.
    ...globSync(WHERE_JAVAS_ARE).toSorted((a, b) => Number(named17(b)) - Number(named17(a))),
  ];
  return [...homes.map((each) => join(each, "bin", "java")), ...onPath("java")];
}

function named17(home: string): boolean {
  return home.includes("17");
}

function isJava17(java: string): boolean {
  const { stderr } = spawnSync(java, ["-version"], { encoding: "utf8" });
  return /version "17[."]/.test(stderr);
}

function onPath(command: string): string[] {
  return (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, command));
}
