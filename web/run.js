// One run at a time: started, followed, interrupted.

import { ApiError, post, stream } from "./api.js";

export class Runner {
	#abort = null;
	#id = null;
	#interrupts = 0;

	/** on: { start, output, display, progress, question, result, error, end } */
	constructor(on) {
		this.on = on;
	}

	get isRunning() {
		return this.#abort !== null;
	}

	async start(body) {
		if (this.isRunning) return;
		this.#abort = new AbortController();
		this.#id = null;
		this.#interrupts = 0;
		this.on.start();
		try {
			await this.#follow(body);
		} catch (error) {
			if (error.name === "AbortError") this.on.error(new ApiError(0, { code: "gone", message: "the connection was cut; the run is killed" }));
			else this.on.error(error);
		} finally {
			this.#abort = null;
			this.on.end();
		}
	}

	async #follow(body) {
		let isOver = false;
		for await (const event of stream("/v1/runs", { ...body, ask: true, stream: "ndjson" }, this.#abort.signal)) {
			if (event.type === "start") {
				this.#id = event.id;
				// Who was in a hurry interrupted before there was anything to interrupt.
				if (this.#interrupts) await this.#send();
			} else if (event.type === "result") {
				isOver = true;
				this.on.result(event.result, this.#id);
			} else if (event.type === "error") {
				isOver = true;
				this.on.error(new ApiError(0, event.error));
			} else {
				this.on[event.type]?.(event);
			}
		}
		if (!isOver) this.on.error(new ApiError(0, { message: "the server ended the stream without a result" }));
	}

	/** Once: as Ctrl-C would. Again: the connection is cut, which kills the run. */
	async interrupt() {
		if (!this.isRunning) return;
		if (this.#interrupts++) return this.#abort.abort();
		if (this.#id) await this.#send();
	}

	async #send() {
		try {
			await post(`/v1/runs/${this.#id}/interrupt`);
		} catch (error) {
			// It may have ended meanwhile; then there is nothing to say.
			if (error.status !== 404 && error.status !== 409) this.on.error(error);
		}
	}
}
