// A session that keeps variables from one run to the next. It has the policy
// that it was opened with: another policy is another session.

import { post, remove } from "./api.js";

export class Session {
	#id = null;
	#policy = "";

	/** The path of a session with this policy, which is opened if need be. */
	async at(policy) {
		const wanted = JSON.stringify(policy);
		if (this.#id && wanted !== this.#policy) await this.close();
		if (!this.#id) {
			this.#id = (await post("/v1/sessions", { policy })).id;
			this.#policy = wanted;
		}
		return `/v1/sessions/${this.#id}`;
	}

	/** What a result says of it. */
	async note({ session }) {
		if (session?.state === "ended") await this.close();
	}

	/** Whoever leaves the page does not wait. */
	async close({ keepalive = false } = {}) {
		if (!this.#id) return;
		const path = `/v1/sessions/${this.#id}?drop=1`;
		this.#id = null;
		try {
			await remove(path, { keepalive });
		} catch (error) {
			// It ended by itself, or the server did.
			if (error.status !== 404 && error.code !== "gone") throw error;
		}
	}
}
