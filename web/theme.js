// Light or dark: follows the system until the user chooses with the switch.

const KEY = "remit-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

export const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";

export function onTheme(listener) {
	listeners.add(listener);
	return () => listeners.delete(listener);
}

function notify(button) {
	button.setAttribute("aria-pressed", String(isDark()));
	for (const listener of listeners) listener(isDark());
}

function choose(theme) {
	if (theme) document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}

export function startTheme(button) {
	choose(localStorage.getItem(KEY));
	system.addEventListener("change", () => notify(button));
	button.addEventListener("click", () => {
		const wanted = isDark() ? "light" : "dark";
		// A choice equal to the system's is not stored, so the page follows the system again.
		const own = wanted === (system.matches ? "dark" : "light") ? "" : wanted;
		choose(own);
		if (own) localStorage.setItem(KEY, own);
		else localStorage.removeItem(KEY);
		notify(button);
	});
	notify(button);
}
