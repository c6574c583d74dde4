// Shows HTML from a program in a sandboxed frame (frame.html).

import { el } from "./dom.js";
import { isDark, onTheme } from "./theme.js";

const MOST_HEIGHT = 440;
const ROW_HEIGHT = 29;

const STYLE = `
:root { color-scheme: SCHEME; background: PAPER; }
body { margin: 0; font: 13.5px/1.5 Inter, system-ui, "Segoe UI", Roboto, sans-serif; color: INK; }
table { border-collapse: collapse; border: 0; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px; height: 20px; line-height: 20px; border: 0; border-bottom: 1px solid LINE; text-align: right; white-space: nowrap; }
th { font-weight: 600; color: MUTED; }
thead th { border-bottom: 1px solid STRONG; }
img, svg { max-width: 100%; }
a { color: inherit; }
`;
const COLOURS = {
	light: { SCHEME: "light", PAPER: "#ffffff", INK: "#22262b", MUTED: "#646b74", LINE: "#ebe8e2", STRONG: "#cfcac1" },
	dark: { SCHEME: "dark", PAPER: "#181b1f", INK: "#e3e6ea", MUTED: "#98a1ac", LINE: "#2a2f37", STRONG: "#434a55" },
};

function page(html) {
	const colours = COLOURS[isDark() ? "dark" : "light"];
	const style = STYLE.replace(/[A-Z]{3,}/g, (name) => colours[name] ?? name);
	// Links open in a new window, which the sandbox does not allow, so they have no effect.
	return `<!doctype html><meta charset="utf-8"><base target="_blank"><style>${style}</style>${html}`;
}

/** The page cannot look into the frame, so its height is estimated from table rows or lines. */
function height(html) {
	const rows = html.match(/<tr[\s>]/gi)?.length ?? 0;
	const lines = html.match(/<(?:p|div|br|li|h\d)\b/gi)?.length ?? 0;
	return Math.min(MOST_HEIGHT, Math.max(60, rows ? rows * ROW_HEIGHT + 20 : lines * 22 + 24));
}

export function htmlFrame(html) {
	const frame = el("iframe", {
		class: "html-frame",
		sandbox: "allow-scripts",
		src: "/assets/frame.html",
		height: height(html),
		title: "HTML from the program",
	});
	// The frame's origin is opaque, so no narrower target can be given.
	const send = () => frame.contentWindow?.postMessage(page(html), "*");
	frame.addEventListener("load", send);
	const forget = onTheme(() => (frame.isConnected ? send() : forget()));
	return frame;
}
