// Uses the playground like a person, in a real browser.
//  playground.mjs MODULES ADDRESS TOKEN FOLDER
// Prints one line of JSON for each scenario: its name, and why it failed. With a folder it leaves screenshots there;
// the pictures of docs/guide/playground.md are "chart" and "dark".

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const [modules, address, token, folder] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)("playwright-core");
const WIDE = { width: 1280, height: 720 };
const PHONE = { width: 390, height: 780 };
const QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--no-first-run"];

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
	args: [...QUIET, ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});

// ---- the page ----

class Playground {
	static async open({ query = `?token=${token}`, viewport = WIDE, ...options } = {}) {
		const context = await browser.newContext({ baseURL: address, viewport, acceptDownloads: true, ...options });
		context.setDefaultTimeout(60_000);
		const page = await context.newPage();
		const self = new Playground(page);
		page.on("request", (request) => self.requests.push(request.url()));
		// Requests that were blocked before they were sent
		page.on("requestfailed", (request) => {
			if (request.failure().errorText === "csp") self.requests = self.requests.filter((url) => url !== request.url());
		});
		page.on("console", (message) => self.console.push(`${message.type()}: ${message.text()}`));
		page.on("pageerror", (error) => self.console.push(`error: ${error.message}`));
		await page.goto(`/${query}`);
		return self;
	}

	constructor(page) {
		Object.assign(this, { page, requests: [], console: [] });
	}

	async ready() {
		await this.page.locator("#plan > *").first().waitFor({ state: "attached" });
	}

	async example(name) {
		await this.page.selectOption("#example", name);
	}

	/** Paste, as people do. */
	async paste(code) {
		const content = this.page.locator("#code .cm-content");
		await content.focus();
		await this.page.keyboard.press("Control+A");
		await content.evaluate((node, text) => {
			const clipboardData = new DataTransfer();
			clipboardData.setData("text/plain", text);
			node.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
		}, code);
	}

	async run(code) {
		if (code !== undefined) await this.paste(code);
		await this.page.click("#run");
		await this.ended();
	}

	/** Wait until the run has ended. */
	async ended() {
		await this.page.waitForFunction(() => !document.querySelector("#run").disabled && document.querySelector("#status").textContent !== "Ready");
	}

	/** Open a terminal, allowing what it needs. */
	async terminal() {
		await this.page.click("#terminal");
		const prompt = this.page.locator(".vt-row", { hasText: /[$#] *$/ });
		const allow = this.page.locator(".vt-failure button").last();
		for (let n = 0; n < 3; n++) {
			await prompt.or(allow).first().waitFor();
			if (await allow.isVisible()) await allow.click();
		}
		await prompt.first().waitFor();
	}

	/** Type a line into the terminal that has the focus, and wait for what it prints. */
	async type(line, printed) {
		await this.page.keyboard.type(line);
		await this.page.keyboard.press("Enter");
		if (printed) await this.row(printed).waitFor();
	}

	row = (text) => this.page.locator(".vt-panel:not([hidden]) .vt-row", { hasText: text }).first();
	rows = () => this.page.locator(".vt-panel:not([hidden]) .vt-row").allTextContents();
	note = () => this.page.locator(".vt-panel:not([hidden]) .vt-note");

	status = () => this.page.locator("#status").textContent();
	output = () => this.page.locator("#output").textContent();

	async shot(name) {
		if (folder) await this.page.screenshot({ path: `${folder}/${name}.png` });
	}

	/** Check that the page made requests to its server only, and broke none of its security rules. */
	async close() {
		const foreign = this.requests.filter((url) => !url.startsWith(`${address}/`) && !/^(blob|data|about):/.test(url));
		assert.deepEqual(foreign, [], "requests to others");
		const complaints = this.console.filter((line) => /^error: |Content Security Policy|Trusted/.test(line) && !/status of 4\d\d/.test(line));
		assert.deepEqual(complaints, [], "complaints of the browser");
		await this.page.context().close();
	}
}

// ---- scenarios ----

const scenarios = {
	async keyboard_runs_code() {
		const it = await Playground.open();
		await it.ready();
		assert.equal(new URL(it.page.url()).search, "", "the key is still in the address");
		await it.page.locator("#code .cm-content").focus();
		await it.page.keyboard.press("Control+Enter");
		await it.ended();
		assert.equal(await it.status(), "Done");
		assert.match(await it.output(), /Oslo +4\.0 °C/);
		assert.match(await it.page.locator("#output > :last-child").textContent(), /^Value.*'Lima': 21/);
		await it.shot("hello");
		await it.close();
	},

	async output_appears_during_run() {
		const it = await Playground.open();
		await it.ready();
		await it.paste("import time\nprint('first', flush=True)\ntime.sleep(20)\nprint('second')");
		await it.page.click("#run");
		await it.page.locator("#output", { hasText: "first" }).waitFor();
		assert.equal(await it.status(), "Running");
		assert.doesNotMatch(await it.output(), /second/);
		await it.page.keyboard.press("Escape");
		await it.ended();
		assert.equal(await it.status(), "Interrupted");
		await it.close();
	},

	async interrupted_program_can_clean_up() {
		const it = await Playground.open();
		await it.ready();
		await it.example("Long run");
		await it.page.click("#run");
		await it.page.locator("#output", { hasText: "2 s" }).waitFor();
		assert.doesNotMatch(await it.output(), / 1 s/, "the line must be overwritten");
		await it.page.click("#stop");
		await it.ended();
		assert.match(await it.output(), /stopped after cleaning up/);
		await it.close();
	},

	async figures_charts_and_tables_are_displayed() {
		const it = await Playground.open();
		await it.ready();
		await it.example("Chart");
		await it.run();
		const picture = it.page.locator(".picture img");
		await picture.waitFor();
		await it.page.waitForFunction(() => document.querySelector(".picture img").naturalWidth > 100);
		await it.shot("figure");
		await it.page.locator(".forms button", { hasText: "Chart" }).click();
		assert.equal(await it.page.locator(".chart polyline").count(), 3);
		assert.equal(await it.page.locator(".chart figcaption").textContent(), "A pendulum comes to rest");
		await it.shot("chart");
		await it.example("Table");
		await it.run();
		const table = it.page.frameLocator("iframe.html-frame").frameLocator("iframe");
		const row = table.locator("tbody tr").first();
		await row.waitFor();
		assert.deepEqual(await row.locator("th, td").allTextContents(), ["east", "189.00", "21", "101.00"]);
		await it.shot("table");
		await it.close();
	},

	async variables_are_kept_on_request() {
		const it = await Playground.open();
		await it.ready();
		await it.run("x = 20");
		await it.run("x + 1");
		assert.match(await it.output(), /NameError/);
		await it.page.check("#keep");
		await it.run("x = 20");
		await it.run("x + 1");
		assert.equal(await it.page.locator(".display.value .plain").textContent(), "21");
		assert.match(await it.page.locator("#facts").textContent(), /cell 2/);
		await it.page.click('.views [data-view="live"]');
		await it.page.locator("#view-live .tile", { hasText: /Sessions1/ }).waitFor();
		await it.page.click('.views [data-view="run"]');
		await it.paste("while True: pass");
		await it.page.click("#run");
		await it.page.locator("#status", { hasText: "Running" }).waitFor();
		await it.page.keyboard.press("Escape");
		await it.ended();
		await it.run("import os\nx += 2\nprint(x)\nos.kill(os.getpid(), 9)");
		assert.match(await it.output(), /22\nThe session has ended/);
		await it.run("print('x' in globals())");
		assert.match(await it.output(), /False/);
		await it.page.uncheck("#keep");
		await it.page.click('.views [data-view="live"]');
		await it.page.locator("#view-live .tile", { hasText: /Sessions0/ }).waitFor();
		await it.close();
	},

	async denied_access_can_be_allowed() {
		const it = await Playground.open();
		await it.ready();
		await it.run("import socket\nsocket.socket()\nprint('a socket')");
		assert.equal(await it.status(), "Failed");
		assert.match(await it.output(), /PermissionError/);
		assert.equal(await it.page.locator("#code .cm-failed").textContent(), "socket.socket()");
		const denials = it.page.locator(".denials");
		assert.match(await denials.textContent(), /socket\(AF_INET, SOCK_STREAM\)/);
		await it.shot("denied");
		await denials.locator("button", { hasText: "Allow network_access and run again" }).click();
		// Without a memory cgroup the plan refuses this, and names the fallback that must be accepted.
		const accept = denials.locator("button", { hasText: "Set memory_fallback to per_process" });
		await it.page.locator("#output", { hasText: "a socket" }).or(accept).first().waitFor();
		if (await accept.isVisible()) await accept.click();
		await it.page.locator("#output", { hasText: "a socket" }).waitFor();
		await it.ended();
		assert.equal(await it.status(), "Done");
		assert.equal(await it.page.locator("#field-network_access").inputValue(), "true");
		await it.page.locator('[data-field="network_access"] .badge', { hasText: /^enforced$/ }).waitFor();
		await it.close();
	},

	async missing_module_can_be_added_to_packages() {
		const it = await Playground.open();
		await it.ready();
		await it.run("import umap");
		const remedy = it.page.locator("#output .remedy");
		assert.match(await remedy.textContent(), /^umap is not installed\. Try --package umap-learn, or add "umap-learn" to the policy's packages\./);
		await it.shot("missing");
		await it.run("1 / 0");
		assert.equal(await remedy.count(), 0);
		await it.run("import umap");
		// The index may be unreachable here. What counts is that the policy names the package afterwards.
		await remedy.locator("button", { hasText: "Add umap-learn to packages and run again" }).click();
		await it.page.keyboard.press("Escape");
		await it.ended();
		assert.equal(await it.page.locator("#field-packages").inputValue(), "umap-learn");
		await it.close();
	},

	async allow_button_shows_escaped_path() {
		const it = await Playground.open();
		await it.ready();
		await it.run("open('/srv/\\u202efdp.exe')");
		assert.match(await it.page.locator(".denial button").textContent(), /^Allow filesystem_read_roots \/srv\/\\u\{202e\}fdp\.exe and run again$/);
		await it.close();
	},

	async question_of_run_is_answered() {
		const it = await Playground.open();
		await it.ready();
		await it.page.selectOption("#preset", "scientific");
		await it.page.fill("#field-network_allow", "example.org:443");
		await it.page.fill("#find", "network_ask");
		await it.page.check("#field-network_ask");
		await it.paste("import socket\ntry:\n    socket.create_connection(('example.com', 443)).recv(1)\nexcept OSError as e:\n    print('refused:', e)");
		await it.page.click("#run");
		const question = it.page.locator(".question");
		await question.waitFor();
		assert.match(await question.textContent(), /wants to reach example\.com:443/);
		await question.locator("button", { hasText: "Deny" }).click();
		await it.ended();
		assert.match(await it.output(), /refused: /);
		assert.match(await it.page.locator(".denials").textContent(), /Allow network_allow example\.com:443 and run again/);
		await it.close();
	},

	async plan_follows_switches() {
		const it = await Playground.open();
		await it.ready();
		const plan = it.page.locator("#plan");
		await it.page.selectOption("#preset", "strict");
		await it.page.waitForFunction(() => document.querySelector("#field-timeout").placeholder === "10 s");
		await it.page.fill("#find", "read roots");
		await it.page.fill("#field-filesystem_read_roots", "/proc");
		await it.page.locator("#field-filesystem_read_roots").blur();
		await plan.locator(".refusal", { hasText: /Not valid\s*filesystem_read_roots/ }).waitFor();
		await it.page.locator('[data-field="filesystem_read_roots"] .reset').click();
		await it.page.fill("#find", "package_offline");
		await it.page.check("#field-package_offline");
		await it.page.fill("#find", "package_installation");
		await it.page.check("#field-package_installation");
		await plan.locator(".refusal", { hasText: "Refused: package_installation" }).waitFor();
		await it.shot("refused");
		await it.run("print(1)");
		assert.equal(await it.status(), "Refused");
		await it.page.locator('[data-field="package_installation"] .reset').click();
		await it.page.fill("#find", "package_offline");
		await it.page.locator('[data-field="package_offline"] .reset').click();
		await plan.locator(".plan-line").waitFor();
		await it.page.fill("#find", "");
		await it.page.fill("#field-timeout", "700ms");
		await it.run("while True: pass");
		assert.equal(await it.status(), "Out of time");
		await it.close();
	},

	async artifacts_are_downloaded() {
		const it = await Playground.open();
		await it.ready();
		await it.example("Files");
		await it.run();
		const files = it.page.locator(".artifacts button");
		assert.equal(await files.count(), 1);
		const [download] = await Promise.all([it.page.waitForEvent("download"), files.click()]);
		assert.equal(download.suggestedFilename(), "squares.csv");
		assert.equal((await readFile(await download.path(), "utf8")).split("\r\n")[100], "100,10000");
		await it.shot("files");
		await it.close();
	},

	async output_is_not_interpreted_as_markup() {
		const it = await Playground.open();
		await it.ready();
		const requested = [];
		const stranger = createServer((request, response) => (requested.push(request.url), response.end())).listen(0, "127.0.0.1");
		await once(stranger, "listening");
		stranger.unref();
		const there = `http://127.0.0.1:${stranger.address().port}`;
		const page = `<style>p { color: rgb(1, 2, 3) }</style><p>shown</p><script>document.body.textContent = "ran"</script>
			<img src="${there}/pixel"><img src="${there}/x" onerror="document.body.textContent = 'ran'"><iframe src="${there}/inner"></iframe>
			<meta http-equiv="refresh" content="0; url=${there}/elsewhere"><a href="${there}/link">plain</a> <a href="${there}/link" target="_self">insistent</a>`;
		await it.run(`print("<b>bold</b><script>top.ran = 1</script>")\ndisplay({"text/html": ${JSON.stringify(page)}}, raw=True)`);
		assert.equal(await it.page.locator("#output b").count(), 0);
		assert.match(await it.output(), /<b>bold<\/b>/);
		const inner = it.page.frameLocator("iframe.html-frame").frameLocator("iframe").first();
		await inner.locator("p", { hasText: "shown" }).waitFor();
		assert.equal(await inner.locator("p").evaluate((p) => getComputedStyle(p).color), "rgb(1, 2, 3)", "the frame's own styles apply");
		await inner.locator("a", { hasText: "plain" }).click();
		assert.equal(await inner.locator("p").textContent(), "shown");
		await inner.locator("a", { hasText: "insistent" }).click();
		await inner.locator("body", { hasText: "blocked" }).waitFor({ state: "attached" });
		stranger.close();
		assert.deepEqual(requested, [], "the frame fetched something");
		// The browser reports what it blocked in the frame, as it should.
		it.console = it.console.filter((line) => !line.includes(there) && !line.includes("sandbox"));
		await it.close();
	},

	async terminal_is_in_the_session_of_the_program() {
		const it = await Playground.open();
		await it.ready();
		await it.page.click("#terminal");
		assert.match(await it.page.locator(".vt-failure").textContent(), /^Refused: subprocess_execution/);
		await it.terminal();
		assert.equal(await it.page.isChecked("#keep"), true);
		await it.type("echo from the ''shell > a.txt; stty size; echo $((6 * 7)).", /^42\.$/);
		await it.shot("terminal");
		await it.run("open('a.txt').read()");
		assert.match(await it.output(), /from the shell/);
		await it.run("print(7, file=open('b.txt', 'w'))");
		// A click types into the terminal again, and a resize reaches the program.
		await it.page.click(".vt-scroller");
		await it.type("echo b=$(cat b.txt).", /^b=7\.$/);
		const size = async () => (await it.rows()).map((row) => row.match(/(\d+) (\d+)$/)?.slice(1).map(Number)).filter(Boolean).at(-1);
		const before = await size();
		await it.type("trap 'stty size; echo resi''zed' WINCH");
		await it.page.setViewportSize({ width: 1400, height: 900 });
		await it.row(/^resized$/).waitFor();
		const after = await size();
		assert.ok(after[0] > before[0] && after[1] > before[1], `${before} to ${after}`);
		await it.type("exit 3");
		await it.note().filter({ hasText: "exit code 3" }).waitFor();
		await it.page.click(".vt-cross");
		await it.page.locator("#panel-terminal").waitFor({ state: "hidden" });
		await it.close();
	},

	async terminal_runs_programs_that_use_the_whole_screen() {
		const it = await Playground.open();
		await it.ready();
		await it.terminal();
		await it.type("echo be''fore; python3 -q", /^>>> *$/);
		await it.type("print('\\x1b[1;38;5;200mcol' + 'our\\x1b[0m 漢字|')", /^colour 漢字\|/);
		const style = await it.row(/^colour/).locator("span").first().evaluate((node) => [getComputedStyle(node).color, getComputedStyle(node).fontWeight]);
		assert.deepEqual(style, ["rgb(255, 0, 215)", "700"]);
		const [wide, one] = await it.row(/^colour/).evaluate((row) => [row.querySelector(".vt-wide"), row.firstChild].map((node) => node.getBoundingClientRect().width));
		assert.ok(Math.abs(wide - (2 * one) / 6) < 0.1, "a wide character has two columns");
		await it.page.keyboard.press("ArrowUp");
		await it.row(/^>>> print\(.*\)$/).nth(0).waitFor();
		await it.page.keyboard.press("Control+c");
		await it.row("KeyboardInterrupt").waitFor();
		// Like top: the alternate screen, drawn again and again, and the cursor asked for
		const code = "import sys, time, tty; tty.setraw(0); w = sys.stdout.write; w('\\x1b[?1049h\\x1b[?25l'); [(w(f'\\x1b[H\\x1b[2Jtick {n}\\x1b[6;1H'), sys.stdout.flush(), time.sleep(.05)) for n in range(20)]; w('\\x1b[6n'); sys.stdout.flush(); a = sys.stdin.read(6); w('at ' + repr(a)); sys.stdout.flush(); sys.stdin.read(1); w('\\x1b[?1049l\\x1b[?25h'); sys.stdout.flush(); import os; os.system('stty sane')";
		await it.page.keyboard.press("Control+d");
		await it.type(`python3 -c "${code}"`, /^at '\\x1b\[6;1R'$/);
		assert.deepEqual((await it.rows()).filter((row) => row.trim()), ["tick 19", "at '\\x1b[6;1R'"]);
		assert.equal(await it.page.locator(".vt-cursor").isVisible(), false);
		await it.page.keyboard.press("x");
		await it.row(/^before$/).waitFor();
		assert.doesNotMatch((await it.rows()).join("\n"), /^tick/m);
		await it.close();
	},

	async terminal_shows_hostile_output_as_text() {
		const it = await Playground.open();
		await it.ready();
		const title = await it.page.title();
		await it.terminal();
		const sent = [];
		it.page.on("request", (request) => request.url().endsWith("/input") && sent.push(request.postDataJSON().text));
		await it.page.evaluate(() => {
			window.copied = [];
			navigator.clipboard.writeText = async (text) => window.copied.push(text);
		});
		const text = "<b>bold</b><script>top.ran = 1</script><img src=x onerror='top.ran = 1'>";
		await it.type(`printf '%b' "$(cat <<'END'`);
		await it.type(`\\033]0;a title\\007\\033]52;c;aGk=\\007\\033]8;;javascript:top.ran=1\\033\\\\\\\\link\\033]8;;\\007\\033P1;2|x\\033\\\\\\\\`);
		await it.type(`${text}\\xe2\\x80\\xaereversed\\033[8m hidden\\033[m\\n`);
		await it.type(`END`);
		await it.type(`)"; echo e''nd`, /^end$/);
		const shown = (await it.rows()).join("\n");
		assert.ok(shown.includes(`${text}reversed hidden`), shown);
		assert.equal(await it.page.locator(".vt b, .vt script, .vt img, .vt a").count(), 0);
		assert.equal(await it.page.evaluate(() => top.ran), undefined);
		assert.equal(await it.page.title(), title);
		assert.deepEqual(await it.page.evaluate(() => window.copied), []);
		// A program that asks for the cursor without end gets few answers, and numbers only.
		sent.length = 0;
		await it.type("printf '\\033[6n%.0s' $(seq 1 5000); sleep 0.5; while read -rs -t 0.2 -n 1; do :; done; echo; echo do''ne", /^done$/);
		const answers = sent.join("").replace(/^[^\r]*\r/, "");
		assert.match(answers, /^(\x1b\[\d+;\d+R)*$/);
		assert.ok(answers.length < 8 * 1000, "few answers");
		await it.close();
	},

	async terminal_stays_usable_with_endless_output() {
		const it = await Playground.open();
		await it.ready();
		await it.terminal();
		await it.type("yes $(printf '\\033[31mlong\\033[0m %.0s' $(seq 1 40))");
		await it.row(/^(long ){5}/).waitFor();
		const { worst, nodes } = await it.page.evaluate(async () => {
			let worst = 0;
			for (let n = 0, last = performance.now(); n < 120; n++) {
				await new Promise(requestAnimationFrame);
				worst = Math.max(worst, performance.now() - last);
				last = performance.now();
			}
			return { worst, nodes: document.querySelectorAll(".vt *").length };
		});
		assert.ok(worst < 2000, `a frame took ${worst} ms`);
		assert.ok(nodes < 5000, `${nodes} elements`);
		// Other parts work meanwhile, and Ctrl-C ends it.
		await it.run("6 * 7");
		assert.equal(await it.page.locator(".display.value .plain").textContent(), "42");
		await it.page.click(".vt-scroller");
		await it.page.keyboard.press("Control+c");
		await it.row(/[$#] *$/).waitFor();
		await it.type("clear; echo qui''et", /^quiet$/);
		await it.close();
	},

	async two_terminals_are_apart() {
		const it = await Playground.open();
		await it.ready();
		await it.terminal();
		await it.type("echo fir''st; tty", /^first$/);
		await it.page.click('[aria-label="Another terminal"]');
		await it.row(/[$#] *$/).waitFor();
		await it.type("echo sec''ond; tty", /^second$/);
		assert.doesNotMatch((await it.rows()).join("\n"), /first/);
		await it.page.click('[aria-label="Another terminal"]');
		await it.row(/[$#] *$/).waitFor();
		assert.equal(await it.page.isDisabled('[aria-label="Another terminal"]'), true);
		await it.page.click('[aria-label="Close Terminal 3"]');
		await it.page.getByRole("tab", { name: "Terminal 1" }).click();
		await it.type("echo ag''ain", /^again$/);
		assert.match((await it.rows()).join("\n"), /first/);
		// With the keyboard alone: out of the terminal, to its tab, to the other one
		await it.page.keyboard.press("Shift+Tab");
		assert.equal(await it.page.evaluate(() => document.activeElement.closest(".vt-screens")), null);
		await it.page.getByRole("tab", { name: "Terminal 1" }).focus();
		await it.page.keyboard.press("ArrowRight");
		assert.equal(await it.page.getByRole("tab", { name: "Terminal 2" }).getAttribute("aria-selected"), "true");
		assert.match((await it.rows()).join("\n"), /second/);
		await it.close();
	},

	async pasted_lines_do_not_run() {
		const it = await Playground.open();
		await it.ready();
		await it.terminal();
		const paste = (text) =>
			it.page.locator(".vt-input").evaluate((node, given) => {
				const clipboardData = new DataTransfer();
				clipboardData.setData("text/plain", given);
				node.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
			}, text);
		await paste("echo one\necho \x1b[201~\x03two");
		await it.row(/echo \[201~two/).waitFor();
		assert.doesNotMatch((await it.rows()).join("\n"), /^one$/m, "bash waits for Enter");
		await it.page.keyboard.press("Enter");
		await it.row(/^\[201~two$/).waitFor();
		await it.close();
	},

	async terminal_says_how_it_ended() {
		const it = await Playground.open();
		await it.ready();
		await it.terminal();
		await it.type("echo st''ill", /^still$/);
		await it.run("import os\nos.kill(os.getpid(), 9)");
		await it.note().filter({ hasText: /ended/ }).waitFor();
		assert.match((await it.rows()).join("\n"), /still/, "what it has shown stays");
		await it.type("no program reads this");
		await it.page.getByRole("button", { name: "Close", exact: true }).click();
		await it.terminal();
		await it.page.uncheck("#keep");
		await it.note().filter({ hasText: "the session was ended" }).waitFor();
		await it.page.getByRole("button", { name: "Close", exact: true }).click();
		await it.page.fill("#field-timeout", "2s");
		await it.page.locator("#field-timeout").blur();
		await it.page.click("#terminal");
		const longer = it.note().locator("button", { hasText: "Set timeout to 10m, and open a terminal" });
		await longer.click();
		await it.row(/[$#] *$/).waitFor();
		assert.equal(await it.page.inputValue("#field-timeout"), "10m");
		await it.close();
	},

	async page_without_key_asks_for_it() {
		const it = await Playground.open({ query: "" });
		const dialog = it.page.locator("#locked");
		await dialog.waitFor();
		await it.page.fill("#token", "wrong");
		await it.page.keyboard.press("Enter");
		await it.page.waitForFunction(() => document.querySelector("#locked").open && document.querySelector("#token").value === "");
		await it.page.fill("#token", token);
		await it.page.keyboard.press("Enter");
		await it.ready();
		assert.equal(await dialog.isVisible(), false);
		await it.close();
	},

	async page_fits_phone() {
		const it = await Playground.open({ viewport: PHONE, isMobile: true, hasTouch: true });
		await it.ready();
		const width = () => it.page.evaluate(() => document.scrollingElement.scrollWidth);
		const visible = () => it.page.locator(".panel:visible").evaluateAll((all) => all.map((panel) => panel.id));
		assert.deepEqual([await width(), await visible()], [PHONE.width, ["panel-code"]]);
		await it.page.tap("#run");
		await it.ended();
		assert.deepEqual([await width(), await visible()], [PHONE.width, ["panel-output"]]);
		await it.shot("phone");
		await it.page.tap('.panels [data-panel="policy"]');
		assert.deepEqual([await width(), await visible()], [PHONE.width, ["panel-policy"]]);
		await it.shot("phone-policy");
		for (const view of ["live", "host"]) {
			await it.page.tap(`.views [data-view="${view}"]`);
			await it.page.locator(`#view-${view} table`).first().waitFor();
			assert.equal(await width(), PHONE.width, view);
		}
		await it.close();
	},

	async page_is_light_or_dark() {
		const it = await Playground.open({ colorScheme: "dark" });
		await it.ready();
		const paper = () => it.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		assert.equal(await paper(), "rgb(18, 20, 23)");
		await it.example("Network");
		await it.run();
		await it.shot("dark");
		await it.page.click("#theme");
		assert.equal(await paper(), "rgb(250, 249, 247)");
		await it.page.reload();
		assert.equal(await paper(), "rgb(250, 249, 247)", "the choice is kept");
		await it.close();
	},

	async host_and_live_views_are_shown() {
		const it = await Playground.open();
		await it.ready();
		await it.run("print(1)");
		await it.page.click('.views [data-view="host"]');
		const row = it.page.locator(".matrix tbody tr", { has: it.page.locator("th", { hasText: /^network_access$/ }) });
		assert.match(await row.textContent(), /seccomp/);
		await it.shot("host");
		await it.page.click('.views [data-view="live"]');
		await it.page.locator("#view-live .tile", { hasText: /Median latency[\d.]+ ms/ }).waitFor();
		assert.equal(await it.page.locator("#view-live .chart polyline").count(), 2);
		await it.shot("live");
		await it.close();
	},
};

for (const [name, scenario] of Object.entries(scenarios)) {
	const begun = Date.now();
	let failure = null;
	try {
		await scenario();
	} catch (error) {
		failure = error.stack ?? String(error);
	}
	console.log(JSON.stringify({ name, failure, ms: Date.now() - begun }));
}
await browser.close();
process.exit();
