// A session that keeps variables from one run to the next, and has the terminals.
// Its policy is fixed when it is opened: another policy needs another session.

import { post, remove } from "./api.js";

export class Session {
	#id = null;
	#policy = "";
	#opening = Promise.resolve();

	/**
	 * Returns the path of a session with this policy, opening one if necessary. It can have terminals if its policy allows
	 * programs; with needsCommands it fails otherwise.
	 */
	at(policy, { needsCommands = false } = {}) {
		// One after the other, so that a run and a terminal get the same session.
		const path = this.#opening.then(() => this.#at(policy, needsCommands));
		this.#opening = path.catch(() => {});
		return path;
	}

	async #at(policy, needsCommands) {
		const wanted = JSON.stringify(policy);
		if (this.#id && wanted !== this.#policy) await this.close();
		if (!this.#id) {
			this.#id = await this.#open(policy, needsCommands);
			this.#policy = wanted;
		}
		return `/v1/sessions/${this.#id}`;
	}

	async #open(policy, needsCommands) {
		try {
			return (await post("/v1/sessions", { policy, commands: true })).id;
		} catch (error) {
			if (needsCommands || error.where !== "subprocess_execution") throw error;
			return (await post("/v1/sessions", { policy })).id;
		}
	}

	/** Reads the state of the session from a result. */
	async note({ session }) {
		if (session?.state === "ended") await this.close();
	}

	/** keepalive: the request survives when the user leaves the page. */
	async close({ keepalive = false } = {}) {
		if (!this.#id) return;
		const path = `/v1/sessions/${this.#id}?drop=1`;
		this.#id = null;
		try {
			await remove(path, { keepalive });
		} catch (error) {
			// The session or the server has already ended.
			if (error.status !== 404 && error.code !== "gone") throw error;
		}
	}
}
