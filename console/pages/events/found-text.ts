/** What a search for ids found, and where it looked. */
import type { IdPage } from "../../../client/connect.ts";
import { nounText } from "../../kit/format.ts";

export function foundText(found: IdPage, prefix: string): string {
  const { timeSeriesIds, timeSlices, nextPageToken, notSearched } = found;
  const begins =
    prefix === ""
      ? ""
      : ` that ${timeSeriesIds.length === 1 ? "begins" : "begin"} with “${prefix}”`;
  const where = `in the newest ${nounText(timeSlices.length, "slice")}`;
  const count = nounText(timeSeriesIds.length, "id");
  const older = notSearched === 0 ? "" : ` ${nounText(notSearched, "older slice")} not searched.`;
  if (nextPageToken !== "") return `${count}${begins} so far, ${where}.${older}`;
  if (timeSlices.length === 0) return "There is no slice yet: write an event first.";
  return `${count}${begins}, ${where}.${older}`;
}
