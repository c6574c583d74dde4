// The control for a policy field, by the type of the field.

import { el } from "./dom.js";
import { bytes, seconds } from "./units.js";

/** Formats a value for the user. */
export function shown(field, value) {
	if (value === undefined || value === null) return "";
	if (value === true) return "on";
	if (value === false) return "off";
	if (field.type === "bytes" && typeof value === "number") return bytes(value);
	if (field.type === "time" && typeof value === "number") return seconds(value);
	if (Array.isArray(value)) return value.length ? value.map(entry).join("\n") : "none";
	if (typeof value === "object") return Object.keys(value).length ? lines(field, value).join("\n") : "none";
	return String(value);
}

const entry = (value) => (typeof value === "string" ? value : mountText(value));
const mountText = ({ host, jail, mode }) => [host, jail, mode].filter(Boolean).join(":");

function lines(field, value) {
	if (field.type === "env") return Object.entries(value).map(([name, text]) => `${name}=${text}`);
	return value.map(entry);
}

function mount(line) {
	const [host, jail, mode] = line.split(":");
	return { host, jail: jail ?? host, ...(mode ? { mode } : {}) };
}

function variable(line) {
	const at = line.indexOf("=");
	return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
}

const PARSE_LINES = {
	list: (all) => all,
	paths: (all) => all,
	places: (all) => all,
	mounts: (all) => all.map(mount),
	env: (all) => Object.fromEntries(all.map(variable)),
};

const number = (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);

function toggle(field, id, change) {
	const box = el("input", { type: "checkbox", role: "switch", id, onchange: () => change(box.checked) });
	return { node: box, show: (value, effective) => (box.checked = (value ?? effective) === true) };
}

function choice(field, id, change) {
	const isSwitch = field.type === "switch";
	const value = (text) => (isSwitch && (text === "true" || text === "false") ? text === "true" : text);
	const list = el(
		"select",
		{ id, onchange: () => change(value(list.value)) },
		field.choices.map((text) => el("option", { value: text }, shown(field, value(text)))),
	);
	return { node: list, show: (set, effective) => (list.value = String(set ?? effective)) };
}

function line(field, id, change) {
	const parse = field.type === "text" || field.type === "place" ? (text) => text : number;
	const box = el("input", {
		type: "text",
		id,
		autocomplete: "off",
		spellcheck: "false",
		onchange: () => change(box.value.trim() === "" ? undefined : parse(box.value.trim())),
	});
	const show = (value, effective) => {
		box.placeholder = shown(field, effective);
		if (document.activeElement !== box) box.value = value === undefined ? "" : typeof value === "number" ? shown(field, value) : value;
	};
	return { node: box, show };
}

function several(field, id, change) {
	const fit = () => (box.rows = Math.min(6, Math.max(1, box.value.split("\n").length)));
	const read = () => {
		const all = box.value.split("\n").map((text) => text.trim()).filter(Boolean);
		change(all.length ? PARSE_LINES[field.type](all) : undefined);
	};
	const box = el("textarea", { id, rows: 1, spellcheck: "false", autocomplete: "off", oninput: fit, onchange: read });
	const show = (value, effective) => {
		box.placeholder = `${shown(field, effective)} (one per line)`;
		if (document.activeElement !== box) box.value = value === undefined ? "" : lines(field, value).join("\n");
		fit();
	};
	return { node: box, show, isWide: true };
}

const CONTROLS = {
	bool: toggle,
	switch: choice,
	choice,
	bytes: line,
	time: line,
	count: line,
	text: line,
	place: line,
	list: several,
	paths: several,
	places: several,
	mounts: several,
	env: several,
};

/** { node, show(value, effective), isWide } */
export const control = (field, id, change) => CONTROLS[field.type](field, id, change);
