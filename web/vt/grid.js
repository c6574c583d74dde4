// The cells of a terminal: rows of characters and styles, and the lines that have
// left the screen at its top. Everything has a limit.

import { PLAIN, sameStyle } from "./style.js";

export const MOST_COLUMNS = 500;
export const MOST_ROWS = 200;
export const MOST_LINES = 2000; // that have left the screen
const MOST_MARKS = 12; // code units of a cell: a character and what combines with it

// Copies of these are made faster than new arrays are filled.
const BLANKS = new Array(MOST_COLUMNS).fill(" ");
const PLAINS = new Array(MOST_COLUMNS).fill(PLAIN);

/** A row. A wide character is in the first of its two cells; the second is "". */
export class Row {
	constructor(columns, style = PLAIN) {
		this.text = BLANKS.slice(0, columns);
		this.styles = PLAINS.slice(0, columns);
		if (style !== PLAIN) this.styles.fill(style);
		this.runs = null; // made by runsOf(), until the row changes
	}

	put(at, text, style) {
		this.text[at] = text;
		this.styles[at] = style;
		this.runs = null;
	}

	/** Puts narrow characters, which are those of a string from `from` to `to`. */
	putAll(at, string, from, to, style) {
		this.cut(at);
		this.cut(at + to - from);
		for (let i = from; i < to; i++, at++) {
			this.text[at] = string[i];
			this.styles[at] = style;
		}
		this.runs = null;
	}

	/** Adds a mark to the character that is there. */
	combine(at, mark) {
		if (this.text[at] === "" && at) at--;
		if (this.text[at].length + mark.length <= MOST_MARKS) this.put(at, this.text[at] + mark, this.styles[at]);
	}

	/** Clears the other half of a wide character that is cut between `at - 1` and `at`. */
	cut(at) {
		if (at <= 0 || at >= this.text.length || this.text[at] !== "") return;
		this.put(at - 1, " ", this.styles[at - 1]);
		this.put(at, " ", this.styles[at]);
	}

	erase(from, to, style) {
		this.cut(from);
		this.cut(to);
		this.text.fill(" ", from, to);
		this.styles.fill(style, from, to);
		this.runs = null;
	}

	/** Moves the cells from `at` on by `count`, to the right, or to the left if it is negative. */
	shift(at, count, style) {
		const columns = this.text.length;
		const by = Math.min(Math.abs(count), columns - at);
		this.cut(at);
		this.cut(count < 0 ? at + by : columns - by);
		for (const [cells, blank] of [[this.text, " "], [this.styles, style]]) {
			const moved = cells.splice(count < 0 ? at : columns - by, by).fill(blank);
			cells.splice(count < 0 ? columns - by : at, 0, ...moved);
		}
		this.runs = null;
	}

	resize(columns) {
		const before = this.text.length;
		this.cut(columns);
		this.text.length = this.styles.length = columns;
		if (columns > before) {
			this.text.fill(" ", before);
			this.styles.fill(PLAIN, before);
		}
		this.runs = null;
	}
}

/**
 * Returns the pieces of a row with the same style, without blanks at its end: { text, style, columns }. Characters
 * that fonts may draw with another width are separate pieces.
 */
export function runsOf(row) {
	if (row.runs) return row.runs;
	let end = row.text.length;
	while (end && row.text[end - 1] === " " && sameStyle(row.styles[end - 1], PLAIN)) end--;
	const runs = [];
	for (let at = 0; at < end; at++) {
		const text = row.text[at];
		if (text === "") continue;
		const style = row.styles[at];
		const columns = row.text[at + 1] === "" ? 2 : 1;
		const single = columns === 2 || text.length > 1 || !isSteady(text.charCodeAt(0));
		const last = runs.at(-1);
		if (last && !single && !last.single && sameStyle(last.style, style)) {
			last.text += text;
			last.columns += columns;
		} else runs.push({ text, style, columns, single });
	}
	return (row.runs = runs);
}

/** Latin, Greek and Cyrillic letters, and the lines and blocks of text pictures, have the same width in a monospaced font. */
const isSteady = (code) => code < 0x300 || (code >= 0x370 && code < 0x530) || (code >= 0x2010 && code < 0x2027) || (code >= 0x2500 && code < 0x25a0);

/** The lines that have left the screen, oldest first. */
export class History {
	#lines = [];
	dropped = 0; // lines that were too many

	get length() {
		return this.#lines.length;
	}

	at(index) {
		return this.#lines[index];
	}

	push(row) {
		this.#lines.push(row);
		// Many at once, since removing the first moves all others.
		if (this.#lines.length >= MOST_LINES + 500) this.trim();
	}

	trim() {
		const extra = this.#lines.length - MOST_LINES;
		if (extra <= 0) return;
		this.#lines.splice(0, extra);
		this.dropped += extra;
	}

	clear() {
		this.dropped += this.#lines.length;
		this.#lines = [];
	}
}
