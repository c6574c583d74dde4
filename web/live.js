// The current state of the server: sessions, warm interpreters, and the latency
// of runs.

import { get } from "./api.js";
import { chart } from "./chart.js";
import { el } from "./dom.js";
import { bytes, milliseconds, span } from "./units.js";

const EVERY_MS = 2000;
const SPAN_S = 180;

const latency = (us) => (us == null ? "–" : milliseconds(us / 1000));
const sum = (rows, key) => (rows ?? []).reduce((total, row) => total + (row[key] ?? 0), 0);

// Keys of operators see everything, other keys only their own sessions.
const TILES = [
	["Running", (status) => status.running ?? "–"],
	["Waiting for a free slot", (status) => status.queued ?? "–"],
	["Sessions", (status, sessions) => sessions.length],
	["Waiting jails", (status) => (status.pools ? sum(status.pools, "waiting") : "–")],
	["Median latency", (status) => latency(status.latency_us?.p50)],
	["95th percentile", (status) => latency(status.latency_us?.p95)],
	["Memory", (status) => (status.memory_bytes == null ? "–" : bytes(status.memory_bytes + sum(status.zygotes, "memory_bytes")))],
	["Up for", (status) => (status.uptime_s == null ? "–" : span(status.uptime_s))],
];

const when = (time) => new Date(typeof time === "number" ? time * 1000 : time).toLocaleTimeString();

const TABLES = [
	{
		title: "Sessions of this key",
		none: "No session is open.",
		rows: (status, sessions) => sessions,
		columns: [
			["Session", (row) => el("code", {}, row.id)],
			["State", (row) => row.state],
			["Opened", (row) => when(row.created_at)],
			["Ends", (row) => when(row.expires_at)],
		],
	},
	{
		title: "Pools of jails",
		none: "No pool exists yet: the first run creates one.",
		rows: (status) => status.pools,
		columns: [
			["Plan", (row) => el("code", {}, row.plan.slice(0, 8))],
			["Tier", (row) => row.tier],
			["Start", (row) => (row.warm ? "warm" : "cold")],
			["Waiting", (row) => `${row.waiting} of ${row.target}`],
			["Taken", (row) => row.hits],
			["Missed", (row) => row.misses],
			["Built in", (row) => latency(row.build_us)],
		],
	},
	{
		title: "Warm interpreters",
		none: "No interpreter is warm.",
		rows: (status) => status.zygotes,
		columns: [
			["Python", (row) => el("code", {}, row.python)],
			["Modules", (row) => row.preload.join(", ") || "standard library"],
			["State", (row) => row.error || row.state],
			["Forks", (row) => row.forks],
			["Memory", (row) => bytes(row.memory_bytes)],
		],
	},
];

function table({ columns, none }, rows) {
	if (!rows) return el("p", { class: "muted" }, "Only keys of operators can see these.");
	if (!rows.length) return el("p", { class: "muted" }, none);
	return el(
		"table",
		{},
		el("thead", {}, el("tr", {}, columns.map(([name]) => el("th", { scope: "col" }, name)))),
		el("tbody", {}, rows.map((row) => el("tr", {}, columns.map(([, show]) => el("td", {}, show(row)))))),
	);
}

export class Live {
	#timer = 0;
	#shows = null; // identifies the current start(); a refresh of an earlier one shows nothing
	#samples = [];

	constructor(host) {
		this.values = TILES.map(() => el("dd", {}, "–"));
		this.drawing = el("div", { class: "latency" });
		this.tables = TABLES.map(({ title }) => el("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": title }));
		this.failure = el("p", { class: "muted", role: "status" });
		this.shown = el(
			"div",
			{ hidden: true },
			el("dl", { class: "tiles" }, TILES.map(([name], i) => el("div", { class: "tile" }, el("dt", {}, name), this.values[i]))),
			el("h2", { class: "view-title" }, "Latency of runs"),
			this.drawing,
			TABLES.flatMap(({ title }, i) => [el("h2", { class: "view-title" }, title), this.tables[i]]),
		);
		host.replaceChildren(this.failure, this.shown);
	}

	async start() {
		this.#shows = {};
		await this.#refresh(this.#shows);
	}

	stop() {
		clearTimeout(this.#timer);
		this.#shows = null;
	}

	/** The next refresh is scheduled after the reply, which may take longer than EVERY_MS. */
	async #refresh(mine) {
		try {
			const [status, sessions] = await Promise.all([get("/v1/status"), get("/v1/sessions")]);
			if (mine !== this.#shows) return;
			this.#show(status, sessions);
			this.failure.textContent = "";
		} catch (error) {
			if (mine === this.#shows) this.failure.textContent = error.message;
		}
		if (mine === this.#shows) this.#timer = setTimeout(() => this.#refresh(mine), EVERY_MS);
	}

	#show(status, sessions) {
		this.shown.hidden = false;
		TILES.forEach(([, show], i) => (this.values[i].textContent = String(show(status, sessions))));
		TABLES.forEach((one, i) => this.tables[i].replaceChildren(table(one, one.rows(status, sessions))));
		if (!status.latency_us?.count) return;
		const now = Date.now();
		this.#samples = this.#samples.filter(({ at }) => now - at < SPAN_S * 1000);
		this.#samples.push({ ...status.latency_us, at: now });
		const line = (label, key) => ({ label, points: this.#samples.map((sample) => [(sample.at - now) / 1000, sample[key] / 1000]) });
		this.drawing.replaceChildren(
			chart({ type: "line", x_label: "seconds", y_label: "ms", size: [1100, 220], x_range: [-SPAN_S, 0], from_zero: true, elements: [line("median", "p50"), line("95th percentile", "p95")] }),
		);
	}
}
