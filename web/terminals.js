// The terminals of the session: a tab for each, and its connection to a shell.

import { ApiError, post, remove, stream } from "./api.js";
import { el } from "./dom.js";
import { refusal } from "./plan.js";
import { View } from "./vt/view.js";

// Each has a connection to the server, of which browsers open few.
const MOST = 3;
const INPUT_PIECE = 64 * 1024; // characters in one request
const INPUT_MOST = 1024 * 1024; // characters that wait; more are dropped
const SHELL = ["/bin/sh", "-c", "command -v bash >/dev/null && exec bash -i; exec sh -i"];
const ENV = { TERM: "xterm-256color", COLORTERM: "truecolor", LANG: "C.UTF-8" };
const LONGER = "10m";

/** The bytes of a message, which come as base64. */
function bytesOf(base64) {
	const text = atob(base64);
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
	return bytes;
}

/** One terminal, from its start to the end of its program. */
class Terminal {
	#path = null; // of the command, once it has started
	#input = "";
	#isSending = false;
	#abort = new AbortController();

	/** on: { end(terminal, { text, error }) } */
	constructor(number, on) {
		this.on = on;
		this.number = number;
		this.name = `Terminal ${number}`;
		this.view = new View(this.name, { input: (text) => this.#type(text), resize: (columns, rows) => this.#resize(columns, rows) });
		this.note = el("div", { class: "vt-note", role: "status" });
		this.node = el("div", { class: "vt-panel", role: "tabpanel", "aria-label": this.name }, this.view.node, this.note);
	}

	/** Runs a shell in the session at this path, until it ends. */
	async run(path) {
		try {
			for await (const event of stream(`${path}/commands`, { argv: SHELL, env: ENV, terminal: this.view.fit(), stream: "ndjson" }, this.#abort.signal)) {
				if (event.type === "start") {
					this.#path = `${path}/commands/${event.id}`;
					this.#flush();
				} else if (event.type === "output") await this.view.write(bytesOf(event.base64));
				else if (event.type === "end") return this.#end(event);
				else if (event.type === "error") return this.#end({ status: "error", error: event.error });
			}
			this.#end({ status: "error", error: { message: "the server ended the stream" } });
		} catch (error) {
			if (error.name === "AbortError") return;
			// Browsers report a broken connection as a TypeError.
			if (!(error instanceof ApiError) && !(error instanceof TypeError)) throw error;
			this.#end({ status: "error", error: error instanceof ApiError ? error : { message: "the connection to the server is lost" } });
		}
	}

	#end({ exit_code, signal, error }) {
		this.isOver = true;
		this.view.end();
		const text = error ? error.message : signal ? `The shell was killed by signal ${signal}.` : `The shell has ended with exit code ${exit_code}.`;
		this.on.end(this, { text, error });
	}

	// ---- input: one request at a time, so that it arrives in order ----

	#type(text) {
		if (this.isOver || this.#input.length + text.length > INPUT_MOST) return;
		this.#input += text;
		this.#flush();
	}

	async #flush() {
		if (!this.#path || this.#isSending) return;
		this.#isSending = true;
		try {
			while (this.#input && !this.isOver) {
				const cut = (this.#input.charCodeAt(INPUT_PIECE - 1) & 0xfc00) === 0xd800 ? INPUT_PIECE + 1 : INPUT_PIECE;
				const text = this.#input.slice(0, cut);
				this.#input = this.#input.slice(cut);
				await post(`${this.#path}/input`, { text });
			}
		} catch (error) {
			this.#lose(error);
		} finally {
			this.#isSending = false;
		}
	}

	async #resize(columns, rows) {
		if (!this.#path || this.isOver) return;
		try {
			await post(`${this.#path}/resize`, { columns, rows });
		} catch (error) {
			this.#lose(error);
		}
	}

	/** A command that has ended meanwhile takes no input; its stream reports why. */
	#lose(error) {
		if (error.status !== 404 && error.status !== 409) this.note.textContent = error.message;
	}

	async close() {
		this.isOver = true;
		this.#abort.abort();
		this.view.close();
		this.node.remove();
		try {
			if (this.#path) await remove(this.#path);
		} catch (error) {
			if (error.status !== 404 && error.status !== 409 && error.code !== "gone") throw error;
		}
	}
}

export class Terminals {
	#all = [];
	#shown = null;

	/**
	 * session(): returns the path of a session, opening one if necessary; fields(): of policies; isSet(name): whether the
	 * user has set a field; allow(changes): changes the policy; onOpen(), onClose(): the panel is needed, or no more.
	 */
	constructor(host, { session, fields, isSet, allow, onOpen, onClose }) {
		Object.assign(this, { host, session, fields, isSet, allow, onOpen, onClose });
		this.tabs = el("div", { class: "vt-tabs", role: "tablist", "aria-label": "Terminals", onkeydown: (event) => this.#onKey(event) });
		this.more = el("button", { type: "button", class: "quiet", "aria-label": "Another terminal", title: "Another terminal", onclick: () => this.open() }, "+");
		const close = el("button", { type: "button", class: "quiet", title: "Close all terminals", onclick: () => this.close() }, "Close");
		this.screens = el("div", { class: "vt-screens" });
		this.failure = el("div", { class: "vt-failure" });
		host.append(el("div", { class: "panel-bar" }, this.tabs, this.more, el("span", { class: "grow" }), close), this.failure, this.screens);
		this.#update();
	}

	get isEmpty() {
		return !this.#all.length;
	}

	/** Opens a terminal. The first opens the session too. */
	async open() {
		this.onOpen();
		this.host.hidden = false;
		if (this.#all.length >= MOST) return;
		this.failure.replaceChildren();
		const terminal = new Terminal(this.#freeNumber(), { end: (...end) => this.#ended(...end) });
		this.#add(terminal);
		let path;
		try {
			path = await this.session();
		} catch (error) {
			this.failure.replaceChildren(this.#refusal(error));
			await this.#remove(terminal);
			return;
		}
		terminal.run(path);
	}

	/** Closes all of them, and the panel. */
	close() {
		this.failure.replaceChildren();
		for (const terminal of [...this.#all]) this.#remove(terminal);
		this.onClose();
	}

	#freeNumber() {
		for (let n = 1; ; n++) if (!this.#all.some(({ number }) => number === n)) return n;
	}

	/** Names the field that keeps terminals from running, and offers to change it. */
	#refusal(error) {
		const changes = [];
		if (error.where === "subprocess_execution") changes.push({ name: "subprocess_execution", value: true });
		if ((changes.length && !this.isSet("timeout")) || error.where === "timeout") changes.push({ name: "timeout", value: LONGER });
		const node = refusal(error, this.fields(), (wanted) => this.#allow(wanted));
		const label = changes.map(({ name, value }) => (value === true ? name : `${name} to ${value}`)).join(" and ");
		if (changes.length) node.append(el("button", { type: "button", class: "small", onclick: () => this.#allow(changes) }, `Set ${label}, and open a terminal`));
		return node;
	}

	#allow(changes) {
		this.allow(changes);
		this.failure.replaceChildren();
		for (const terminal of this.#all.filter(({ isOver }) => isOver)) this.#remove(terminal);
		return this.open();
	}

	#ended(terminal, { text, error }) {
		terminal.note.replaceChildren(error?.where ? this.#refusal(error) : text);
		this.#update();
	}

	// ---- tabs ----

	#add(terminal) {
		const id = `terminal-${terminal.number}`;
		terminal.node.id = id;
		terminal.tab = el("button", { type: "button", role: "tab", "aria-controls": id, onclick: () => this.show(terminal) }, terminal.name);
		terminal.cross = el("button", { type: "button", class: "quiet vt-cross", "aria-label": `Close ${terminal.name}`, onclick: () => this.#remove(terminal) }, "×");
		terminal.head = el("span", { class: "vt-tab", role: "presentation" }, terminal.tab, terminal.cross);
		this.#all.push(terminal);
		this.tabs.append(terminal.head);
		this.screens.append(terminal.node);
		this.show(terminal);
	}

	show(terminal) {
		this.#shown = terminal;
		this.#update();
		terminal.view.fit();
		terminal.view.focus();
	}

	#update() {
		for (const one of this.#all) {
			const isShown = one === this.#shown;
			one.tab.setAttribute("aria-selected", String(isShown));
			one.tab.tabIndex = isShown ? 0 : -1;
			one.head.classList.toggle("vt-over", Boolean(one.isOver));
			one.node.hidden = !isShown;
		}
		this.more.disabled = this.#all.length >= MOST;
	}

	#onKey(event) {
		const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!by || event.target.role !== "tab") return;
		const at = this.#all.indexOf(this.#shown) + by;
		const next = this.#all[(at + this.#all.length) % this.#all.length];
		this.show(next);
		next.tab.focus();
		event.preventDefault();
	}

	async #remove(terminal) {
		const at = this.#all.indexOf(terminal);
		if (at < 0) return;
		this.#all.splice(at, 1);
		terminal.head.remove();
		if (this.#shown === terminal) this.#shown = this.#all[Math.max(0, at - 1)] ?? null;
		this.#update();
		this.#shown?.view.focus();
		if (!this.#all.length && !this.failure.hasChildNodes()) this.onClose();
		await terminal.close();
	}
}
