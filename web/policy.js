// The policy that is being written: a preset, and the fields that differ.

// "": as the server was started.
export const PRESETS = ["", "default", "strict", "scientific", "landlock"];

export class Policy {
	#listeners = new Set();
	#values = {};

	onChange(listener) {
		this.#listeners.add(listener);
	}

	/** As the server takes it. */
	get document() {
		return structuredClone(this.#values);
	}

	get preset() {
		return this.#values.preset ?? "";
	}

	get(name) {
		return this.#values[name];
	}

	/** undefined: as the preset has it. */
	set(name, value) {
		if (value === undefined || (name === "preset" && !value)) delete this.#values[name];
		else this.#values[name] = value;
		this.#tell();
	}

	replace(document) {
		this.#values = structuredClone(document);
		this.#tell();
	}

	#tell() {
		for (const listener of this.#listeners) listener(this);
	}
}

/** A policy with something more in it: switches on, entries added to those that the plan has. */
export function widened(document, changes, plan) {
	const wide = structuredClone(document);
	const planned = (name) => plan?.enforcement.find((row) => row.field === name)?.value;
	for (const { name, value } of changes) {
		if (!Array.isArray(value)) wide[name] = value;
		else wide[name] = [...new Set([...(wide[name] ?? planned(name) ?? []), ...value])];
	}
	return wide;
}
