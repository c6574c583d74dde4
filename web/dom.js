// Builds elements from data. Text always stays text: no function here accepts
// markup, and the page's Content-Security-Policy makes the browser refuse it too.

/** el("button", { class: "go", onclick: f, disabled: true }, "Run", icon) */
export function el(tag, props = {}, ...children) {
	const node = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (value === undefined || value === null || value === false) continue;
		if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
		else if (value === true) node.setAttribute(key, "");
		else node.setAttribute(key, value);
	}
	node.append(...children.flat().filter((child) => child !== null && child !== undefined));
	return node;
}

export const byId = (id) => document.getElementById(id);

/** Saves bytes from a program as a file; they are never opened as a page of this origin. */
export function save(name, bytes) {
	const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
	el("a", { href: address, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Escapes invisible characters and those that change the writing direction in text from a program that the user must check. */
export const visible = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

export async function copy(text, button) {
	const before = button.textContent;
	try {
		await navigator.clipboard.writeText(text);
		button.textContent = "Copied";
	} catch {
		button.textContent = "Not allowed";
	}
	setTimeout(() => (button.textContent = before), 1500);
}
