// The attempts of the program that were refused, with the policy change that would allow them.

import { post } from "./api.js";
import { el, visible } from "./dom.js";
import { refusal } from "./plan.js";
import { plural } from "./units.js";

const HTTPS = "443";

/** Returns the policy change that would allow it, or null. */
function change(denial, fields) {
	const field = fields.find(({ name }) => name === denial.field);
	if (!field || !denial.flag) return null;
	if (field.type === "bool" || field.type === "switch") return { name: field.name, value: true };
	if (field.type === "paths" && denial.reported?.path) return { name: field.name, value: [denial.reported.path] };
	// "--allow-host example.com:PORT": a program that only resolved the name has not revealed a port.
	const host = /^--\S+ (\S+)$/.exec(denial.flag);
	if (field.type === "list" && host) return { name: field.name, value: [host[1].replace(/PORT$/, HTTPS)] };
	return null;
}

const worded = ({ name, value }) => (Array.isArray(value) ? visible(`${name} ${value.join(", ")}`) : name);

function tried(denial) {
	const what = denial.what ?? [denial.reported?.path, denial.reported?.errno && `(${denial.reported.errno})`].filter(Boolean).join(" ");
	return el(
		"li",
		{},
		el("code", {}, visible(what || denial.syscall || "something")),
		denial.count > 1 ? el("span", { class: "muted" }, ` ${denial.count} times`) : null,
		denial.source === "reported" ? el("span", { class: "muted", title: "Reported only by the program itself" }, " (reported)") : null,
	);
}

/** Groups the denials that the same change would allow. */
function grouped(denials, fields) {
	const groups = new Map();
	for (const denial of denials) {
		const wanted = change(denial, fields);
		const key = wanted ? JSON.stringify(wanted) : "";
		if (!groups.has(key)) groups.set(key, { wanted, denials: [] });
		groups.get(key).denials.push(denial);
	}
	return [...groups.values()];
}

function group({ wanted, denials }, { fields, widen, allow }) {
	const answer = el("div", {});
	// Applied only if the plan accepts the change.
	const tryIt = async (changes) => {
		try {
			await post("/v1/explain", { policy: widen(changes) });
		} catch (error) {
			return answer.replaceChildren(refusal(error, fields, (more) => tryIt([...changes, ...more])));
		}
		return allow(changes);
	};
	return el(
		"li",
		{ class: "denial" },
		el("ul", { class: "tried" }, denials.map(tried)),
		wanted
			? el("button", { type: "button", class: "small", onclick: () => tryIt([wanted]) }, `Allow ${worded(wanted)} and run again`)
			: el("span", { class: "muted" }, "No policy field allows this."),
		answer,
	);
}

/** context: { fields, widen(changes), allow(changes) } */
export function denials(result, context) {
	if (!result.denials?.length) return null;
	const count = result.denials.reduce((sum, denial) => sum + denial.count, 0) + (result.denials_left_out ?? 0);
	return el(
		"section",
		{ class: "denials", "aria-label": "Denials" },
		el("h3", {}, `${plural(count, "attempt")} refused`),
		el("ul", { class: "denial-list" }, grouped(result.denials, context.fields).map((one) => group(one, context))),
	);
}
