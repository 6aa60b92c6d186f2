import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import cassandra from "cassandra-driver";
import { ServiceError } from "../../lib/errors.ts";
import {
  cannotConnect,
  isMissingTable,
  isRefusal,
  isRefusedTransaction,
  writeFailure,
} from "./driver-errors.ts";

const { errors, types } = cassandra;
const codes = types.responseErrorCodes;

function answered(code: number, message = "no"): Error {
  return new errors.ResponseError(code, message);
}

function noHost(...inner: unknown[]): Error {
  return new errors.NoHostAvailableError(Object.fromEntries(inner.entries()), "none");
}

test("only a write that every node refused outright is certainly not stored", () => {
  const cases: [unknown, boolean][] = [
    [answered(codes.unavailableException), true],
    [answered(codes.invalid, "unconfigured table x"), true],
    [answered(codes.writeTimeout), false],
    [answered(codes.writeFailure), false],
    [answered(codes.overloaded), false],
    [answered(codes.serverError), false],
    [new errors.OperationTimedOutError("late", "a"), false],
    [new Error("socket hang up"), false],
    [noHost(), true],
    [noHost("Host considered as DOWN"), true],
    [noHost("Host considered as DOWN", answered(codes.unavailableException)), true],
    [noHost("Host considered as DOWN", new errors.OperationTimedOutError("late", "a")), false],
    [noHost(Object.assign(new Error("reset"), { isSocketError: true })), false],
    [noHost(Object.assign(new Error("reset"), { requestNotWritten: true })), true],
    [noHost(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })), true],
    [new errors.BusyConnectionError("a", 1, 1), true],
  ];
  for (const [error, certain] of cases) {
    equal(isRefusal(error), certain, String(error));
  }
});

test("a write is STORAGE_UNAVAILABLE if certainly not stored, otherwise OUTCOME_UNKNOWN", () => {
  const refused = writeFailure(answered(codes.unavailableException), "slice a", true);
  equal(refused.code, "STORAGE_UNAVAILABLE");
  equal(writeFailure(answered(codes.writeTimeout), "slice a", false).code, "OUTCOME_UNKNOWN");
  const waited = new ServiceError("STORAGE_UNAVAILABLE", "waited too long");
  equal(writeFailure(waited, "slice a", true), waited);
  equal(writeFailure(waited, "slice a", false).code, "OUTCOME_UNKNOWN");
  const own = new ServiceError("DATA_LOSS", "x");
  equal(writeFailure(own, "slice a", true), own);
});

test("a transaction that a node reports as unavailable may have been made", () => {
  equal(isRefusedTransaction(answered(codes.unavailableException)), false);
  equal(isRefusedTransaction(noHost("down", answered(codes.unavailableException))), false);
  equal(isRefusedTransaction(noHost("Host considered as DOWN")), true);
  equal(isRefusedTransaction(answered(codes.invalid, "unconfigured table x")), true);
});

test("CP6: a missing table is distinguished from other invalid statements", () => {
  equal(isMissingTable(answered(codes.invalid, "unconfigured table data_1")), true);
  equal(isMissingTable(answered(codes.invalid, "Keyspace 'x' does not exist")), true);
  equal(isMissingTable(answered(codes.unprepared)), true);
  equal(isMissingTable(noHost(answered(codes.unprepared))), true);
  equal(isMissingTable(answered(codes.invalid, "Invalid amount of bind variables")), false);
  equal(isMissingTable(answered(codes.unavailableException)), false);
  equal(isMissingTable(noHost()), false);
});

test("G8: a failed connection names the address and the remedy", () => {
  const options = { contactPoints: ["a:1"], datacenter: "east", replication: { east: 1 } };
  const away = cannotConnect(noHost(new Error("connect ECONNREFUSED")), options);
  equal(away.code, "STORAGE_UNAVAILABLE");
  match(away.message, /at a:1 \(data centre east\): connect ECONNREFUSED.*npm run services -- up/);
  const stranger = cannotConnect(noHost(new errors.AuthenticationError("bad password")), options);
  match(stranger.message, /refuses this user: bad password; set BRAID_CASSANDRA_USERNAME/);
});
