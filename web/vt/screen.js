// The screen of a terminal: what xterm's useful sequences do to cells and cursor.
// It is the sink of a Parser, and ignores unknown sequences.
//
// answer(text) sends the few answers that programs expect: the cursor's position and
// what this terminal is. They contain numbers of the screen, and nothing that the
// program wrote.

import { History, MOST_COLUMNS, MOST_ROWS, Row } from "./grid.js";
import { erased, PLAIN, styled } from "./style.js";
import { width } from "./width.js";

// The line-drawing set (ESC ( 0), from "`" to "~".
const DRAWING = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
// Marks that change the writing direction would show the text in another order than it has.
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

const ASCII = /^[ -~]*$/;

const limit = (n, low, high) => Math.max(low, Math.min(n, high));

export class Screen {
	/** on: { answer(text), bell() } */
	constructor(columns, rows, on) {
		this.on = on;
		this.columns = limit(columns, 1, MOST_COLUMNS);
		this.rows = limit(rows, 1, MOST_ROWS);
		this.history = new History();
		this.#reset();
	}

	#reset() {
		this.lines = this.#blankLines();
		this.other = null; // the lines of the normal screen, while the alternate one is shown
		this.x = 0;
		this.y = 0;
		this.wraps = false; // the next character begins a line
		this.style = PLAIN;
		this.top = 0;
		this.bottom = this.rows - 1;
		this.tabs = new Set();
		for (let x = 8; x < MOST_COLUMNS; x += 8) this.tabs.add(x);
		this.sets = ["B", "B"];
		this.set = 0;
		this.saved = [this.#cursorState(), this.#cursorState()];
		this.modes = { cursor: true, wrap: true, insert: false, origin: false, applicationCursor: false, bracketedPaste: false };
		this.last = "";
	}

	#blankLines() {
		return Array.from({ length: this.rows }, () => new Row(this.columns));
	}

	get isAlternate() {
		return this.other !== null;
	}

	get line() {
		return this.lines[this.y];
	}

	get blank() {
		return erased(this.style);
	}

	// ---- text ----

	text(string) {
		if (this.modes.insert || this.sets[this.set] === "0" || !ASCII.test(string)) for (const character of string) this.#print(character);
		else this.#printAscii(string);
	}

	/** Most text is ASCII, which needs no look at each character. */
	#printAscii(string) {
		for (let from = 0, to; from < string.length; from = to) {
			if (this.wraps) this.#wrap(1);
			if (!this.modes.wrap && this.x === this.columns - 1) from = string.length - 1;
			to = Math.min(string.length, from + this.columns - this.x);
			this.line.putAll(this.x, string, from, to, this.style);
			this.wraps = this.modes.wrap && this.x + to - from === this.columns;
			this.x = Math.min(this.x + to - from, this.columns - 1);
		}
		this.last = string.at(-1);
	}

	#print(given) {
		let character = given;
		if (this.sets[this.set] === "0" && given >= "`" && given <= "~") character = DRAWING[given.charCodeAt(0) - 0x60];
		const columns = width(character.codePointAt(0), character);
		if (!columns) return this.#combine(character);
		if (columns > this.columns) return;
		if (this.wraps || this.x + columns > this.columns) this.#wrap(columns);
		const line = this.line;
		if (this.modes.insert) line.shift(this.x, columns, this.blank);
		line.cut(this.x);
		line.cut(this.x + columns);
		line.put(this.x, character, this.style);
		if (columns === 2) line.put(this.x + 1, "", this.style);
		this.last = character;
		this.wraps = this.modes.wrap && this.x + columns === this.columns;
		this.x = Math.min(this.x + columns, this.columns - 1);
	}

	#wrap(columns) {
		if (!this.modes.wrap) {
			this.x = this.columns - columns;
			return;
		}
		this.x = 0;
		this.#lineFeed();
	}

	#combine(mark) {
		if (DIRECTION.test(mark)) return;
		const at = this.wraps ? this.x : this.x - 1;
		if (at >= 0) this.line.combine(at, mark);
	}

	// ---- control characters ----

	control(code) {
		if (code === 0x07) this.on.bell?.();
		else if (code === 0x08) this.#place(this.x - 1, this.y);
		else if (code === 0x09) this.tabBy(1);
		else if (code >= 0x0a && code <= 0x0c) this.#lineFeed();
		else if (code === 0x0d) this.#place(0, this.y);
		else if (code === 0x0e || code === 0x0f) this.set = code === 0x0e ? 1 : 0;
	}

	tabBy(count) {
		let { x } = this;
		for (let n = Math.min(Math.abs(count), this.columns); n; n--) {
			do x += Math.sign(count);
			while (x > 0 && x < this.columns - 1 && !this.tabs.has(x));
		}
		this.#place(x, this.y);
	}

	#lineFeed() {
		this.wraps = false;
		if (this.y === this.bottom) this.#scroll(this.top, 1);
		else if (this.y < this.rows - 1) this.y++;
	}

	#reverseLineFeed() {
		this.wraps = false;
		if (this.y === this.top) this.#scroll(this.top, -1);
		else if (this.y > 0) this.y--;
	}

	/**
	 * Moves the lines from `first` to the end of the scroll region up by `count`, or down if it is negative. keeps: those
	 * that leave the screen at its top become history.
	 */
	#scroll(first, count, keeps = true) {
		const by = Math.min(Math.abs(count), this.bottom - first + 1);
		const isKept = keeps && count > 0 && first === 0 && !this.isAlternate;
		const blanks = Array.from({ length: by }, () => new Row(this.columns, this.blank));
		const gone = this.lines.splice(count > 0 ? first : this.bottom + 1 - by, by);
		if (isKept) for (const line of gone) this.history.push(line);
		this.lines.splice(count > 0 ? this.bottom + 1 - by : first, 0, ...blanks);
	}

	// ---- the cursor ----

	#place(x, y) {
		this.wraps = false;
		this.x = limit(x, 0, this.columns - 1);
		this.y = limit(y, 0, this.rows - 1);
	}

	/** Relative to the scroll region in origin mode. */
	moveTo(x, y) {
		if (this.modes.origin) this.#place(x, limit(y + this.top, this.top, this.bottom));
		else this.#place(x, y);
	}

	/** Up or down, not out of the scroll region. */
	moveBy(x, y) {
		const low = this.y >= this.top ? this.top : 0;
		const high = this.y <= this.bottom ? this.bottom : this.rows - 1;
		this.#place(this.x + x, limit(this.y + y, low, high));
	}

	#cursorState() {
		return { x: this.x, y: this.y, wraps: this.wraps, style: this.style, sets: [...this.sets], set: this.set, origin: this.modes?.origin ?? false };
	}

	saveCursor() {
		this.saved[Number(this.isAlternate)] = this.#cursorState();
	}

	restoreCursor() {
		const { x, y, wraps, style, sets, set, origin } = this.saved[Number(this.isAlternate)];
		this.modes.origin = origin;
		this.#place(x, y);
		Object.assign(this, { wraps: wraps && this.x === this.columns - 1, style, sets: [...sets], set });
	}

	// ---- escape sequences ----

	escape(intermediate, final) {
		if (intermediate === "(" || intermediate === ")") this.sets[intermediate === "(" ? 0 : 1] = final;
		else if (intermediate) return;
		else if (final === "7") this.saveCursor();
		else if (final === "8") this.restoreCursor();
		else if (final === "D") this.#lineFeed();
		else if (final === "M") this.#reverseLineFeed();
		else if (final === "E") {
			this.#place(0, this.y);
			this.#lineFeed();
		} else if (final === "H") this.tabs.add(this.x);
		else if (final === "c") this.#reset();
	}

	csi(prefix, intermediate, params, final) {
		if (prefix === "?" && !intermediate && (final === "h" || final === "l")) {
			for (const [mode] of params) this.#setMode(mode, final === "h");
		} else if (prefix === ">" && final === "c" && !intermediate) this.on.answer("\x1b[>0;0;0c");
		else if (!prefix && intermediate === "!" && final === "p") this.#softReset();
		else if (!prefix && !intermediate && Object.hasOwn(CSI, final)) CSI[final].call(this, params[0][0], params);
	}

	#softReset() {
		const { bracketedPaste } = this.modes;
		this.modes = { cursor: true, wrap: true, insert: false, origin: false, applicationCursor: false, bracketedPaste };
		Object.assign(this, { top: 0, bottom: this.rows - 1, style: PLAIN, sets: ["B", "B"], set: 0 });
	}

	#setMode(mode, on) {
		if (mode === 1) this.modes.applicationCursor = on;
		else if (mode === 6) {
			this.modes.origin = on;
			this.moveTo(0, 0);
		} else if (mode === 7) this.modes.wrap = on;
		else if (mode === 25) this.modes.cursor = on;
		else if (mode === 47 || mode === 1047) this.#showAlternate(on);
		else if (mode === 1048 && on) this.saveCursor();
		else if (mode === 1048) this.restoreCursor();
		else if (mode === 1049 && on !== this.isAlternate) {
			if (on) this.saveCursor();
			this.#showAlternate(on);
			if (!on) this.restoreCursor();
		} else if (mode === 2004) this.modes.bracketedPaste = on;
	}

	#showAlternate(on) {
		if (on === this.isAlternate) return;
		if (on) {
			this.other = this.lines;
			this.lines = this.#blankLines();
		} else {
			this.lines = this.other;
			this.other = null;
		}
	}

	// ---- erasing and moving, for the table below ----

	eraseScreen(kind) {
		const { blank } = this;
		if (kind === 3) return this.history.clear();
		if (kind > 3) return;
		this.wraps = false;
		for (let y = 0; y < this.rows; y++)
			if (kind === 2 || (kind === 0 ? y > this.y : y < this.y)) this.lines[y].erase(0, this.columns, blank);
		if (kind !== 2) this.eraseLine(kind);
	}

	eraseLine(kind) {
		if (kind > 2) return;
		this.wraps = false;
		this.line.erase(kind === 0 ? this.x : 0, kind === 1 ? this.x + 1 : this.columns, this.blank);
	}

	eraseCells(count) {
		this.wraps = false;
		this.line.erase(this.x, Math.min(this.x + count, this.columns), this.blank);
	}

	shiftCells(count) {
		this.wraps = false;
		this.line.shift(this.x, count, this.blank);
	}

	/** Inserts lines at the cursor, or deletes them if count is negative. */
	insertLines(count) {
		if (this.y < this.top || this.y > this.bottom) return;
		this.#scroll(this.y, -count, false);
		this.#place(0, this.y);
	}

	scrollBy(count) {
		this.#scroll(this.top, count);
	}

	/** At most a line: a few bytes must not cause much work. */
	repeat(count) {
		if (this.last) for (let n = Math.min(count, this.columns); n; n--) this.#print(this.last);
	}

	clearTab(kind) {
		if (kind === 0) this.tabs.delete(this.x);
		else if (kind === 3) this.tabs.clear();
	}

	setRegion(first, last) {
		const top = limit(first || 1, 1, this.rows) - 1;
		const bottom = limit(last || this.rows, 1, this.rows) - 1;
		if (top >= bottom) return;
		Object.assign(this, { top, bottom });
		this.moveTo(0, 0);
	}

	report(what) {
		if (what === 5) this.on.answer("\x1b[0n");
		else if (what === 6) this.on.answer(`\x1b[${this.y + 1 - (this.modes.origin ? this.top : 0)};${this.x + 1}R`);
	}

	// ---- the size ----

	/** Lines that no longer fit leave at the top, after empty ones at the bottom. */
	resize(givenColumns, givenRows) {
		const columns = limit(givenColumns, 1, MOST_COLUMNS);
		const rows = limit(givenRows, 1, MOST_ROWS);
		if (columns === this.columns && rows === this.rows) return false;
		const normal = this.other ?? this.lines;
		const y = this.other ? this.saved[0].y : this.y;
		const gone = this.#fit(normal, columns, rows, y, this.history);
		if (this.other) {
			this.y -= this.#fit(this.lines, columns, rows, this.y, null);
			this.saved[0].y = Math.max(0, this.saved[0].y - gone);
		} else this.y -= gone;
		Object.assign(this, { columns, rows, top: 0, bottom: rows - 1 });
		this.#place(this.x, this.y);
		return true;
	}

	/** Returns how many lines have left at the top. */
	#fit(lines, columns, rows, y, history) {
		const extra = Math.max(0, lines.length - rows);
		const below = Math.min(extra, Math.max(0, lines.length - 1 - y));
		lines.splice(lines.length - below, below);
		const gone = lines.splice(0, extra - below);
		for (const line of gone) history?.push(line);
		for (const line of lines) line.resize(columns);
		while (lines.length < rows) lines.push(new Row(columns));
		return gone.length;
	}
}

/** A missing number or zero counts as one. */
const one = (n) => n || 1;

const CSI = {
	"@"(n) { this.shiftCells(one(n)); },
	A(n) { this.moveBy(0, -one(n)); },
	B(n) { this.moveBy(0, one(n)); },
	C(n) { this.moveBy(one(n), 0); },
	D(n) { this.moveBy(-one(n), 0); },
	E(n) { this.moveBy(-this.columns, one(n)); },
	F(n) { this.moveBy(-this.columns, -one(n)); },
	G(n) { this.moveBy(one(n) - 1 - this.x, 0); },
	"`"(n) { this.moveBy(one(n) - 1 - this.x, 0); },
	H(n, params) { this.moveTo(one(params[1]?.[0]) - 1, one(n) - 1); },
	f(n, params) { this.moveTo(one(params[1]?.[0]) - 1, one(n) - 1); },
	I(n) { this.tabBy(one(n)); },
	Z(n) { this.tabBy(-one(n)); },
	J(n) { this.eraseScreen(n); },
	K(n) { this.eraseLine(n); },
	L(n) { this.insertLines(one(n)); },
	M(n) { this.insertLines(-one(n)); },
	P(n) { this.shiftCells(-one(n)); },
	S(n) { this.scrollBy(one(n)); },
	T(n) { this.scrollBy(-one(n)); },
	X(n) { this.eraseCells(one(n)); },
	a(n) { this.moveBy(one(n), 0); },
	b(n) { this.repeat(one(n)); },
	c(n) { if (!n) this.on.answer("\x1b[?6c"); },
	d(n) { this.moveTo(this.x, one(n) - 1); },
	e(n) { this.moveBy(0, one(n)); },
	g(n) { this.clearTab(n); },
	h(n) { if (n === 4) this.modes.insert = true; },
	l(n) { if (n === 4) this.modes.insert = false; },
	m(n, params) { this.style = styled(this.style, params); },
	n(n) { this.report(n); },
	r(n, params) { this.setRegion(n, params[1]?.[0]); },
	s() { this.saveCursor(); },
	u() { this.restoreCursor(); },
};
