/** Puts conformance-status.ts in the place of the module that it stands in for. */
import { registerHooks } from "node:module";

const STANDS_IN = new URL("conformance-status.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const replaced = specifier.endsWith("/rpc-status.ts") && context.parentURL !== STANDS_IN;
    return replaced ? next(STANDS_IN, context) : next(specifier, context);
  },
});
