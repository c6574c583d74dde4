// The policy being edited: a preset, and the fields that differ from it.

// "": the policy that the server was started with.
export const PRESETS = ["", "default", "strict", "scientific", "landlock"];

export class Policy {
	#listeners = new Set();
	#values = {};

	onChange(listener) {
		this.#listeners.add(listener);
	}

	/** The document for the server. */
	get document() {
		return structuredClone(this.#values);
	}

	get preset() {
		return this.#values.preset ?? "";
	}

	get(name) {
		return this.#values[name];
	}

	/** undefined resets the field to the preset. */
	set(name, value) {
		if (value === undefined || (name === "preset" && !value)) delete this.#values[name];
		else this.#values[name] = value;
		this.#notify();
	}

	replace(document) {
		this.#values = structuredClone(document);
		this.#notify();
	}

	#notify() {
		for (const listener of this.#listeners) listener(this);
	}
}

/** Returns a policy with more rights: switches turned on, and entries added to those in the plan. */
export function widened(document, changes, plan) {
	const wide = structuredClone(document);
	const planned = (name) => plan?.enforcement.find((row) => row.field === name)?.value;
	for (const { name, value } of changes) {
		if (!Array.isArray(value)) wide[name] = value;
		else wide[name] = [...new Set([...(wide[name] ?? planned(name) ?? []), ...value])];
	}
	return wide;
}
