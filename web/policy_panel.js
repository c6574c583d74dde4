// The policy as controls, each with the mechanisms that enforce it here.

import { copy, el } from "./dom.js";
import { control } from "./field_control.js";
import { PRESETS } from "./policy.js";

// The fields that are changed most often come first, in an open group.
const COMMON = ["network_access", "network_allow", "subprocess_execution", "timeout", "memory_bytes", "packages", "artifact_export_paths"];

class Row {
	constructor(field, policy) {
		const id = `field-${field.name}`;
		this.field = field;
		this.policy = policy;
		this.control = control(field, id, (value) => policy.set(field.name, value));
		this.control.node.setAttribute("aria-describedby", `${id}-about`);
		this.kept = el("p", { class: "kept" });
		this.reset = el(
			"button",
			{ class: "quiet reset", type: "button", title: "Reset to the preset", "aria-label": `Reset ${field.name}`, onclick: () => policy.set(field.name, undefined) },
			"Reset",
		);
		this.node = el(
			"div",
			{ class: this.control.isWide ? "field wide" : "field", "data-field": field.name },
			el("div", { class: "field-head" }, el("label", { for: id }, field.name), this.reset, this.control.node),
			el("p", { class: "about", id: `${id}-about`, title: field.sentence }, field.sentence.split(";")[0]),
			this.kept,
		);
	}

	/** row: of the plan, or undefined; refusal: why this field is refused if there is no plan. */
	show(row, refusal) {
		const own = this.policy.get(this.field.name);
		this.control.show(own, row?.value ?? this.field.default);
		this.node.classList.toggle("changed", own !== undefined);
		this.reset.hidden = own === undefined;
		if (refusal) return this.kept.replaceChildren(el("span", { class: "badge not_enforced" }, "refused"), el("span", { class: "by", title: refusal }, refusal));
		if (!row) return this.kept.replaceChildren(el("span", { class: "by" }, this.field.setting ? "a setting, not a promise" : "not requested"));
		const names = row.mechanisms.join(", ").replaceAll("_", " ");
		this.kept.replaceChildren(
			el("span", { class: `badge ${row.strength}` }, row.strength.replaceAll("_", " ")),
			el("span", { class: "by", title: row.note ?? names }, row.note ? `${names}; ${row.note}` : names),
		);
	}

	matches(words) {
		const text = `${this.field.name} ${this.field.short} ${this.field.sentence}`.toLowerCase();
		return words.every((word) => text.includes(word));
	}
}

export class PolicyPanel {
	constructor(host, fields, policy) {
		this.rows = fields.map((field) => new Row(field, policy));
		this.preset = el(
			"select",
			{ id: "preset", onchange: () => policy.set("preset", this.preset.value) },
			PRESETS.map((name) => el("option", { value: name }, name || "the server's")),
		);
		this.find = el("input", { type: "search", id: "find", placeholder: "Find a field", "aria-label": "Find a field", oninput: () => this.#filter() });
		this.groups = this.#makeGroups();
		this.text = el("pre", { class: "plain", tabindex: "0", "aria-label": "The policy as JSON" });
		const copyButton = el("button", { class: "quiet", type: "button", onclick: () => copy(this.text.textContent, copyButton) }, "Copy");
		host.replaceChildren(
			el("div", { class: "policy-top" }, el("label", { for: "preset" }, "Preset"), this.preset, this.find),
			...this.groups.map((group) => group.node),
			el("details", { class: "group" }, el("summary", {}, "As a document"), el("div", { class: "document" }, this.text, copyButton)),
		);
		policy.onChange(() => this.#show(policy));
		this.#show(policy);
	}

	#makeGroups() {
		const common = COMMON.map((name) => this.rows.find((row) => row.field.name === name)).filter(Boolean);
		const titles = [...new Set(this.rows.map((row) => row.field.group ?? "All fields"))];
		const groups = [["Most used", common], ...titles.map((title) => [title, this.rows.filter((row) => !common.includes(row) && (row.field.group ?? "All fields") === title)])];
		return groups
			.filter(([, rows]) => rows.length)
			.map(([title, rows], i) => {
				const count = el("span", { class: "count" });
				const node = el("details", { class: "group", open: i === 0 }, el("summary", {}, title, count), rows.map((row) => row.node));
				return { node, rows, count, isOpen: i === 0 };
			});
	}

	#filter() {
		const words = this.find.value.toLowerCase().split(/\s+/).filter(Boolean);
		for (const { node, rows, isOpen } of this.groups) {
			for (const row of rows) row.node.hidden = !row.matches(words);
			node.hidden = rows.every((row) => row.node.hidden);
			node.open = words.length ? !node.hidden : isOpen;
		}
	}

	#show(policy) {
		this.preset.value = policy.preset;
		this.text.textContent = JSON.stringify(policy.document, null, 2);
		for (const { rows, count } of this.groups) {
			const changed = rows.filter((row) => policy.get(row.field.name) !== undefined).length;
			count.textContent = changed ? `${changed} changed` : "";
		}
		this.showPlan(this.plan, this.error);
	}

	/** plan: from the server, or null with the error if it refused. */
	showPlan(plan, error) {
		Object.assign(this, { plan, error });
		const byField = new Map((plan?.enforcement ?? []).map((row) => [row.field, row]));
		for (const row of this.rows) row.show(byField.get(row.field.name), error?.where === row.field.name ? error.message : "");
	}
}
