// Splits what a program writes to a terminal into text, control characters and
// sequences. The text may be cut anywhere: the state stays from one piece to the
// next, and is small whatever arrives.
//
// The sink has text(string), control(code), escape(intermediate, final) and
// csi(prefix, intermediate, params, final). A parameter is a list: its number, and
// the numbers after colons.
//
// Strings (window titles, the clipboard, images and the like: OSC, DCS, APC, PM and
// SOS) are not even stored: no sink can act on them.

const MOST_PARAMS = 32;
const MOST_PARTS = 8;
const MOST = 65535; // the greatest parameter; greater ones count as this
const ESC = 0x1b;
// Text that contains nothing else. C1 controls (U+0080 to U+009F) do nothing.
const TEXT = /[^\x00-\x1f\x7f-\x9f]+/y;

const GROUND = 0;
const ESCAPE = 1;
const CSI = 2;
const IGNORE = 3; // a malformed CSI sequence, to its end
const STRING = 4;

export class Parser {
	#sink;
	#state = GROUND;
	#prefix = "";
	#intermediate = "";
	#params = [[0]];

	constructor(sink) {
		this.#sink = sink;
	}

	write(text) {
		for (let at = 0; at < text.length; ) {
			if (this.#state === GROUND) {
				TEXT.lastIndex = at;
				const found = TEXT.exec(text);
				if (found) {
					this.#sink.text(found[0]);
					at += found[0].length;
					continue;
				}
			}
			this.#step(text.charCodeAt(at++));
		}
	}

	#step(code) {
		// These end every sequence: CAN and SUB cancel it, ESC begins the next.
		if (code === 0x18 || code === 0x1a) this.#state = GROUND;
		else if (code === ESC) this.#enter(ESCAPE);
		else if (this.#state === STRING) this.#state = code === 0x07 ? GROUND : STRING;
		else if (code < 0x20) this.#sink.control(code);
		else if (code >= 0x7f && code <= 0x9f) return;
		else if (this.#state === ESCAPE) this.#inEscape(code);
		else if (this.#state === CSI) this.#inCsi(code);
		else if (this.#state === IGNORE && code >= 0x40) this.#state = GROUND;
	}

	#enter(state) {
		this.#state = state;
		this.#prefix = "";
		this.#intermediate = "";
		this.#params = [[0]];
	}

	#inEscape(code) {
		const character = String.fromCharCode(code);
		if (code < 0x30) {
			this.#intermediate = (this.#intermediate + character).slice(0, 2);
			return;
		}
		if (!this.#intermediate && character === "[") return this.#enter(CSI);
		if (!this.#intermediate && "]PX^_".includes(character)) return this.#enter(STRING);
		this.#state = GROUND;
		if (code < 0x7f) this.#sink.escape(this.#intermediate, character);
	}

	#inCsi(code) {
		const character = String.fromCharCode(code);
		if (code >= 0x30 && code <= 0x39) this.#digit(code - 0x30);
		else if (code === 0x3b) this.#params.push([0]);
		else if (code === 0x3a) this.#params.at(-1).push(0);
		else if (code < 0x30) this.#intermediate += character;
		else if (code < 0x40) this.#prefix += character;
		else {
			this.#state = GROUND;
			if (code < 0x7f) this.#sink.csi(this.#prefix, this.#intermediate, this.#params, character);
			return;
		}
		if (this.#params.length > MOST_PARAMS || this.#params.at(-1).length > MOST_PARTS || this.#prefix.length > 1 || this.#intermediate.length > 1)
			this.#enter(IGNORE);
	}

	#digit(digit) {
		const parts = this.#params.at(-1);
		parts[parts.length - 1] = Math.min(parts.at(-1) * 10 + digit, MOST);
	}
}
