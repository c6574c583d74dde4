// What comes of a run, in the order in which it comes.

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

	/** Pieces that come faster than the screen is drawn are put in together. */
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

	/** A value takes another way than what was printed before it, and may overtake it: it waits for the end. */
	display(event) {
		if (event.is_value) this.value = event;
		else this.add(display(event));
	}

	end() {
		this.flush();
		if (this.value) this.add(display(this.value));
		this.value = null;
	}

	/** Something that is no output, behind all that came before. */
	add(node) {
		this.flush();
		this.terminal = null;
		this.#put(node);
	}

	#put(node) {
		this.#follow(() => this.host.append(node));
	}

	/** Who reads at the end stays there; who scrolled up is left alone. */
	#follow(change) {
		const { scroller } = this;
		const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
		change();
		if (atEnd) scroller.scrollTop = scroller.scrollHeight;
	}
}
