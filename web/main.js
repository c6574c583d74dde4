// Connects the parts of the page.

import { get, onLocked } from "./api.js";
import { denials } from "./denials.js";
import { byId, el } from "./dom.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { Live } from "./live.js";
import { showMatrix } from "./matrix.js";
import { Output } from "./output.js";
import { Planner, refusal } from "./plan.js";
import { Policy, widened } from "./policy.js";
import { PolicyPanel } from "./policy_panel.js";
import { question } from "./question.js";
import { artifacts, enforcement, facts, kind, missingPackage, word } from "./result.js";
import { Runner } from "./run.js";
import { Session } from "./session.js";
import { Terminals } from "./terminals.js";
import { startTheme } from "./theme.js";

const policy = new Policy();
const output = new Output(byId("output"), byId("output-scroll"));
const session = new Session();
const live = new Live(byId("view-live"));
let fields = [];
let plan = null;

// ---- views ----

const VIEWS = {
	run: () => {},
	live: () => live.start(),
	host: () => showMatrix(byId("view-host")),
};

function press(group, chosen) {
	for (const button of document.querySelectorAll(`nav button[data-${group}]`))
		button.setAttribute("aria-pressed", String(button.dataset[group] === chosen));
	document.body.dataset[group] = chosen;
}

async function showView(name) {
	press("view", name);
	for (const view of document.querySelectorAll("main")) view.hidden = view.id !== `view-${name}`;
	live.stop();
	try {
		await VIEWS[name]();
	} catch (error) {
		byId(`view-${name}`).replaceChildren(refusal(error, fields, () => {}));
	}
}

const showPanel = (name) => press("panel", name);

function showStatus(text, look = "plain", detail = "") {
	const status = byId("status");
	status.textContent = text;
	status.className = `status ${look}`;
	byId("facts").textContent = detail;
}

// ---- runs ----

const widen = (changes) => widened(policy.document, changes, plan);

function allow(changes) {
	policy.replace(widen(changes));
	start();
}

function showResult(result, id) {
	output.end();
	showStatus(word(result.status), kind(result.status), facts(result));
	editor.markFailed(result.status === "error" || result.status === "rejected" ? result.error?.line : 0);
	const { error } = result;
	// The program's own error is already in its output; other errors are shown here.
	if (error && !["error", "exit"].includes(result.status))
		output.add(refusal({ code: result.status, message: error.value, remedy: error.remedy, where: error.where }, fields, allow));
	else if (error?.package) output.add(missingPackage(error, allow));
	if (!byId("output").hasChildNodes()) output.add(el("p", { class: "muted note" }, "No output."));
	if (result.session?.state === "ended") output.add(el("p", { class: "muted note" }, "The session has ended and its variables are lost."));
	if (result.stdout_truncated || result.stderr_truncated) output.add(el("p", { class: "muted note" }, "The output was truncated at the policy's limit."));
	byId("details").replaceChildren(...[denials(result, { fields, widen, allow }), artifacts(id, result), enforcement(result)].filter(Boolean));
}

const runner = new Runner({
	start() {
		document.body.dataset.ran = "";
		output.clear();
		byId("details").replaceChildren();
		editor.markFailed(0);
		showStatus("Running", "busy");
		byId("run").disabled = true;
		byId("stop").disabled = false;
		showPanel("output");
	},
	output: ({ stream, text }) => output.text(stream, text),
	display: (event) => output.display(event),
	progress: ({ text }) => output.text("progress", text.endsWith("\n") ? text : `${text}\n`),
	question: (event) => output.add(question(event)),
	result: showResult,
	error(error) {
		showStatus(word(error.code ?? "error"), "bad");
		output.add(refusal(error, fields, allow));
	},
	end() {
		byId("run").disabled = false;
		byId("stop").disabled = true;
	},
});

function start() {
	// Also applies a field that is still being edited.
	if (document.activeElement?.matches("#policy input[type=text], #policy textarea")) document.activeElement.dispatchEvent(new Event("change"));
	const job = { code: editor.code, stdin: byId("stdin").value };
	runner.start({ ...job, policy: policy.document, session: byId("keep").checked ? session : null });
}

/** A terminal belongs to the session that keeps the variables. */
const terminals = new Terminals(byId("panel-terminal"), {
	async session() {
		const path = await session.at(policy.document, { needsCommands: true });
		byId("keep").checked = true;
		return path;
	},
	fields: () => fields,
	isSet: (name) => policy.get(name) !== undefined,
	allow: (changes) => policy.replace(widen(changes)),
	onOpen: () => showPanel("terminal"),
	onClose() {
		byId("panel-terminal").hidden = true;
		if (document.body.dataset.panel === "terminal") showPanel("code");
	},
});

function interrupt() {
	if (!runner.isRunning) return;
	showStatus("Stopping", "busy");
	runner.interrupt();
}

// ---- parts ----

const editor = new Editor(byId("code"), { code: EXAMPLES[0].code, onRun: start });

function choose(example) {
	editor.code = example.code;
	policy.replace(example.policy);
}

function requestToken(error) {
	const dialog = byId("locked");
	byId("locked-reason").textContent = error.message;
	byId("token").value = "";
	if (!dialog.open) dialog.showModal();
	return new Promise((resolve) => {
		dialog.addEventListener("close", () => resolve(dialog.returnValue === "open" ? byId("token").value.trim() : ""), { once: true });
	});
}

function listen() {
	byId("run").addEventListener("click", start);
	byId("stop").addEventListener("click", interrupt);
	byId("terminal").addEventListener("click", () => terminals.open());
	byId("keep").addEventListener("change", ({ target }) => target.checked || session.close());
	addEventListener("pagehide", () => session.close({ keepalive: true }));
	byId("policy-reset").addEventListener("click", () => policy.replace({}));
	byId("example").append(...EXAMPLES.map(({ name }) => el("option", {}, name)));
	byId("example").addEventListener("change", ({ target }) => choose(EXAMPLES[target.selectedIndex]));
	for (const button of document.querySelectorAll("nav [data-view]")) button.addEventListener("click", () => showView(button.dataset.view));
	for (const button of document.querySelectorAll("nav [data-panel]")) button.addEventListener("click", () => showPanel(button.dataset.panel));
	document.querySelector('nav [data-panel="terminal"]').addEventListener("click", () => terminals.isEmpty && terminals.open());
	document.addEventListener("keydown", (event) => {
		if (event.defaultPrevented || byId("locked").open) return;
		if (event.key === "Escape") interrupt();
		else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
		else return;
		event.preventDefault();
	});
}

async function begin() {
	onLocked(requestToken);
	startTheme(byId("theme"));
	listen();
	try {
		fields = await get("/v1/fields");
	} catch (error) {
		byId("plan").replaceChildren(refusal(error, [], () => {}));
		return;
	}
	const panel = new PolicyPanel(byId("policy"), fields, policy);
	const planner = new Planner(byId("plan"), policy, fields, {
		onPlan(found, error) {
			plan = found;
			panel.showPlan(found, error);
		},
		apply: (changes) => policy.replace(widen(changes)),
	});
	await planner.refresh();
}

begin();
