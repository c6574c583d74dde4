// The code editor, in a shadow root: there CodeMirror uses constructed style
// sheets, which a strict Content-Security-Policy allows.

import {
	autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, completionKeymap, Decoration, defaultKeymap,
	drawSelection, EditorState, EditorView, highlightActiveLine, HighlightStyle, history, historyKeymap, indentLess,
	indentMore, indentOnInput, indentUnit, keymap, lineNumbers, Prec, python, StateEffect, StateField,
	syntaxHighlighting, tags,
} from "./vendor/codemirror.js";

const look = EditorView.theme({
	"&": { height: "100%", fontSize: "var(--code-size)", backgroundColor: "transparent", color: "var(--ink)" },
	"&.cm-focused": { outline: "none" },
	".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
	".cm-content": { padding: "14px 0", caretColor: "var(--accent)" },
	".cm-line": { padding: "0 18px 0 10px" },
	".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none", paddingLeft: "8px" },
	".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--active-line)" },
	".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
	"&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
		backgroundColor: "var(--selection)",
	},
	"&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
	".cm-failed": { backgroundColor: "var(--bad-soft)", boxShadow: "inset 3px 0 var(--bad)" },
	".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", borderRadius: "6px" },
	".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

const colours = HighlightStyle.define([
	{ tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.moduleKeyword], color: "var(--code-keyword)" },
	{ tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
	{ tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
	{ tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
	{ tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--code-name)" },
	{ tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--code-call)" },
]);

const NARROW = "(max-width: 720px)";

const setFailed = StateEffect.define();
const failedLine = StateField.define({
	create: () => Decoration.none,
	update(marks, transaction) {
		if (transaction.docChanged) marks = Decoration.none;
		for (const effect of transaction.effects) {
			if (!effect.is(setFailed)) continue;
			const { lines } = transaction.state.doc;
			const at = effect.value >= 1 && effect.value <= lines ? transaction.state.doc.line(effect.value).from : -1;
			marks = at < 0 ? Decoration.none : Decoration.set([Decoration.line({ class: "cm-failed" }).range(at)]);
		}
		return marks;
	},
	provide: (field) => EditorView.decorations.from(field),
});

export class Editor {
	constructor(host, { code, onRun }) {
		const root = host.attachShadow({ mode: "open" });
		const run = () => (onRun(), true);
		this.view = new EditorView({
			root,
			parent: root,
			state: EditorState.create({
				doc: code,
				extensions: [
					Prec.highest(keymap.of([{ key: "Ctrl-Enter", mac: "Cmd-Enter", run }, { key: "Ctrl-Enter", run }])),
					keymap.of([
						...closeBracketsKeymap,
						...completionKeymap,
						...defaultKeymap,
						...historyKeymap,
						{ key: "Tab", run: indentMore, shift: indentLess },
					]),
					lineNumbers(),
					history(),
					drawSelection(),
					indentOnInput(),
					indentUnit.of("    "),
					bracketMatching(),
					closeBrackets(),
					autocompletion(),
					highlightActiveLine(),
					python(),
					syntaxHighlighting(colours),
					failedLine,
					look,
					matchMedia(NARROW).matches ? EditorView.lineWrapping : [],
					EditorView.contentAttributes.of({
						"aria-label": "Python code. Control Enter runs it; Control M lets Tab leave the editor.",
						autocapitalize: "off",
						autocorrect: "off",
						spellcheck: "false",
					}),
				],
			}),
		});
	}

	get code() {
		return this.view.state.doc.toString();
	}

	set code(text) {
		this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 } });
	}

	/** Marks the line that failed; 0 removes the mark. */
	markFailed(line) {
		this.view.dispatch({ effects: setFailed.of(line || 0) });
	}

	focus() {
		this.view.focus();
	}
}
