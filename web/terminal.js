// Shows printed text like a terminal: with colours, and with lines overwritten
// after a carriage return. Other control codes are removed.

import { el } from "./dom.js";

const MOST = 2_000_000; // characters on the page; the server applies the policy's limits
// A complete code; BEGUN matches one that continues in the next piece.
const CODE = /\x1b\[([0-9;]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g;
const BEGUN = /\x1b(?:\[[0-9;]*|\][^\x07\x1b]{0,200})?$/;
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

export class Terminal {
	constructor() {
		this.node = el("pre", { class: "terminal", tabindex: "0", "aria-label": "What the program printed" });
		this.styles = { stdout: new Set(), stderr: new Set() };
		this.begun = { stdout: "", stderr: "" };
		this.length = 0;
	}

	write(stream, text) {
		text = this.begun[stream] + text;
		const open = BEGUN.exec(text);
		this.begun[stream] = open ? open[0] : "";
		if (open) text = text.slice(0, open.index);
		let at = 0;
		for (const code of text.matchAll(CODE)) {
			this.#lines(stream, text.slice(at, code.index));
			if (code[2] === "m") this.#style(this.styles[stream], code[1]);
			at = code.index + code[0].length;
		}
		this.#lines(stream, text.slice(at));
	}

	#style(styles, numbers) {
		for (const n of (numbers || "0").split(";").map(Number)) {
			if (n === 0) styles.clear();
			else if (n === 1) styles.add("bold");
			else if (n === 22) styles.delete("bold");
			else if ((n >= 30 && n <= 39) || (n >= 90 && n <= 97)) {
				for (const name of NAMES) styles.delete(`ansi-${name}`);
				if (n !== 39) styles.add(`ansi-${NAMES[n % 10]}`);
			}
		}
	}

	/** A carriage return without a newline overwrites the current line. */
	#lines(stream, text) {
		const parts = text.replaceAll("\r\n", "\n").split("\r");
		parts.forEach((part, i) => {
			if (i) this.#eraseLine();
			if (part) this.#append(stream, part);
		});
	}

	#append(stream, text) {
		if (this.length >= MOST) return;
		if (this.length + text.length >= MOST) text = `${text.slice(0, MOST - this.length)}\n… the rest is not shown here`;
		this.length += text.length;
		const name = [stream, ...this.styles[stream]].join(" ");
		if (this.last?.className !== name) {
			this.last = el("span", { class: name });
			this.node.append(this.last);
		}
		this.last.append(text);
	}

	#eraseLine() {
		for (let span = this.node.lastChild; span; span = this.node.lastChild) {
			const text = span.textContent;
			const end = text.lastIndexOf("\n") + 1;
			span.textContent = text.slice(0, end);
			if (end) break;
			span.remove();
		}
		this.last = this.node.lastChild;
	}
}
