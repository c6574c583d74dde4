// A session that keeps variables from one run to the next. Its policy is fixed
// when it is opened: another policy needs another session.

import { post, remove } from "./api.js";

export class Session {
	#id = null;
	#policy = "";

	/** Returns the path of a session with this policy, opening one if necessary. */
	async at(policy) {
		const wanted = JSON.stringify(policy);
		if (this.#id && wanted !== this.#policy) await this.close();
		if (!this.#id) {
			this.#id = (await post("/v1/sessions", { policy })).id;
			this.#policy = wanted;
		}
		return `/v1/sessions/${this.#id}`;
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
