// The plan for the policy, requested after each change: the mechanisms that would
// enforce each field here, or why a field cannot be enforced.

import { post } from "./api.js";
import { el } from "./dom.js";
import { word } from "./result.js";

const DEBOUNCE_MS = 120;
const WORDS = ["enforced", "fallback", "granted", "not_enforced"];

/** Converts flags in a remedy ("--memory-fallback per_process") to changes of the policy. */
export function remedyChanges(remedy, fields) {
	const changes = [];
	for (const [, flag, value] of (remedy ?? "").matchAll(/--([a-z-]+) ([a-z_]+)/g)) {
		const field = fields.find(({ short }) => short.replaceAll("_", "-") === flag);
		if (field?.choices?.includes(value)) changes.push({ name: field.name, value });
	}
	return changes;
}

export function refusal(error, fields, apply) {
	const changes = remedyChanges(error.remedy, fields);
	// The user does not see this document, so its line numbers are removed.
	const message = error.message.replace(/^policy:\d+: /, "");
	const title = error.where && !message.startsWith(error.where) ? `${word(error.code ?? "error")}: ${error.where}` : word(error.code ?? "error");
	return el(
		"div",
		{ class: "refusal", role: "alert" },
		el("strong", {}, title),
		el("p", {}, message),
		error.remedy ? el("p", { class: "muted" }, error.remedy) : null,
		changes.slice(0, 1).map((change) =>
			el("button", { type: "button", class: "small", onclick: () => apply([change]) }, `Set ${change.name} to ${change.value}`),
		),
	);
}

function summary(plan) {
	const counts = WORDS.map((word) => [word, plan.enforcement.filter((row) => row.strength === word).length]);
	return el(
		"p",
		{ class: "plan-line" },
		el("strong", {}, plan.tier),
		counts.filter(([, n]) => n).map(([word, n]) => el("span", { class: `badge ${word}` }, `${n} ${word.replaceAll("_", " ")}`)),
		el("span", { class: "by", title: plan.python }, plan.python.split("/").pop()),
	);
}

export class Planner {
	#timer = 0;
	#requested = 0;

	constructor(host, policy, fields, { onPlan, apply }) {
		Object.assign(this, { host, policy, fields, onPlan, apply });
		policy.onChange(() => {
			clearTimeout(this.#timer);
			this.#timer = setTimeout(() => this.refresh(), DEBOUNCE_MS);
		});
	}

	async refresh() {
		const mine = ++this.#requested;
		const document = this.policy.document;
		let plan = null;
		let failure = null;
		try {
			plan = await post("/v1/explain", { policy: document });
		} catch (error) {
			failure = error;
		}
		// A newer request has replaced this one.
		if (mine !== this.#requested) return;
		this.host.replaceChildren(plan ? summary(plan) : refusal(failure, this.fields, this.apply));
		this.onPlan(plan, failure);
	}
}
