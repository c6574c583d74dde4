// Which characters a key sends to a program, as xterm does.

// Keys that send CSI with a letter; in application mode without modifiers SS3.
const LETTERS = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
const FUNCTIONS = { F1: "P", F2: "Q", F3: "R", F4: "S" };
const NUMBERS = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19, F9: 20, F10: 21, F11: 23, F12: 24 };
const PLAIN = { Enter: "\r", Tab: "\t", Backspace: "\x7f", Escape: "\x1b" };

/** Ctrl with a letter or one of @ [ \ ] ^ _ ? and the blank. */
function controlled(key) {
	if (key === " " || key === "@") return "\0";
	if (key === "?") return "\x7f";
	if (key === "/") return "\x1f";
	return /^[a-zA-Z[\\\]^_]$/.test(key) ? String.fromCharCode(key.toUpperCase().charCodeAt(0) & 0x1f) : null;
}

/**
 * Returns what the key of an event sends, or null: then the browser handles it, and text that it inserts is sent. Keys
 * for the page itself are not passed to this.
 */
export function sequence(event, { applicationCursor }) {
	const { key, altKey, ctrlKey, shiftKey, metaKey } = event;
	if (metaKey || event.isComposing || key === "Process" || key === "Dead") return null;
	const modifiers = 1 + (shiftKey ? 1 : 0) + (altKey ? 2 : 0) + (ctrlKey ? 4 : 0);
	const letter = LETTERS[key] ?? FUNCTIONS[key];
	if (letter) {
		if (modifiers > 1) return `\x1b[1;${modifiers}${letter}`;
		return applicationCursor || FUNCTIONS[key] ? `\x1bO${letter}` : `\x1b[${letter}`;
	}
	if (NUMBERS[key]) return modifiers > 1 ? `\x1b[${NUMBERS[key]};${modifiers}~` : `\x1b[${NUMBERS[key]}~`;
	if (PLAIN[key]) return (altKey ? "\x1b" : "") + (key === "Backspace" && ctrlKey ? "\b" : PLAIN[key]);
	// AltGr, which types characters, is Ctrl with Alt on some systems.
	if (key.length !== 1 || event.getModifierState?.("AltGraph")) return null;
	if (ctrlKey) {
		const character = controlled(key);
		return character === null ? null : (altKey ? "\x1b" : "") + character;
	}
	return altKey ? `\x1b${key}` : null;
}

/**
 * Returns pasted text as typed text. No control character of it reaches the program, except those of lines and tabs: a
 * page from which text was copied must not press keys.
 */
export function pasted(text, { bracketedPaste }) {
	const typed = text.replace(/\r\n?|\n/g, "\r").replace(/[^\r\t\x20-\x7e\xa0-\uffff]/g, "");
	return bracketedPaste ? `\x1b[200~${typed}\x1b[201~` : typed;
}
