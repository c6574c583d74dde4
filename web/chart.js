// Draws a chart from its data (application/vnd.remit.chart+json), in the
// colours of the page and with the numbers of each mark as a tooltip.

import { el } from "./dom.js";

const EDGE = { left: 58, right: 18, top: 18, bottom: 46 };
const SERIES = 6; // colours in the style sheet

function svg(tag, props = {}, ...children) {
	const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [key, value] of Object.entries(props)) node.setAttribute(key, value);
	node.append(...children);
	return node;
}

const titled = (node, text) => (node.append(svg("title", {}, text)), node);
const text = (x, y, content, props = {}) => svg("text", { x, y, ...props }, String(content));
const shown = (n) => (typeof n === "number" ? String(+n.toPrecision(6)) : String(n));

/** Returns round steps that cover the range. */
function steps(low, high) {
	if (low === high) [low, high] = [low - 1, high + 1];
	const rough = (high - low) / 5;
	const size = 10 ** Math.floor(Math.log10(rough));
	const step = size * [1, 2, 5, 10].find((n) => n * size >= rough);
	const first = Math.floor(low / step) * step;
	const count = Math.ceil((high - first) / step - 1e-9) + 1;
	return Array.from({ length: count }, (_, i) => +(first + i * step).toPrecision(12));
}

/** The axis ranges from the first step to the last, or if tight from the first number to the last. */
function axis(numbers, isTight) {
	let [low, high] = numbers.reduce(([a, b], n) => [Math.min(a, n), Math.max(b, n)], [Infinity, -Infinity]);
	let ticks = steps(low, high);
	if (isTight && low < high) ticks = ticks.filter((tick) => tick >= low && tick <= high);
	else [low, high] = [ticks[0], ticks[ticks.length - 1]];
	return { ticks, share: (n) => (n - low) / (high - low) };
}

/** Converts shares of an axis to coordinates. */
class Area {
	constructor(width = 460, height = 290) {
		Object.assign(this, { width, height });
	}

	x = (share) => EDGE.left + share * (this.width - EDGE.left - EDGE.right);
	y = (share) => this.height - EDGE.bottom - share * (this.height - EDGE.top - EDGE.bottom);
}

function frame(chart, area, y, xMarks) {
	const right = area.width - EDGE.right;
	const parts = y.ticks.flatMap((tick) => [
		svg("line", { class: "grid", x1: EDGE.left, x2: right, y1: area.y(y.share(tick)), y2: area.y(y.share(tick)) }),
		text(EDGE.left - 8, area.y(y.share(tick)) + 4, shown(tick), { "text-anchor": "end" }),
	]);
	const every = Math.ceil(xMarks.length / 8);
	xMarks.forEach(([share, label], i) => {
		if (i % every === 0) parts.push(text(area.x(share), area.height - EDGE.bottom + 18, label, { "text-anchor": "middle" }));
	});
	if (chart.x_label) parts.push(text(area.x(0.5), area.height - 6, chart.x_label, { class: "axis", "text-anchor": "middle" }));
	if (chart.y_label)
		parts.push(text(0, 0, chart.y_label, { class: "axis", "text-anchor": "middle", transform: `translate(14 ${area.y(0.5)}) rotate(-90)` }));
	return parts;
}

function points(chart, area) {
	const all = chart.elements.flatMap((series) => series.points);
	const isNumeric = all.every(([x]) => typeof x === "number");
	const names = isNumeric ? [] : [...new Set(all.map(([x]) => x))];
	const at = (x) => (isNumeric ? x : names.indexOf(x));
	const ys = all.map((point) => Number(point[1])).filter(Number.isFinite);
	if (!ys.length) throw new Error("the chart has no points");
	const x = axis(chart.x_range ?? all.map((point) => at(point[0])), chart.type === "line");
	const y = axis(chart.from_zero ? [0, ...ys] : ys);
	const marks = isNumeric ? x.ticks.map((tick) => [x.share(tick), shown(tick)]) : names.map((name, i) => [x.share(i), name]);
	const parts = frame(chart, area, y, marks);
	chart.elements.forEach((series, i) => {
		const places = series.points
			.filter((point) => Number.isFinite(Number(point[1])))
			.map(([px, py]) => [area.x(x.share(at(px))), area.y(y.share(Number(py))), px, py]);
		const colour = `series-${i % SERIES}`;
		if (chart.type === "line")
			parts.push(svg("polyline", { class: `stroke ${colour}`, points: places.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ") }));
		if (chart.type === "scatter" || places.length <= 60)
			for (const [a, b, px, py] of places)
				parts.push(titled(svg("circle", { class: `fill ${colour}`, cx: a, cy: b, r: 3 }), `${series.label}: ${shown(px)}, ${shown(py)}`));
	});
	return { parts, names: chart.elements.map((series) => series.label) };
}

function bars(chart, area) {
	const labels = [...new Set(chart.elements.map((bar) => bar.label))];
	const groups = [...new Set(chart.elements.map((bar) => bar.group))];
	const y = axis([0, ...chart.elements.map((bar) => Number(bar.value))]);
	const slot = 1 / labels.length;
	const width = (slot * 0.72) / groups.length;
	const parts = frame(chart, area, y, labels.map((label, i) => [(i + 0.5) * slot, label]));
	for (const bar of chart.elements) {
		const group = groups.indexOf(bar.group);
		const left = (labels.indexOf(bar.label) + 0.14) * slot + group * width;
		const [top, foot] = [area.y(y.share(Math.max(0, bar.value))), area.y(y.share(Math.min(0, bar.value)))];
		const box = { x: area.x(left) + 1, y: top, width: Math.max(1, area.x(width) - area.x(0) - 2), height: foot - top, rx: 2 };
		parts.push(titled(svg("rect", { class: `fill series-${group % SERIES}`, ...box }), `${bar.label}: ${shown(bar.value)}`));
	}
	return { parts, names: groups.length > 1 ? groups : [] };
}

function pie(chart, { width, height }) {
	const [cx, cy, r] = [width / 2, height / 2, height / 2 - 16];
	const whole = chart.elements.reduce((sum, slice) => sum + slice.angle, 0);
	let turned = -Math.PI / 2;
	const parts = chart.elements.map((slice, i) => {
		const from = turned;
		turned += (slice.angle / whole) * 2 * Math.PI * 0.99999;
		const point = (angle) => `${(cx + r * Math.cos(angle)).toFixed(2)} ${(cy + r * Math.sin(angle)).toFixed(2)}`;
		const large = turned - from > Math.PI ? 1 : 0;
		const path = `M ${cx} ${cy} L ${point(from)} A ${r} ${r} 0 ${large} 1 ${point(turned)} Z`;
		return titled(svg("path", { class: `fill slice series-${i % SERIES}`, d: path }), `${slice.label}: ${((slice.angle / whole) * 100).toFixed(1)} %`);
	});
	return { parts, names: chart.elements.map((slice) => slice.label) };
}

const KINDS = { line: points, scatter: points, bar: bars, pie };

/** Charts of the page itself also have size, x_range and from_zero. */
export function chart(data) {
	const area = new Area(...(data.size ?? []));
	if (data.type === "superchart") return el("div", {}, data.elements.map((one) => chart(one)));
	if (!KINDS[data.type] || !data.elements?.length) throw new Error(`charts of type "${data.type}" are not supported`);
	const { parts, names } = KINDS[data.type](data, area);
	const drawing = svg("svg", { viewBox: `0 0 ${area.width} ${area.height}`, role: "img", "aria-label": data.title || `A ${data.type} chart` }, ...parts);
	return el(
		"figure",
		{ class: "chart" },
		data.title ? el("figcaption", {}, data.title) : null,
		drawing,
		names.length > 1 || data.type === "pie"
			? el("ul", { class: "legend" }, names.map((name, i) => el("li", {}, el("span", { class: `series-${i % SERIES}`, "aria-hidden": "true" }, "●"), String(name))))
			: null,
	);
}
