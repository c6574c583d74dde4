// Tests of the terminal in the playground that need no browser.
//  emulator.mjs FOLDER
// The folder has a copy of web/vt, as a package of modules. Prints one line of JSON for each scenario: its name, and why
// it failed.

import assert from "node:assert/strict";

const folder = process.argv[2];
const { MOST_COLUMNS, MOST_LINES, MOST_ROWS, runsOf } = await import(`${folder}/vt/grid.js`);
const { pasted, sequence } = await import(`${folder}/vt/keys.js`);
const { Parser } = await import(`${folder}/vt/parser.js`);
const { Screen } = await import(`${folder}/vt/screen.js`);
const { RGB } = await import(`${folder}/vt/style.js`);
const { width } = await import(`${folder}/vt/width.js`);

class Terminal {
	constructor(columns = 10, rows = 4) {
		this.answers = [];
		this.bells = 0;
		this.screen = new Screen(columns, rows, { answer: (text) => this.answers.push(text), bell: () => this.bells++ });
		this.parser = new Parser(this.screen);
		this.decoder = new TextDecoder();
	}

	write(...pieces) {
		for (const piece of pieces) this.parser.write(typeof piece === "string" ? piece : this.decoder.decode(piece, { stream: true }));
		return this;
	}

	/** The lines of the screen, without blanks at their ends. */
	get lines() {
		return this.screen.lines.map((row) => row.text.join("").trimEnd());
	}

	get past() {
		return Array.from({ length: this.screen.history.length }, (_, i) => this.screen.history.at(i).text.join("").trimEnd());
	}

	get cursor() {
		return [this.screen.x, this.screen.y];
	}

	get runs() {
		return runsOf(this.screen.lines[0]);
	}

	/** Everything that a reader could see, or that changes what comes next. */
	get state() {
		const { x, y, wraps, style, top, bottom, modes, saved, sets, set, isAlternate, columns, rows } = this.screen;
		return JSON.stringify([this.screen.lines.map(runsOf), this.past, this.answers, x, y, wraps, style, top, bottom, modes, saved, sets, set, isAlternate, columns, rows]);
	}

	check() {
		const { screen } = this;
		assert.ok(screen.columns >= 1 && screen.columns <= MOST_COLUMNS && screen.rows >= 1 && screen.rows <= MOST_ROWS);
		assert.ok(screen.x >= 0 && screen.x < screen.columns && screen.y >= 0 && screen.y < screen.rows, `cursor ${this.cursor}`);
		assert.ok(screen.top >= 0 && screen.top <= screen.bottom && screen.bottom < screen.rows);
		assert.equal(screen.lines.length, screen.rows);
		if (screen.other) assert.equal(screen.other.length, screen.rows);
		for (const row of screen.lines) {
			assert.equal(row.text.length, screen.columns);
			assert.equal(row.styles.length, screen.columns);
			row.text.forEach((text, x) => {
				assert.ok(text.length <= 12);
				assert.doesNotMatch(text, /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
				if (text !== "" && width(text.codePointAt(0), String.fromCodePoint(text.codePointAt(0))) === 2) assert.equal(row.text[x + 1], "", "half a character");
				if (text === "") assert.equal(width(row.text[x - 1].codePointAt(0), String.fromCodePoint(row.text[x - 1].codePointAt(0))), 2, "half a character");
			});
		}
		assert.ok(screen.history.length < MOST_LINES + 500);
	}
}

const at = (terminal) => terminal.lines.join("|").replace(/\|+$/, "");
const screenOf = (...pieces) => at(new Terminal().write(...pieces));

/** A small generator of random numbers, so that a failure can be repeated. */
function random(seed) {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

const PARTS = [
	"text", "é漢字🙂", "e\u0301", "\u202e", "\r\n", "\n", "\r", "\b", "\t", "\x07", "\x0e", "\x0f", "\x1b[", "\x1b", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x1b\\",
	"\x1bP+q544e\x1b\\", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?6h", "\x1b[?6l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b(0", "\x1b(B", "\x1b7", "\x1b8",
	"\x1bD", "\x1bM", "\x1bE", "\x1bH", "\x1bc", "\x1b[!p", "\x1b[6n", "\x1b[c", "\x18", "\x9b31m", "\0", "\x7f", "9999999999", ";", ":", "?", " ",
]; // prettier-ignore
const FINALS = "@ABCDEFGHIJKLMPSTXZ`abcdefghlmnrsu";

function noise(next, length) {
	let text = "";
	while (text.length < length) {
		if (next(3)) text += PARTS[next(PARTS.length)];
		else text += `\x1b[${next(2) ? next(30) : next(100000)}${next(2) ? `;${next(30)}` : ""}${FINALS[next(FINALS.length)]}`;
	}
	return text;
}

const scenarios = {
	text_wraps_and_scrolls() {
		const it = new Terminal().write("0123456789abc\r\nd\r\ne\r\nf");
		assert.deepEqual(it.lines, ["abc", "d", "e", "f"]);
		assert.deepEqual(it.past, ["0123456789"]);
		assert.equal(screenOf("0123456789\r\nx"), "0123456789|x", "a full line wraps only when a character follows");
		assert.equal(screenOf("0123456789\bX"), "01234567X9");
		assert.equal(screenOf("\x1b[?7l0123456789abc"), "012345678c");
		assert.equal(screenOf("a\tb\r\nabc\rX"), "a       b|Xbc");
	},

	cursor_moves_within_the_screen() {
		assert.equal(screenOf("\x1b[2;3Hx\x1b[99;99Hy"), "|  x||         y");
		assert.equal(screenOf("\x1b[99999999999;1Hx"), "|||x");
		assert.deepEqual(new Terminal().write("\x1b[3B\x1b[5C\x1b[A\x1b[2D").cursor, [3, 2]);
		assert.deepEqual(new Terminal().write("\x1b[9A\x1b[9D").cursor, [0, 0]);
		assert.deepEqual(new Terminal().write("ab\x1b7\x1b[4;4H\x1b8").cursor, [2, 0]);
		assert.deepEqual(new Terminal().write("ab\x1b[s\x1b[4;4H\x1b[u").cursor, [2, 0]);
		assert.deepEqual(new Terminal().write("\x1b[3;5H\x1b[E").cursor, [0, 3]);
		assert.deepEqual(new Terminal().write("\x1b[6G\x1b[3d\x1b[Z").cursor, [0, 2]);
	},

	cells_and_lines_are_erased_inserted_and_deleted() {
		assert.equal(screenOf("abcdef\x1b[3G\x1b[K"), "ab");
		assert.equal(screenOf("abcdef\x1b[3G\x1b[1K"), "   def");
		assert.equal(screenOf("abcdef\x1b[2G\x1b[2X"), "a  def");
		assert.equal(screenOf("abcdef\x1b[2G\x1b[2P"), "adef");
		assert.equal(screenOf("abcdef\x1b[2G\x1b[2@"), "a  bcdef");
		assert.equal(screenOf("abcdef\x1b[2G\x1b[4hXY"), "aXYbcdef");
		assert.equal(screenOf("a\r\nb\r\nc\x1b[2H\x1b[L"), "a||b|c");
		assert.equal(screenOf("a\r\nb\r\nc\x1b[1H\x1b[M"), "b|c");
		assert.equal(screenOf("a\r\nb\r\nc\x1b[2H\x1b[J"), "a");
		assert.equal(screenOf("a\r\nb\r\nc\x1b[2H\x1b[1J"), "||c");
		assert.equal(screenOf("a\r\nb\x1b[2J"), "");
		assert.equal(screenOf("x\x1b[4b"), "xxxxx");
		assert.deepEqual(new Terminal().write("a\r\nb\x1b[1H\x1b[M").past, [], "a deleted line is not history");
		assert.deepEqual(new Terminal().write("1\r\n2\r\n3\r\n4\r\n5\x1b[3J").past, []);
	},

	scroll_region_moves_its_lines_only() {
		assert.equal(screenOf("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\nX"), "a|c|X|d");
		assert.equal(screenOf("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bMX"), "a|X|b|d");
		assert.equal(screenOf("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[S"), "a|c||d");
		assert.equal(screenOf("a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[T"), "a||b|d");
		assert.equal(screenOf("\x1b[2;3r\x1b[?6hX\x1b[9;9HY"), "|X|        Y");
		assert.deepEqual(new Terminal().write("\x1b[3;2r\x1b[9;9r").screen.bottom, 3, "an empty region is ignored");
		assert.deepEqual(new Terminal().write("\x1b[2;4r\x1b[4;1H\n\n\n").past, [], "lines of a region below the top are not history");
	},

	alternate_screen_leaves_the_other_as_it_was() {
		const it = new Terminal().write("shell\x1b[?1049h\x1b[2J\x1b[Hfull\r\n\n\n\n\nscreen");
		assert.equal(it.lines.at(-1), "screen");
		assert.deepEqual(it.past, []);
		it.write("\x1b[?1049lX");
		assert.deepEqual([at(it), it.cursor], ["shellX", [6, 0]]);
		assert.equal(at(new Terminal().write("a\x1b[?1049l\x1b[?1049l")), "a");
	},

	colours_and_attributes_are_styles() {
		const style = (text) => new Terminal(40).write(`\x1b[${text}mx`).runs[0].style;
		assert.equal(style("31").fg, 1);
		assert.equal(style("97").fg, 15);
		assert.equal(style("104").bg, 12);
		assert.equal(style("38;5;200").fg, 200);
		assert.equal(style("48;2;1;2;3").bg, RGB | 0x010203);
		assert.equal(style("38:2::1:2:3").fg, RGB | 0x010203);
		assert.equal(style("38:2:1:2:3").fg, RGB | 0x010203);
		assert.equal(style("38;2;999;0;0").fg, RGB | 0xff0000);
		assert.equal(style("38;5;999").fg, 255);
		assert.deepEqual([style("1;3;4;7;9").bold, style("4:3").underline, style("4:0").underline, style("1;22").bold, style("31;39").fg], [true, true, false, false, -1]);
		assert.equal(style("38;5").fg, 0);
		assert.equal(style("38;7;31").fg, 1, "an unknown kind of colour takes no parameters but its own");
		assert.deepEqual(new Terminal().write("\x1b[31ma\x1b[mb").runs.map((run) => [run.text, run.style.fg]), [["a", 1], ["b", -1]]);
		assert.equal(new Terminal().write("\x1b[44m\x1b[K").runs[0].text.length, 10, "erased cells keep the background");
		// Hidden text is shown, so that copied text is what was seen.
		assert.equal(new Terminal().write("\x1b[8mx").runs[0].text, "x");
	},

	characters_have_their_width() {
		assert.equal(width(0x61, "a"), 1);
		assert.equal(width(0x6f22, "漢"), 2);
		assert.equal(width(0x1f642, "🙂"), 2);
		assert.equal(width(0x301, "\u0301"), 0);
		assert.equal(screenOf("漢字漢字漢字"), "漢字漢字漢|字");
		assert.equal(at(new Terminal(3, 2).write("ab漢")), "ab|漢", "no half of it in the last column");
		assert.equal(screenOf("漢\x1b[2GX"), " X", "what covers a half removes the other");
		assert.equal(screenOf("漢\x1b[2Gé"), " é");
		assert.equal(screenOf("漢\rX"), "X");
		assert.equal(screenOf("a漢b\x1b[3G\x1b[P"), "a b");
		assert.deepEqual(new Terminal().write("e\u0301x").runs.map(({ text }) => text), ["e\u0301", "x"]);
		assert.equal(new Terminal().write("e" + "\u0301".repeat(1000)).screen.lines[0].text[0].length, 12);
		assert.equal(screenOf("\x1b(0lqk\x1b(Bq"), "┌─┐q");
	},

	direction_of_writing_is_not_changed() {
		assert.equal(screenOf("a\u202eb\u2066c\u200f"), "abc");
	},

	sequences_may_be_cut_anywhere() {
		for (let seed = 1; seed <= 60; seed++) {
			const next = random(seed);
			const bytes = new TextEncoder().encode(noise(next, 600));
			const whole = new Terminal(20, 6).write(bytes);
			const cut = new Terminal(20, 6);
			for (let from = 0, to; from < bytes.length; from = to) {
				to = from + 1 + next(5);
				cut.write(bytes.subarray(from, to));
			}
			assert.equal(cut.state, whole.state, `seed ${seed}`);
		}
	},

	noise_stays_within_bounds() {
		for (let seed = 1; seed <= 60; seed++) {
			const next = random(1000 + seed);
			const it = new Terminal(1 + next(30), 1 + next(12));
			for (let n = 0; n < 30; n++) {
				it.write(Uint8Array.from({ length: next(80) }, () => next(256)), noise(next, 200));
				if (!next(3)) it.screen.resize(next(700) - 50, next(300) - 20);
				it.check();
			}
		}
	},

	huge_parameters_and_many_of_them_do_nothing_bad() {
		const it = new Terminal();
		for (const final of FINALS) it.write(`\x1b[${"9".repeat(5000)};${"9".repeat(400)}${final}`, `\x1b[${"1;".repeat(5000)}1${final}`, `\x1b[${"1:".repeat(5000)}1${final}`, `\x1b[${"?".repeat(900)}1${final}`, `\x1b[1${"!".repeat(900)}${final}`);
		it.check();
		// A sequence with too many parameters is ignored to its end.
		assert.equal(screenOf(`ab\x1b[${"1;".repeat(40)}1Hx`), "abx");
		assert.equal(screenOf(`ab\x1b[${"1:".repeat(40)}1Hx`), "abx");
		const seen = [];
		new Parser({ csi: (prefix, intermediate, params) => seen.push(...params.flat()) }).write(`\x1b[${"9".repeat(5000)};7:${"8".repeat(400)}m`);
		assert.deepEqual(seen, [65535, 7, 65535]);
		assert.ok(new Terminal().write("x\x1b[65535b").past.length < 2, "at most a line is repeated");
		const begun = performance.now();
		new Terminal(MOST_COLUMNS, MOST_ROWS).write("x", "\x1b[65535b".repeat(200), "\x1b[65535S".repeat(100), "\x1b[65535L".repeat(100), "\x1b[65535@".repeat(100));
		assert.ok(performance.now() - begun < 5000, "a few bytes cause little work");
	},

	strings_are_dropped() {
		for (const opening of ["\x1b]0;", "\x1b]52;c;", "\x1bP", "\x1b_", "\x1b^", "\x1bX"]) {
			assert.equal(screenOf(`a${opening}secret`, "more\x1b\\b"), "ab", opening);
			assert.equal(screenOf(`a${opening}${"x".repeat(100_000)}\x07b`), "ab", opening);
		}
		assert.equal(screenOf("\x1b]0;unfinished", "\x1b[1mx"), "x", "the next sequence ends it");
		const it = new Terminal().write("\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]10;?\x07\x1bP$qm\x1b\\\x1b[21t\x1b[18t\x05\x1b[>q\x1b[?6n");
		assert.deepEqual([at(it), it.answers], ["", []]);
	},

	answers_contain_numbers_only() {
		const it = new Terminal().write("injected\r\n; rm -rf /\x1b[6n\x1b[5n\x1b[c\x1b[>c\x1b[2;3r\x1b[?6h\x1b[2;2H\x1b[6n");
		assert.deepEqual(it.answers, ["\x1b[2;10R", "\x1b[0n", "\x1b[?6c", "\x1b[>0;0;0c", "\x1b[2;2R"]);
		for (let seed = 1; seed <= 20; seed++) {
			const noisy = new Terminal().write(noise(random(seed), 4000));
			for (const answer of noisy.answers) assert.match(answer, /^\x1b\[[?>]?[\d;]+[Rnc]$/);
		}
	},

	history_is_bounded() {
		const it = new Terminal(10, 4);
		for (let n = 0; n < MOST_LINES + 2000; n++) {
			it.write(`${n}\r\n`);
			assert.ok(it.screen.history.length < MOST_LINES + 500);
		}
		it.screen.history.trim();
		assert.equal(it.past.length, MOST_LINES);
		assert.equal(it.past.at(-1), String(MOST_LINES + 2000 - 4));
		assert.equal(it.screen.history.dropped + it.past.length, MOST_LINES + 2000 - 3);
	},

	screen_is_resized_without_losing_the_end() {
		const it = new Terminal(10, 4).write("1\r\n2\r\n3\r\n4");
		it.screen.resize(5, 2);
		assert.deepEqual([it.lines, it.past, it.cursor], [["3", "4"], ["1", "2"], [1, 1]]);
		it.screen.resize(8, 5);
		assert.deepEqual([at(it), it.cursor], ["3|4", [1, 1]]);
		const top = new Terminal(10, 4).write("only");
		top.screen.resize(10, 2);
		assert.deepEqual([at(top), top.past], ["only", []]);
		const full = new Terminal(10, 4).write("1\r\n2\r\n3\r\n4\x1b[?1049h\x1b[4;1Hedit");
		full.screen.resize(10, 2);
		full.check();
		full.write("\x1b[?1049l");
		assert.deepEqual([full.lines, full.past], [["3", "4"], ["1", "2"]]);
		full.check();
	},

	reset_makes_everything_new() {
		const it = new Terminal().write("a\x1b[31;2;4r\x1b[?25l\x1b[?1h\x1b(0\x1b[?1049h\x1bcq");
		assert.deepEqual([at(it), it.screen.modes.cursor, it.screen.modes.applicationCursor, it.screen.isAlternate], ["q", true, false, false]);
		assert.equal(it.write("\x07\x07").bells, 2);
	},

	keys_send_what_programs_expect() {
		const key = (name, more = {}, modes = {}) => sequence({ key: name, ...more }, modes);
		assert.equal(key("a"), null);
		assert.equal(key("é"), null);
		assert.equal(key("Enter"), "\r");
		assert.equal(key("Backspace"), "\x7f");
		assert.equal(key("Tab"), "\t");
		assert.equal(key("Escape"), "\x1b");
		assert.equal(key("c", { ctrlKey: true }), "\x03");
		assert.equal(key(" ", { ctrlKey: true }), "\0");
		assert.equal(key("[", { ctrlKey: true }), "\x1b");
		assert.equal(key("1", { ctrlKey: true }), null);
		assert.equal(key("b", { altKey: true }), "\x1bb");
		assert.equal(key("ArrowUp"), "\x1b[A");
		assert.equal(key("ArrowUp", {}, { applicationCursor: true }), "\x1bOA");
		assert.equal(key("ArrowLeft", { ctrlKey: true }), "\x1b[1;5D");
		assert.equal(key("Delete"), "\x1b[3~");
		assert.equal(key("F1"), "\x1bOP");
		assert.equal(key("F5"), "\x1b[15~");
		assert.equal(key("c", { metaKey: true }), null);
		assert.equal(key("q", { ctrlKey: true, altKey: true, getModifierState: () => true }), null, "AltGr types a character");
	},

	pasted_text_presses_no_keys() {
		assert.equal(pasted("a\nb\r\nc", {}), "a\rb\rc");
		assert.equal(pasted("x\x1b[201~\x03; rm\x9b\0é漢🙂\t", { bracketedPaste: true }), "\x1b[200~x[201~; rmé漢🙂\t\x1b[201~");
	},
};

for (const [name, scenario] of Object.entries(scenarios)) {
	let failure = null;
	try {
		await scenario();
	} catch (error) {
		failure = error.stack ?? String(error);
	}
	console.log(JSON.stringify({ name, failure }));
}
