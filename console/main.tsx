/** The start of the console: styles, theme, and the frame. */
import { render } from "preact";
import { App } from "./frame/app.tsx";
import { applyTheme } from "./frame/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/kit.css";
import "./styles/frame.css";

applyTheme();
const root = document.querySelector("#app");
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
