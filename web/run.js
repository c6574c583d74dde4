// Starts, follows and interrupts one run at a time.

import { ApiError, post, stream } from "./api.js";

export class Runner {
	#abort = null;
	#path = null; // the route of the run or session, once it can be interrupted
	#interrupts = 0;

	/** on: { start, output, display, progress, question, result, error, end } */
	constructor(on) {
		this.on = on;
	}

	get isRunning() {
		return this.#abort !== null;
	}

	/** session: keeps the variables between runs, or null. */
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
			if (error.name === "AbortError") this.on.error(new ApiError(0, { code: "gone", message: "the connection was closed; the run is killed" }));
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
				// The user interrupted before the run had begun.
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

	/** The first call acts like Ctrl-C. The second closes the connection, which kills the run, and ends a session. */
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
			// Ignored if the run has ended meanwhile.
			if (error.status !== 404 && error.status !== 409) this.on.error(error);
		}
	}
}
