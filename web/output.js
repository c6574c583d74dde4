// Shows the output of a run in the order in which it arrives.

import { display } from "./displays.js";
import { el } from "./dom.js";
import { Terminal } from "./terminal.js";

export class Output {
	constructor(host, scroller) {
		this.host = host;
		this.scroller = scroller;
		this.waiting = [];
	}

	clear() {
		this.waiting = [];
		this.terminal = null;
		this.value = null;
		this.host.replaceChildren();
		this.scroller.scrollTop = 0;
	}

	/** Pieces that arrive between two frames of the screen are added together. */
	text(stream, text) {
		this.waiting.push([stream, text]);
		if (this.waiting.length === 1) requestAnimationFrame(() => this.flush());
	}

	flush() {
		if (!this.waiting.length) return;
		if (!this.terminal) {
			this.terminal = new Terminal();
			this.#put(this.terminal.node);
		}
		this.#follow(() => {
			for (const [stream, text] of this.waiting) this.terminal.write(stream, text);
		});
		this.waiting = [];
	}

	/** The value uses another channel than printed text and may overtake it, so it is shown at the end. */
	display(event) {
		if (event.is_value) this.value = event;
		else this.add(display(event));
	}

	end() {
		this.flush();
		if (this.value) this.add(display(this.value));
		this.value = null;
	}

	/** Adds an element that is not output, after everything so far. */
	add(node) {
		this.flush();
		this.terminal = null;
		this.#put(node);
	}

	#put(node) {
		this.#follow(() => this.host.append(node));
	}

	/** Scrolls to the end if the view was there before; does not move a view that the user scrolled up. */
	#follow(change) {
		const { scroller } = this;
		const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
		change();
		if (atEnd) scroller.scrollTop = scroller.scrollHeight;
	}
}
