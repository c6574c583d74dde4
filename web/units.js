// Formats numbers for the user.

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n) {
	let at = 0;
	while (n >= 1024 && at < SIZES.length - 1) {
		n /= 1024;
		at++;
	}
	return `${at && n < 10 ? +n.toFixed(1) : Math.round(n)} ${SIZES[at]}`;
}

export function milliseconds(ms) {
	if (ms < 10) return `${ms.toFixed(1)} ms`;
	if (ms < 1000) return `${Math.round(ms)} ms`;
	return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

export function seconds(s) {
	if (s >= 60 && s % 60 === 0) return `${s / 60} min`;
	return s < 1 ? `${s * 1000} ms` : `${s} s`;
}

/** Formats how long ago something began. */
export function span(s) {
	if (s < 60) return `${Math.floor(s)} s`;
	return s < 7200 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h`;
}

export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
