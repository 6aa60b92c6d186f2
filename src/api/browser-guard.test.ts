/** Which requests of browsers are refused. Programs send none of these headers. */
import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { browserProblem, crossSiteProblem } from "./browser-guard.ts";

test("a program that sends no header of a browser is not affected", () => {
  equal(browserProblem({ host: "127.0.0.1:8420" }, []), undefined);
  equal(crossSiteProblem({}, "method"), undefined);
});

test("pages of this server may use it, by address, name, and with or without TLS", () => {
  for (const [host, origin] of [
    ["127.0.0.1:8420", "http://127.0.0.1:8420"],
    ["localhost:8420", "https://localhost:8420"],
    ["braid.example", "https://braid.example"],
  ] as const) {
    equal(browserProblem({ host, origin }, ["braid.example"]), undefined, origin);
  }
  equal(crossSiteProblem({ "sec-fetch-site": "same-origin" }, "method"), undefined);
});

test("Z13: pages of other origins, ports, sandboxes and invented names are refused", () => {
  for (const [host, origin] of [
    ["127.0.0.1:8420", "http://evil.example"],
    ["127.0.0.1:8420", "http://127.0.0.1:8421"],
    ["127.0.0.1:8420", "null"],
    ["evil.example", "http://evil.example"],
  ] as const) {
    match(browserProblem({ host, origin }, []) ?? "", /may not use|does not name this server/);
  }
});

test("methods are for pages of this server alone, also by GET; a link to a page may be followed", () => {
  for (const site of ["cross-site", "same-site", "a later word"]) {
    const link = {
      "sec-fetch-site": site,
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    match(crossSiteProblem(link, "method") ?? "", /other origins/);
    equal(crossSiteProblem(link, "page"), undefined);
    match(crossSiteProblem({ ...link, "sec-fetch-dest": "iframe" }, "page") ?? "", /other origins/);
    const image = {
      "sec-fetch-site": site,
      "sec-fetch-mode": "no-cors",
      "sec-fetch-dest": "image",
    };
    match(crossSiteProblem(image, "page") ?? "", /other origins/);
  }
  equal(crossSiteProblem({ "sec-fetch-site": "none" }, "page"), undefined);
});
