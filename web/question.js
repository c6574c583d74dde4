// A question from the run: may it connect to this host?

import { post } from "./api.js";
import { el, visible } from "./dom.js";

const ANSWERS = [
	["deny", "Deny"],
	["once", "Allow once"],
	["run", "Allow for this run"],
];

export function question({ id, subject, detail }) {
	const answer = async (word, label) => {
		for (const button of buttons.children) button.disabled = true;
		try {
			await post(`/v1/questions/${id}`, { answer: word });
			status.textContent = label;
		} catch (error) {
			status.textContent = error.message;
		}
	};
	const status = el("span", { class: "muted", role: "status" });
	const buttons = el(
		"div",
		{ class: "answers" },
		ANSWERS.map(([word, label]) => el("button", { type: "button", class: "small", onclick: () => answer(word, label) }, label)),
	);
	return el(
		"section",
		{ class: "question", role: "alertdialog", "aria-label": "A question from the run" },
		el("p", {}, "The program wants to reach ", el("code", {}, visible(subject)), detail ? ` (${visible(detail)})` : "", "."),
		buttons,
		status,
	);
}
