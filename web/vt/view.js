// A terminal on the page: draws a Screen, and turns keys, pasted text and the size
// of its element into what the program receives.
//
// Output is hostile. It becomes text of elements and nothing else. It is processed
// in pieces, for a few milliseconds in each frame, and the stream waits while too
// much is pending, so that the page stays usable whatever a program writes.

import { el } from "../dom.js";
import { runsOf } from "./grid.js";
import { pasted, sequence } from "./keys.js";
import { Parser } from "./parser.js";
import { Screen } from "./screen.js";
import { RGB } from "./style.js";

const LINE_PX = 18; // as in style.css
const FRAME_MS = 8; // of work for each frame
const PIECE = 1024; // characters between two looks at the clock
const PENDING_MOST = 256 * 1024; // characters that wait
const HIDDEN_MS = 200; // between frames of a page that is not shown
const ANSWERS_MOST = 16; // for each frame
const RESIZE_MS = 120;
const RULER = 50; // characters of the element that measures their width

/** Returns a colour for a style sheet: those of the page, of xterm's cube and its greys, or RGB. */
function colour(n) {
	if (n & RGB) return `rgb(${(n >> 16) & 255} ${(n >> 8) & 255} ${n & 255})`;
	if (n < 16) return `var(--vt-${n})`;
	if (n >= 232) return `rgb(${Array(3).fill(8 + 10 * (n - 232)).join(" ")})`;
	const level = (i) => (i ? 55 + 40 * i : 0);
	return `rgb(${[36, 6, 1].map((by) => level(Math.floor((n - 16) / by) % 6)).join(" ")})`;
}

function draw({ text, style, columns, single }) {
	const span = document.createElement("span");
	span.textContent = text;
	let { fg, bg } = style;
	if (style.inverse) [fg, bg] = [bg === -1 ? "var(--surface)" : bg, fg === -1 ? "var(--ink)" : fg];
	const css = (value) => (typeof value === "number" ? colour(value) : value);
	if (fg !== -1) span.style.color = css(fg);
	if (bg !== -1) span.style.backgroundColor = css(bg);
	const names = ["bold", "dim", "italic", "underline", "strike"].filter((name) => style[name]);
	if (single) names.push(columns === 2 ? "wide" : "narrow");
	if (names.length) span.className = names.map((name) => `vt-${name}`).join(" ");
	return span;
}

export class View {
	#pending = []; // strings
	#pendingLength = 0;
	#waiters = [];
	#frame = 0;
	#timer = 0;
	#decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	#answers = 0;
	#drawn = []; // the rows that the elements show
	#follows = true; // shows the end, and not where the reader has scrolled to
	#dropped = 0;
	#width = 8; // of a cell

	/** on: { input(text), resize(columns, rows), bell() } */
	constructor(label, on) {
		this.on = on;
		this.input = el("textarea", {
			class: "vt-input", "aria-label": `${label}. Shift and Tab leave it.`, autocapitalize: "off", autocomplete: "off", autocorrect: "off", spellcheck: "false", rows: "1",
		});
		this.lines = el("div", { class: "vt-lines" });
		this.cursor = el("span", { class: "vt-cursor", "aria-hidden": "true" });
		this.ruler = el("span", { class: "vt-ruler", "aria-hidden": "true" }, "0".repeat(RULER));
		this.room = el("div", { class: "vt-room" }, this.lines, this.cursor);
		this.scroller = el("div", { class: "vt-scroller", role: "document", "aria-label": `Screen of ${label}`, tabindex: "-1" }, this.room);
		this.node = el("div", { class: "vt" }, this.scroller, this.input, this.ruler);
		this.screen = new Screen(80, 24, { answer: (text) => this.#answer(text), bell: () => this.#bell() });
		this.parser = new Parser(this.screen);
		this.#listen();
		this.observer = new ResizeObserver(() => this.#fitSoon());
		this.observer.observe(this.node);
	}

	focus() {
		this.input.focus({ preventScroll: true });
	}

	close() {
		this.observer.disconnect();
		document.removeEventListener("visibilitychange", this.onVisibility);
		this.#cancelFrame();
		clearTimeout(this.resizing);
		this.node.remove();
		this.#release();
	}

	// ---- output ----

	/** Takes bytes of the program. Await it before reading more. */
	async write(bytes) {
		const text = this.#decoder.decode(bytes, { stream: true });
		this.#pending.push(text);
		this.#pendingLength += text.length;
		this.#schedule();
		if (this.#pendingLength > PENDING_MOST) await new Promise((resolve) => this.#waiters.push(resolve));
	}

	#release() {
		for (const resolve of this.#waiters.splice(0)) resolve();
	}

	#schedule() {
		if (this.#frame || this.#timer) return;
		if (document.hidden) this.#timer = setTimeout(() => this.#work(), HIDDEN_MS);
		else this.#frame = requestAnimationFrame(() => this.#work());
	}

	#cancelFrame() {
		cancelAnimationFrame(this.#frame);
		clearTimeout(this.#timer);
		this.#frame = this.#timer = 0;
	}

	#work() {
		this.#cancelFrame();
		this.#answers = 0;
		const end = performance.now() + FRAME_MS;
		while (this.#pending.length && performance.now() < end) {
			const [text] = this.#pending;
			// Not between the halves of a character
			const cut = (text.charCodeAt(PIECE - 1) & 0xfc00) === 0xd800 ? PIECE + 1 : PIECE;
			this.parser.write(text.slice(0, cut));
			this.#pendingLength -= Math.min(text.length, cut);
			if (text.length > cut) this.#pending[0] = text.slice(cut);
			else this.#pending.shift();
		}
		if (this.#pendingLength <= PENDING_MOST) this.#release();
		this.#draw();
		if (this.#pending.length) this.#schedule();
	}

	#answer(text) {
		if (this.#answers++ < ANSWERS_MOST) this.on.input(text);
	}

	#bell() {
		this.node.classList.add("vt-bell");
		clearTimeout(this.ringing);
		this.ringing = setTimeout(() => this.node.classList.remove("vt-bell"), 150);
	}

	// ---- drawing ----

	/** Draws the lines that can be seen, of the history and the screen. */
	#draw() {
		const { history, lines, rows } = this.screen;
		history.trim();
		const total = history.length + rows;
		this.room.style.height = `${total * LINE_PX}px`;
		// The lines that the reader looks at move up when older ones are dropped.
		if (!this.#follows && history.dropped !== this.#dropped) this.scroller.scrollTop -= (history.dropped - this.#dropped) * LINE_PX;
		this.#dropped = history.dropped;
		if (this.#follows) this.scroller.scrollTop = this.scroller.scrollHeight;
		const first = this.#follows ? history.length : Math.max(0, Math.min(Math.floor(this.scroller.scrollTop / LINE_PX), history.length));
		this.lines.style.transform = `translateY(${first * LINE_PX}px)`;
		const count = Math.min(rows + 1, total - first);
		for (let i = 0; i < count; i++) {
			const at = first + i;
			this.#drawRow(i, runsOf(at < history.length ? history.at(at) : lines[at - history.length]));
		}
		while (this.lines.childElementCount > count) this.lines.lastChild.remove();
		this.#drawn.length = count;
		this.#drawCursor(history.length);
	}

	#drawRow(i, runs) {
		let node = this.lines.children[i];
		if (!node) {
			node = el("div", { class: "vt-row" });
			this.lines.append(node);
		} else if (this.#drawn[i] === runs) return;
		this.#drawn[i] = runs;
		node.replaceChildren(...runs.map(draw));
	}

	#drawCursor(above) {
		const { x, y, modes } = this.screen;
		this.cursor.hidden = !modes.cursor || this.isOver;
		this.cursor.style.transform = `translate(${x * this.#width}px, ${(above + y) * LINE_PX}px)`;
		this.cursor.style.width = `${this.#width}px`;
		// Where the browser shows what is being composed
		this.input.style.transform = `translate(${Math.round(x * this.#width)}px, ${y * LINE_PX}px)`;
	}

	/** The program has ended: its screen stays, without a cursor. */
	end() {
		this.isOver = true;
		this.input.readOnly = true;
		this.#schedule();
	}

	// ---- the size ----

	#fitSoon() {
		clearTimeout(this.resizing);
		this.resizing = setTimeout(() => this.fit(), RESIZE_MS);
	}

	/** Fits the screen into the element, if that is shown: whole lines only. Returns its size. */
	fit() {
		const style = getComputedStyle(this.node);
		const width = this.scroller.clientWidth;
		const height = this.node.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
		if (width > 0 && height > 0) {
			this.#width = this.ruler.getBoundingClientRect().width / RULER || this.#width;
			const columns = Math.max(2, Math.floor(width / this.#width));
			const rows = Math.max(2, Math.floor(height / LINE_PX));
			const isChanged = this.screen.resize(columns, rows);
			this.scroller.style.height = `${this.screen.rows * LINE_PX}px`;
			if (isChanged) this.on.resize(this.screen.columns, this.screen.rows);
			this.#schedule();
		}
		return { columns: this.screen.columns, rows: this.screen.rows };
	}

	// ---- input ----

	#listen() {
		this.onVisibility = () => {
			if (!this.#frame && !this.#timer) return;
			this.#cancelFrame();
			this.#schedule();
		};
		document.addEventListener("visibilitychange", this.onVisibility);
		this.scroller.addEventListener("scroll", () => this.#onScroll());
		this.input.addEventListener("keydown", (event) => this.#onKey(event));
		this.input.addEventListener("input", (event) => event.isComposing || this.#onText());
		this.input.addEventListener("compositionend", () => this.#onText());
		this.input.addEventListener("paste", (event) => this.#onPaste(event));
		for (const name of ["focus", "blur"]) this.input.addEventListener(name, () => this.node.classList.toggle("vt-focused", name === "focus"));
		// A click types here from now on, unless it has selected text.
		this.scroller.addEventListener("mouseup", () => getSelection().isCollapsed && this.focus());
		this.node.addEventListener("keydown", (event) => {
			if (event.target !== this.input && event.key.length === 1 && !event.ctrlKey && !event.metaKey) this.focus();
		});
	}

	#send(text) {
		if (!text || this.isOver) return;
		this.#follows = true;
		this.on.input(text);
		this.#schedule();
	}

	#onScroll() {
		const { scrollTop, scrollHeight, clientHeight } = this.scroller;
		this.#follows = scrollTop + clientHeight >= scrollHeight - LINE_PX / 2;
		this.#schedule();
	}

	#selected() {
		const selection = getSelection();
		return !selection.isCollapsed && this.scroller.contains(selection.anchorNode);
	}

	#onKey(event) {
		// Escape and Ctrl-Enter mean something else for the rest of the page.
		event.stopPropagation();
		const { key, ctrlKey, shiftKey, metaKey } = event;
		if (key === "Tab" && shiftKey) return;
		if (shiftKey && (key === "PageUp" || key === "PageDown")) {
			this.scroller.scrollBy(0, (key === "PageUp" ? -1 : 1) * (this.scroller.clientHeight - LINE_PX));
			event.preventDefault();
			return;
		}
		const letter = key.toLowerCase();
		if ((ctrlKey || metaKey) && letter === "v") return;
		if (ctrlKey && letter === "c" && this.#selected()) {
			navigator.clipboard?.writeText(getSelection().toString()).then(() => getSelection().empty(), () => {});
			event.preventDefault();
			return;
		}
		const text = sequence(event, this.screen.modes);
		if (text === null) return;
		event.preventDefault();
		this.#send(text);
	}

	#onText() {
		const text = this.input.value;
		this.input.value = "";
		this.#send(text.replaceAll("\n", "\r"));
	}

	#onPaste(event) {
		event.preventDefault();
		this.#send(pasted(event.clipboardData?.getData("text/plain") ?? "", this.screen.modes));
	}
}
