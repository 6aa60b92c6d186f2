/**
 * Writes src/gen from proto/: messages and services by `buf generate`, and the comments by full
 * name, which the generated descriptors leave out and /openapi.json and /docs show. Writes the
 * client's message types into client/generated.
 *
 * `--check` writes nothing and fails if these folders are not what proto/ says.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import { clientTypes } from "./generate/client-types.ts";

const root = join(import.meta.dirname, "..");
const TARGETS = [join("src", "gen"), join("client", "generated")];
const work = mkdtempSync(join(tmpdir(), "braid-generate-"));
try {
  generate();
  for (const target of TARGETS) {
    if (process.argv.includes("--check")) check(target);
    else replace(target);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Makes every target below the work directory. */
function generate(): void {
  const bin = join(root, "node_modules", ".bin");
  const options = {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"] as ["ignore", "inherit", "inherit"],
    env: { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` },
  };
  execFileSync(join(bin, "buf"), ["generate", "--output", work], options);
  const image = join(work, "image.binpb");
  execFileSync(join(bin, "buf"), ["build", "--as-file-descriptor-set", "-o", image], options);
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(image));
  const ours = set.file.filter((file) => file.package.startsWith("braid."));
  const comments = Object.fromEntries(
    ours.flatMap(commentsOf).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const text = `${JSON.stringify(comments, null, 2)}\n`;
  writeFileSync(join(work, "src", "gen", "comments.json"), text);
  const client = join(work, "client", "generated");
  mkdirSync(client, { recursive: true });
  writeFileSync(join(client, "messages.ts"), clientTypes(ours, comments));
}

function replace(target: string): void {
  const made = join(work, target);
  rmSync(join(root, target), { recursive: true, force: true });
  cpSync(made, join(root, target), { recursive: true });
  console.log(`wrote ${filesBelow(made).length} files to ${target}`);
}

function check(target: string): void {
  const made = join(work, target);
  const expected = filesBelow(made);
  const present = filesBelow(join(root, target));
  const stale = [...new Set([...expected, ...present])].filter(
    (name) =>
      !expected.includes(name) ||
      !present.includes(name) ||
      !readFileSync(join(made, name)).equals(readFileSync(join(root, target, name))),
  );
  if (stale.length === 0) return;
  console.error(`${target} is not what proto/ says: ${stale.join(", ")}. Run scripts/generate.ts.`);
  process.exitCode = 1;
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .toSorted();
}

/** Every comment of a file, by the full name of what it stands above. */
function commentsOf(file: FileDescriptorProto): [string, string][] {
  const names = namesByPath(file);
  const found: [string, string][] = [];
  for (const location of file.sourceCodeInfo?.location ?? []) {
    const name = names.get(location.path.join("."));
    const comment = (location.leadingComments || location.trailingComments)
      .split("\n")
      .map((line) => line.trim())
      .join("\n")
      .trim();
    if (name !== undefined && comment !== "") found.push([name, comment]);
  }
  return found;
}

/**
 * Source locations name things by field numbers and indexes of the descriptor; these are their full
 * names.
 */
function namesByPath(file: FileDescriptorProto): Map<string, string> {
  const names = new Map<string, string>();
  const addEnum = (type: EnumDescriptorProto, path: string, scope: string): void => {
    const name = `${scope}.${type.name}`;
    names.set(path, name);
    type.value.forEach((value, i) => names.set(`${path}.2.${i}`, `${name}.${value.name}`));
  };
  const addMessage = (type: DescriptorProto, path: string, scope: string): void => {
    const name = `${scope}.${type.name}`;
    names.set(path, name);
    type.field.forEach((field, i) => names.set(`${path}.2.${i}`, `${name}.${field.name}`));
    type.nestedType.forEach((nested, i) => addMessage(nested, `${path}.3.${i}`, name));
    type.enumType.forEach((nested, i) => addEnum(nested, `${path}.4.${i}`, name));
  };
  file.messageType.forEach((type, i) => addMessage(type, `4.${i}`, file.package));
  file.enumType.forEach((type, i) => addEnum(type, `5.${i}`, file.package));
  file.service.forEach((service, i) => {
    const name = `${file.package}.${service.name}`;
    names.set(`6.${i}`, name);
    service.method.forEach((method, k) => names.set(`6.${i}.2.${k}`, `${name}.${method.name}`));
  });
  return names;
}
