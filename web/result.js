// The result of a run: status, resources used, exported files, and the mechanisms
// that enforced each promise.

import { download } from "./api.js";
import { el, save } from "./dom.js";
import { bytes, milliseconds, plural } from "./units.js";

const GOOD = ["ok"];
const WORDS = {
	ok: "Done",
	error: "Failed",
	exit: "Exited",
	timeout: "Out of time",
	cpu_limit: "Out of processor time",
	memory_limit: "Out of memory",
	output_limit: "Too much output",
	killed: "Killed",
	interrupted: "Interrupted",
	rejected: "Rejected",
	install_failed: "Packages not installed",
	refused: "Refused",
	busy: "Busy",
	internal: "Internal error",
	input: "Not valid",
	gone: "Gone",
	key: "Locked",
};

export const word = (status) => WORDS[status] ?? status;

export function kind(status) {
	if (GOOD.includes(status)) return "good";
	return status === "interrupted" ? "plain" : "bad";
}

/** One line: time, memory, warm or cold. */
export function facts({ usage, start, exit_code: exitCode, signal, status, session }) {
	const parts = [];
	if (usage?.wall_ms != null) parts.push(milliseconds(usage.wall_ms));
	if (usage?.memory_peak_bytes != null) parts.push(bytes(usage.memory_peak_bytes));
	if (session) parts.push(`cell ${session.cell}`);
	else if (start) parts.push(`${start} start`);
	if (status === "exit") parts.push(`code ${exitCode}`);
	if (status === "killed" && signal) parts.push(`signal ${signal}`);
	return parts.join(" · ");
}

/** Shows the remedy for a missing module, with a button that applies it. */
export function missingPackage({ remedy, package: name }, allow) {
	const add = () => allow([{ name: "packages", value: [name] }]);
	return el(
		"div",
		{ class: "question remedy" },
		el("p", {}, remedy),
		el("button", { type: "button", class: "small", onclick: add }, `Add ${name} to packages and run again`),
	);
}

function artifact(run, { path, size_bytes: size }) {
	const failed = el("span", { class: "muted" });
	const address = `/v1/runs/${run}/artifacts/${path.split("/").map(encodeURIComponent).join("/")}`;
	const fetchIt = async () => {
		try {
			save(path.split("/").pop(), await download(address));
			failed.textContent = "";
		} catch (error) {
			failed.textContent = error.message;
		}
	};
	return el(
		"li",
		{},
		el("button", { type: "button", class: "file", onclick: fetchIt, "aria-label": `Download ${path}, ${bytes(size)}` }, el("span", {}, path), el("span", { class: "muted" }, bytes(size))),
		failed,
	);
}

export function artifacts(run, result) {
	const { artifacts: files = [], artifacts_skipped: skipped = [] } = result;
	if (!files.length && !skipped.length) return null;
	return el(
		"section",
		{ class: "artifacts", "aria-label": "Artifacts" },
		el("h3", {}, plural(files.length, "artifact")),
		el("ul", {}, files.map((file) => artifact(run, file))),
		skipped.length ? el("p", { class: "muted" }, `Not exported: ${skipped.map(({ path, reason }) => `${path} (${reason})`).join(", ")}`) : null,
	);
}

export function enforcement(result) {
	const rows = result.enforcement ?? [];
	if (!rows.length) return null;
	return el(
		"details",
		{ class: "enforcement" },
		el("summary", {}, "What enforced each promise"),
		el(
			"table",
			{},
			el("thead", {}, el("tr", {}, ["Field", "Strength", "Mechanisms"].map((name) => el("th", { scope: "col" }, name)))),
			el(
				"tbody",
				{},
				rows.map((row) =>
					el(
						"tr",
						{},
						el("th", { scope: "row" }, row.field),
						el("td", {}, el("span", { class: `badge ${row.strength}` }, row.strength.replaceAll("_", " "))),
						el("td", {}, row.mechanisms.join(", ").replaceAll("_", " ")),
					),
				),
			),
		),
	);
}
