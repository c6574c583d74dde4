// The parts of CodeMirror that the page uses. tools/bundle.py builds codemirror.js
// from this file, and tests/e2e/serve/test_playground.py compares it.
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
export { python } from "@codemirror/lang-python";
export { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
export { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
export { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
export { tags } from "@lezer/highlight";
