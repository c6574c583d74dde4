// A table of what this host can enforce, by field and tier.

import { get } from "./api.js";
import { el } from "./dom.js";

const name = (mechanism) => mechanism.replaceAll("_", " ");

function cell(row) {
	if (!row) return el("td", {});
	if (!row.possible.length) return el("td", { class: "none" }, el("span", { class: "muted" }, "not enforced"));
	const list = row.possible.map((mechanism) =>
		row.here.includes(mechanism)
			? el("li", {}, name(mechanism))
			: el("li", { class: "other", title: "For other values, or on other hosts" }, name(mechanism)),
	);
	return el("td", { class: "kept-here" }, el("ul", {}, list));
}

export async function showMatrix(host) {
	const rows = await get("/v1/matrix");
	const tiers = [...new Set(rows.map((row) => row.tier))];
	const built = tiers.filter((tier) => rows.some((row) => row.tier === tier && row.built));
	const fields = [...new Set(rows.map((row) => row.field))];
	const at = new Map(rows.map((row) => [`${row.field} ${row.tier}`, row]));
	host.replaceChildren(
		el("p", { class: "lead" }, "Each policy field, and the mechanisms that enforce it in each tier. The green ones enforce the default policy on this host; the grey ones are for other values or other hosts."),
		el(
			"div",
			{ class: "table-scroll", tabindex: "0", role: "region", "aria-label": "The matrix of this host" },
			el(
				"table",
				{ class: "matrix" },
				el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Field"), built.map((tier) => el("th", { scope: "col" }, tier)))),
				el("tbody", {}, fields.map((field) => el("tr", {}, el("th", { scope: "row" }, field), built.map((tier) => cell(at.get(`${field} ${tier}`)))))),
			),
		),
		el("p", { class: "muted" }, `Not built: ${tiers.filter((tier) => !built.includes(tier)).join(", ")}.`),
	);
}
