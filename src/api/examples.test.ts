import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import { ControlService } from "../gen/braid/v1/control_service_pb.js";
import { TimeSeriesService } from "../gen/braid/v1/time_series_service_pb.js";
import { EXAMPLES } from "./examples.ts";

const METHODS = [...TimeSeriesService.methods, ...ControlService.methods];

test("every method has an example, and every example has a method", () => {
  deepEqual(Object.keys(EXAMPLES).toSorted(), METHODS.map(({ name }) => name).toSorted());
});

test("examples match the messages of their methods and show every field of the answer", () => {
  for (const { name, input, output } of METHODS) {
    const example = EXAMPLES[name];
    ok(example !== undefined, name);
    // Throws where a field is unknown or of another type.
    fromJson(input, example.request as JsonValue);
    fromJson(output, example.answer as JsonValue);
    const missing = output.fields
      .map(({ jsonName }) => jsonName)
      .filter((field) => !(field in example.answer) && !LEFT_OUT.has(`${name}.${field}`));
    deepEqual(missing, [], name);
  }
});

/** Only there in some answers: nothing is left to do, nothing is paused, nothing is measured. */
const LEFT_OUT = new Set([
  "ListTunings.next",
  "DecideTuning.got",
  "PurgeTimeSlice.dropTime",
  ...["GetSplit", "RequestSplit", "RetrySplit", "RollbackSplit"].flatMap((name) => [
    `${name}.dueTime`,
    `${name}.progress`,
  ]),
  ...["status", "metrics", "readMode", "verification"].map((field) => `Watch.${field}`),
  ...["CreateNamespace", "GetNamespace", "UpdateNamespace", "UndeleteNamespace"].flatMap((name) => [
    `${name}.splitsPause`,
    `${name}.provisioned`,
    `${name}.waitingTuning`,
  ]),
]);
