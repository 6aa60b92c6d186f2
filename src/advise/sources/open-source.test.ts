import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { parquetWriteFile } from "hyparquet-writer";
import type { RowSource, SourceRow } from "../row-source.ts";
import { formatOfFile, headOf, openFile, openPipe } from "./open-source.ts";

const folder = mkdtempSync(join(tmpdir(), "braid-advise-"));
const signal = new AbortController().signal;
after(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function rowsIn(source: RowSource): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const batch of source.batches(signal)) rows.push(...batch.rows);
  return rows;
}

test("the name of a file tells its format", () => {
  equal(formatOfFile("a/views.CSV"), "csv");
  equal(formatOfFile("views.jsonl"), "ndjson");
  equal(formatOfFile("views.parquet"), "parquet");
  equal(formatOfFile("views.ndjson.gz"), "ndjson");
  equal(formatOfFile("views.csv.zst"), "csv");
  equal(formatOfFile("views"), undefined);
  equal(formatOfFile("views.gz"), undefined);
});

test("a file of JSON lines gives its rows, twice, nested values as text", async () => {
  const path = fileWith(
    "a.ndjson",
    '{"id":1,"tags":{"a":[1]},"ok":true}\n\n{"id":2,"tags":null}\n',
  );
  const source = await openFile(path, "ndjson");
  const rows = [
    { id: 1, tags: '{"a":[1]}', ok: true },
    { id: 2, tags: null },
  ];
  deepEqual(await rowsIn(source), rows);
  deepEqual(await rowsIn(source), rows);
});

test("long numbers of JSON lines keep their last digits, and a byte order mark is no part of a line", async () => {
  const path = fileWith(
    "long.ndjson",
    '\ufeff{"id":1234567890123456701,"in":[1234567890123456701],"x":0.1234567890123456}\n{"id":-1234567890123456702}\n',
  );
  deepEqual(await rowsIn(await openFile(path, "ndjson")), [
    { id: 1234567890123456701n, in: '["1234567890123456701"]', x: 0.1234567890123456 },
    { id: -1234567890123456702n },
  ]);
});

test("a compressed file is unpacked as it is read, twice; a cut one is refused", async () => {
  const text = `id,device\n${"1,tv\n".repeat(3_000)}`;
  for (const [name, bytes] of [
    ["z.csv.gz", gzipSync(text)],
    ["z.csv.zst", zstdCompressSync(text)],
    ["gzip-by-another-name.csv", gzipSync(text)],
  ] as const) {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    const source = await openFile(path, "csv");
    equal((await rowsIn(source)).length, 3_000);
    equal((await rowsIn(source)).length, 3_000);
    writeFileSync(path, bytes.subarray(0, bytes.length - 12));
    await rejects(rowsIn(await openFile(path, "csv")), /cannot be unpacked/, name);
  }
  const parquet = join(folder, "z.parquet");
  writeFileSync(parquet, gzipSync("PAR1"));
  await rejects(openFile(parquet, "parquet"), /read from its end: unpack it/);
});

test("a directory is refused with what to do", async () => {
  await rejects(openFile(folder, "csv"), /is a directory: give one file of it/);
});

test("a line of JSON without an end is refused before it fills the memory", async () => {
  const endless = Readable.from(
    (function* () {
      for (let nth = 0; nth < 10_000; nth++) yield Buffer.alloc(2 ** 20, "x");
    })(),
  );
  await rejects(rowsIn(openPipe(endless, "ndjson")), /longer than 16 MiB/);
});

test("a letter that is cut between two chunks of JSON lines is read whole", async () => {
  const bytes = Buffer.from('{"name":"Zoë"}\r\n{"name":"Åsa"}');
  const chunks = Array.from(bytes, (byte) => Buffer.from([byte]));
  deepEqual(await rowsIn(openPipe(Readable.from(chunks), "ndjson")), [
    { name: "Zoë" },
    { name: "Åsa" },
  ]);
});

test("a bad line is named by its number", async () => {
  const source = await openFile(fileWith("b.ndjson", '{"id":1}\nid,device\n'), "ndjson");
  await rejects(rowsIn(source), /line 2 is not a JSON object; .*--format csv/);
});

test("a CSV file gives its rows by the names in its first line, with quotes and other separators", async () => {
  const path = fileWith("a.csv", '\ufeffid,device\n1,"tv, large"\n2,web\n');
  deepEqual(await rowsIn(await openFile(path, "csv")), [
    { id: "1", device: "tv, large" },
    { id: "2", device: "web" },
  ]);
  const tabs = fileWith("b.csv", "id\tdevice\r\n1\ttv\r\n");
  deepEqual(await rowsIn(await openFile(tabs, "csv")), [{ id: "1", device: "tv" }]);
  const semicolon = fileWith("d.csv", "id,device\n1,tv;web\n");
  deepEqual(await rowsIn(await openFile(semicolon, "csv")), [{ id: "1", device: "tv;web" }]);
});

test("a CSV file without names, or with the same one twice, is refused; a nameless column gets one", async () => {
  for (const [text, wanted] of [
    ["1,tv\n2,web\n", /first line has a value, "1", .*WITH HEADER = true/],
    ["tv,2024-01-01T00:00:00Z\n", /a value, "2024-01-01T00:00:00Z"/],
    ["id,device,id\n1,tv,2\n", /two columns are named id/],
  ] as const) {
    await rejects(rowsIn(await openFile(fileWith("e.csv", text), "csv")), wanted);
  }
  deepEqual(await rowsIn(await openFile(fileWith("f.csv", ",device\n0,tv\n"), "csv")), [
    { column_1: "0", device: "tv" },
  ]);
});

test("a CSV file with a line that has too many values is refused by its line", async () => {
  const source = await openFile(fileWith("c.csv", "id,device\n1,tv,large\n"), "csv");
  await rejects(rowsIn(source), /c\.csv: .*line 2/);
});

test("a Parquet file gives its rows with their types, from several row groups", async () => {
  const path = join(folder, "a.parquet");
  parquetWriteFile({
    filename: path,
    rowGroupSize: 2,
    columnData: [
      { name: "id", data: [1n, 2n, 3n], type: "INT64" },
      { name: "device", data: ["tv", "web", "tv"], type: "STRING" },
      { name: "at", data: [1, 2, 3].map((ms) => new Date(ms)), type: "TIMESTAMP" },
    ],
  });
  deepEqual(await rowsIn(await openFile(path, "parquet")), [
    { id: 1n, device: "tv", at: new Date(1) },
    { id: 2n, device: "web", at: new Date(2) },
    { id: 3n, device: "tv", at: new Date(3) },
  ]);
});

test("a Parquet file with damaged data is refused with its name", async () => {
  const path = join(folder, "damaged.parquet");
  const data = Array.from({ length: 5_000 }, (_, id) => `device ${id}`);
  parquetWriteFile({ filename: path, columnData: [{ name: "device", data, type: "STRING" }] });
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, 200, 2_000));
  await rejects(
    rowsIn(await openFile(path, "parquet")),
    /damaged\.parquet: its data cannot be read/,
  );
});

test("a file that is not Parquet and a file that does not exist are refused", async () => {
  const source = await openFile(fileWith("b.parquet", "id,device\n1,tv\n"), "parquet");
  await rejects(rowsIn(source), /not a Parquet file/);
  await rejects(openFile(join(folder, "none.csv"), "csv"), /there is no such file/);
});

test("a pipe gives its first rows to guess the roles by, and then all rows", async () => {
  const lines = Array.from({ length: 2_500 }, (_, id) => `${JSON.stringify({ id })}\n`);
  const { head, source } = await headOf(openPipe(Readable.from(lines), "ndjson"), signal);
  equal(head.length, 1_000);
  equal((await rowsIn(source)).length, 2_500);
  throws(() => openPipe(Readable.from([]), "parquet"), /save it to a file/);
});
