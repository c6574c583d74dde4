// One run at a time: started, followed, interrupted.

import { ApiError, post, stream } from "./api.js";

export class Runner {
	#abort = null;
	#path = null; // of what can be interrupted
	#interrupts = 0;

	/** on: { start, output, display, progress, question, result, error, end } */
	constructor(on) {
		this.on = on;
	}

	get isRunning() {
		return this.#abort !== null;
	}

	/** session: which is to keep the variables, or null. */
	async start({ session, policy, ...job }) {
		if (this.isRunning) return;
		this.#abort = new AbortController();
		this.#path = null;
		this.#interrupts = 0;
		this.session = session;
		this.on.start();
		try {
			if (session) await this.#follow(`${(this.#path = await session.at(policy))}/cells`, job);
			else await this.#follow("/v1/runs", { ...job, policy });
		} catch (error) {
			if (error.name === "AbortError") this.on.error(new ApiError(0, { code: "gone", message: "the connection was cut; the run is killed" }));
			else this.on.error(error);
		} finally {
			this.#abort = null;
			this.on.end();
		}
	}

	async #follow(path, job) {
		let isOver = false;
		let id = null;
		for await (const event of stream(path, { ...job, ask: true, stream: "ndjson" }, this.#abort.signal)) {
			if (event.type === "start") {
				id = event.id;
				this.#path ??= `/v1/runs/${id}`;
				// Who was in a hurry interrupted before there was anything to interrupt.
				if (this.#interrupts) await this.#send();
			} else if (event.type === "result") {
				isOver = true;
				await this.session?.note(event.result);
				this.on.result(event.result, id);
			} else if (event.type === "error") {
				isOver = true;
				this.on.error(new ApiError(0, event.error));
			} else {
				this.on[event.type]?.(event);
			}
		}
		if (!isOver) this.on.error(new ApiError(0, { message: "the server ended the stream without a result" }));
	}

	/** Once: as Ctrl-C would. Again: the connection is cut, which kills the run; a session is ended. */
	async interrupt() {
		if (!this.isRunning) return;
		if (!this.#interrupts++) {
			if (this.#path) await this.#send();
			return;
		}
		this.#abort.abort();
		await this.session?.close();
	}

	async #send() {
		try {
			await post(`${this.#path}/interrupt`);
		} catch (error) {
			// It may have ended meanwhile; then there is nothing to say.
			if (error.status !== 404 && error.status !== 409) this.on.error(error);
		}
	}
}
