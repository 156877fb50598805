import { render } from "preact";
import "./theme";
import { App } from "./app";

const place = document.getElementById("app");
if (place) render(<App />, place);
