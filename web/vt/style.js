// How a cell looks: colours and attributes, from SGR sequences. Styles are never
// changed, so cells share them. A colour is -1 (the default), a number of the
// palette up to 255, or RGB with the bit 24 set.

export const RGB = 0x1000000;

export const PLAIN = Object.freeze({ fg: -1, bg: -1, bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false });

export const sameStyle = (a, b) =>
	a === b ||
	(a.fg === b.fg && a.bg === b.bg && a.bold === b.bold && a.dim === b.dim && a.italic === b.italic && a.underline === b.underline && a.inverse === b.inverse && a.strike === b.strike);

/** Returns the style of erased cells, which keep the background. */
export const erased = (style) => (style.bg === -1 && !style.inverse ? PLAIN : { ...PLAIN, bg: style.inverse ? style.fg : style.bg });

// Blinking and hidden text stay visible: nothing on the screen is hidden from its reader.
const SIMPLE = {
	1: { bold: true },
	2: { dim: true },
	3: { italic: true },
	7: { inverse: true },
	9: { strike: true },
	21: { underline: true },
	22: { bold: false, dim: false },
	23: { italic: false },
	24: { underline: false },
	27: { inverse: false },
	29: { strike: false },
	39: { fg: -1 },
	49: { bg: -1 },
};

const byte = (n) => Math.min(n ?? 0, 255);
const rgb = (r, g, b) => RGB | (byte(r) << 16) | (byte(g) << 8) | byte(b);

/** Returns the colour after 38 or 48, and how many further parameters it takes. */
function colour(params, at) {
	const own = params[at];
	// 38:5:N, 38:2:R:G:B, and 38:2:SPACE:R:G:B
	if (own.length > 1) return [own[1] === 5 ? byte(own[2]) : own[1] === 2 ? rgb(...own.slice(own.length > 5 ? 3 : 2)) : undefined, 0];
	const kind = params[at + 1]?.[0];
	if (kind === 5) return [byte(params[at + 2]?.[0]), 2];
	if (kind === 2) return [rgb(params[at + 2]?.[0], params[at + 3]?.[0], params[at + 4]?.[0]), 4];
	return [undefined, 0];
}

/** Returns the style after an SGR sequence. */
export function styled(before, params) {
	if (params.length === 1 && params[0][0] === 0) return PLAIN;
	const style = { ...before };
	for (let at = 0; at < params.length; at++) {
		const n = params[at][0];
		if (n === 0) Object.assign(style, PLAIN);
		else if (n === 4) style.underline = params[at][1] !== 0;
		else if (SIMPLE[n]) Object.assign(style, SIMPLE[n]);
		else if (n >= 30 && n <= 37) style.fg = n - 30;
		else if (n >= 40 && n <= 47) style.bg = n - 40;
		else if (n >= 90 && n <= 97) style.fg = n - 82;
		else if (n >= 100 && n <= 107) style.bg = n - 92;
		else if (n === 38 || n === 48) {
			const [value, taken] = colour(params, at);
			if (value !== undefined) style[n === 38 ? "fg" : "bg"] = value;
			at += taken;
		}
	}
	return sameStyle(style, PLAIN) ? PLAIN : style;
}
