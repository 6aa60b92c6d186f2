/** Splits on the embedded engine: one process, which serves and splits. */
import { GrpcLoad } from "../support/grpc-load.ts";
import { pagesAlone, ranges, streamRange } from "../support/read-load.ts";
import type { PageFigures, RangeFigures, Side } from "../support/read-load.ts";
import { note } from "../support/report.ts";
import type { Report } from "../support/report.ts";
import { loadSide, untilServed } from "../support/server-load.ts";
import { startServer } from "../support/server-process.ts";
import { SplitControl } from "../support/split-control.ts";
import { median } from "../support/stats.ts";
import { createSpace, sealSpaces } from "../support/wide-space.ts";
import { addGain, addSlower, pageFigure, tell } from "./findings.ts";
import { QUICK_VIEWS, WIDE } from "./options.ts";
import type { SplitBenchOptions } from "./options.ts";
import { measureSplit } from "./time-to-complete.ts";

const EVENT_BYTES = 200;
const MB_MAX = 200;

export async function benchSplitEmbedded(
  report: Report,
  options: SplitBenchOptions,
): Promise<void> {
  const mb = Math.min(options.mb, MB_MAX);
  const server = await startServer(QUICK_VIEWS);
  const grpc = await GrpcLoad.open(server.port);
  try {
    const off = await createSpace(server, { namespace: "wide", widePartition: { detect: false } });
    const packed = await createSpace(server, { namespace: "packed", widePartition: WIDE });
    const { start, end } = packed;
    const sideOf = (name: string, namespace: string, series: string): Side => ({
      name,
      namespace,
      series,
      start,
      end,
    });
    const original = sideOf("original", off.namespace, "wide");
    const narrow = sideOf("1 MB", packed.namespace, "narrow");
    const ten = sideOf("10 MB", packed.namespace, "ten");
    const split = sideOf(`${mb} MB`, packed.namespace, "wide");
    for (const [side, megabytes] of [
      [original, mb],
      [split, mb],
      [ten, 12],
      [narrow, 1],
    ] as const) {
      await loadSide(grpc, side, (megabytes * 1e6) / EVENT_BYTES, EVENT_BYTES);
      note(`loaded ${megabytes} MB as ${side.series} of ${side.namespace}`);
    }
    await new SplitControl(server, off.namespace).setMode("OFF", "the original is measured");
    const control = new SplitControl(server, packed.namespace);
    await control.setMode("SERVE", "the split is measured");
    await sealSpaces(server, [off, packed]);

    for (const [side, megabytes] of [
      [ten, 12],
      [split, mb],
    ] as const) {
      const wide = { side, location: packed.location(side.series), bytes: megabytes * 1e6 };
      // As much of the same events in the other namespace, where a read detects nothing.
      const share = Math.floor(((end - start) * megabytes) / mb);
      const rawRead = async (): Promise<number> =>
        (await streamRange(grpc, { ...original, start: end - share }, "NEWEST_FIRST")).took;
      await measureSplit(report, `embedded, ${megabytes} MB`, grpc, control, wide, rawRead);
      await untilServed(server, side);
    }
    await compare(report, options, grpc, { original, narrow, ten, split }, mb);
    const { resident, anonymous } = await server.peakMemoryMiB();
    tell(
      report,
      "embedded, memory of server and worker in one process, most",
      resident,
      `MiB resident; ${Math.round(anonymous)} MiB without mapped files`,
    );
  } finally {
    grpc.close();
    await server.stop();
  }
}

async function compare(
  report: Report,
  options: SplitBenchOptions,
  grpc: GrpcLoad,
  { original, narrow, ten, split }: Record<"original" | "narrow" | "ten" | "split", Side>,
  mb: number,
): Promise<void> {
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    const whole = { ...options, ranges: 1, bytes: mb * 1e6 };
    const found = await ranges(grpc, [original, split], order, whole, note);
    addGain(
      report,
      `embedded, whole range of ${mb} MB, ${order}, packed against unsplit`,
      found.get(split) as RangeFigures,
      found.get(original) as RangeFigures,
      order === "NEWEST_FIRST" ? 4 : undefined,
    );
    const pages = await pagesAlone(grpc, [original, narrow, ten, split], order, options);
    for (const [side, figures] of pages) {
      const name = `embedded, page of 100, ${order}, ${side.name}`;
      tell(report, name, median(figures.p50), pageFigure(figures));
    }
    addSlower(
      report,
      `embedded, page of 100, ${order}, ${mb} MB split against 1 MB`,
      "p50",
      pages.get(split) as PageFigures,
      pages.get(narrow) as PageFigures,
      1.5,
    );
  }
}
