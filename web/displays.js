// A display of a program: the same content in several forms, by MIME type. The
// best form is shown, and the user can choose another.

import { chart } from "./chart.js";
import { el, save } from "./dom.js";
import { htmlFrame } from "./html_frame.js";

const json = (part) => (typeof part === "string" ? JSON.parse(part) : part);
const pretty = (part) => JSON.stringify(json(part), null, 2);
const text = (part) => el("pre", { class: "plain", tabindex: "0" }, typeof part === "string" ? part : pretty(part));
const data = (part) => el("pre", { class: "plain", tabindex: "0" }, pretty(part));
const decode = (base64) => Uint8Array.from(atob(base64.replaceAll(/\s/g, "")), (c) => c.charCodeAt(0));

/** Inside <img>, an SVG runs no scripts and fetches nothing. */
function picture(bytes, type, name) {
	const address = URL.createObjectURL(new Blob([bytes], { type }));
	return el(
		"figure",
		{ class: "picture" },
		el("img", { src: address, alt: "A picture from the program", onload: () => URL.revokeObjectURL(address) }),
		el("button", { class: "quiet save", type: "button", onclick: () => save(name, bytes) }, "Save"),
	);
}

// The form that is listed first is preferred.
const FORMS = [
	{ mime: "image/svg+xml", label: "Figure", show: (part) => picture(new TextEncoder().encode(part), "image/svg+xml", "figure.svg") },
	{ mime: "image/png", label: "Image", show: (part) => picture(decode(part), "image/png", "image.png") },
	{ mime: "image/jpeg", label: "Image", show: (part) => picture(decode(part), "image/jpeg", "image.jpg") },
	{ mime: "image/gif", label: "Image", show: (part) => picture(decode(part), "image/gif", "image.gif") },
	{ mime: "application/vnd.remit.chart+json", label: "Chart", show: (part) => chart(json(part)) },
	{ mime: "text/html", label: "Page", show: (part) => htmlFrame(part) },
	{ mime: "text/markdown", label: "Markdown", show: text },
	{ mime: "text/latex", label: "LaTeX", show: text },
	{ mime: "text/plain", label: "Text", show: text },
	{ mime: "application/json", label: "Data", show: data },
	{ mime: "application/vnd.remit.chart+json", label: "Data", show: data },
];

function forms(mime) {
	const found = FORMS.filter((form) => mime[form.mime] !== undefined);
	// One picture is enough, and the text form of a figure has no information.
	const pictured = found.some((form) => form.mime.startsWith("image/"));
	const seen = new Set();
	return found.filter((form) => {
		const kind = form.mime.startsWith("image/") ? "image" : form.label;
		if (seen.has(kind) || (pictured && form.mime === "text/plain")) return false;
		return seen.add(kind);
	});
}

function others(mime) {
	return Object.keys(mime).filter((type) => !FORMS.some((form) => form.mime === type));
}

function attempt(form, mime) {
	try {
		return form.show(mime[form.mime]);
	} catch (error) {
		return el("p", { class: "muted" }, `This form cannot be shown: ${error.message}`);
	}
}

export function display({ mime, is_value: isValue }) {
	const all = forms(mime);
	const body = el("div", { class: "display-body" });
	const choose = (form, button) => {
		for (const other of tabs.children) other.setAttribute("aria-pressed", String(other === button));
		const shown = form && attempt(form, mime);
		body.replaceChildren(...(shown ? [shown] : [el("p", { class: "muted" }, `Available only as ${others(mime).join(", ")}`)]));
	};
	const tabs = el("div", { class: "forms", role: "group", "aria-label": "Forms of this display" });
	for (const form of all)
		tabs.append(el("button", { type: "button", onclick: (event) => choose(form, event.currentTarget) }, form.label));
	choose(all[0], tabs.firstChild);
	return el(
		"section",
		{ class: isValue ? "display value" : "display", "aria-label": isValue ? "The value of the last expression" : "A display" },
		el("header", {}, el("span", { class: "label" }, isValue ? "Value" : "Display"), all.length > 1 ? tabs : null),
		body,
	);
}
