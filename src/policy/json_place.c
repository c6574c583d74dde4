#include "policy/json_place.h"

#include <jansson.h>
#include <string.h>

/* A scan of the text, one token at a time. */
struct walk {
	const char *at;
	const char *end;
	unsigned line;
	unsigned depth;
};

struct token {
	char kind; /* '"', or the character itself, or '\0' at the end */
	const char *start;
	const char *end; /* the byte after the token */
	unsigned line;
};

/* Moves to the byte after the closing quote, or to the end of the text. */
static void
skip_string(struct walk *w)
{
	for (w->at++; w->at < w->end; w->at++) {
		if (*w->at == '\n')
			w->line++;
		if (*w->at == '\\' && w->at + 1 < w->end)
			w->at++;
		else if (*w->at == '"')
			break;
	}
	if (w->at < w->end)
		w->at++;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct token
next_token(struct walk *w)
{
	struct token t = { 0 };

	for (; w->at < w->end && is_blank(*w->at); w->at++)
		w->line += *w->at == '\n';
	if (w->at == w->end)
		return t;
	t.kind = *w->at ? *w->at : '?';
	t.start = w->at;
	t.line = w->line;
	if (t.kind == '"')
		skip_string(w);
	else
		w->at++;
	if (t.kind == '{' || t.kind == '[')
		w->depth++;
	if ((t.kind == '}' || t.kind == ']') && w->depth)
		w->depth--;
	t.end = w->at;
	return t;
}

/* A key may contain escapes: "\u0074ier" is tier. */
static bool
token_is(const struct token *t, const char *key)
{
	size_t len = (size_t)(t->end - t->start);
	json_auto_t *text = json_loadb(t->start, len,
				       JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	return json_is_string(text) &&
	       json_string_length(text) == strlen(key) &&
	       !strcmp(json_string_value(text), key);
}

unsigned
json_place_line(const char *text, size_t len, const char *key)
{
	struct walk w = { .at = text, .end = text + len, .line = 1 };
	struct token last = { 0 };

	for (struct token t = next_token(&w); t.kind; t = next_token(&w)) {
		if (t.kind == ':' && w.depth == 1 && last.kind == '"' &&
		    token_is(&last, key))
			return last.line;
		last = t;
	}
	return 0;
}

unsigned
json_place_depth(const char *text, size_t len)
{
	struct walk w = { .at = text, .end = text + len, .line = 1 };
	unsigned deepest = 0;

	while (next_token(&w).kind)
		if (w.depth > deepest)
			deepest = w.depth;
	return deepest;
}

/* Returns the end of the value that begins with this token. */
static const char *
end_of_value(struct walk *w, struct token t)
{
	unsigned depth = w->depth;

	if (t.kind == '{' || t.kind == '[') {
		while (w->depth >= depth && t.kind)
			t = next_token(w);
		return t.end;
	}
	/* Each character of a number or word is a token. */
	while (t.kind != '"' && w->at < w->end && !is_blank(*w->at) &&
	       !strchr(",]}", *w->at))
		t = next_token(w);
	return t.end;
}

bool
json_place_value(struct json_span document, const char *key,
		 struct json_span *out)
{
	struct walk w = { .at = document.start, .end = document.end };
	struct token last = { 0 };

	for (struct token t = next_token(&w); t.kind; t = next_token(&w)) {
		if (t.kind == ':' && w.depth == 1 && last.kind == '"' &&
		    token_is(&last, key)) {
			t = next_token(&w);
			out->start = t.start;
			out->end = end_of_value(&w, t);
			return true;
		}
		last = t;
	}
	return false;
}

bool
json_place_last(struct json_span container, struct json_span *out)
{
	struct walk w = { .at = container.start, .end = container.end };
	bool found = false, begins = true;

	next_token(&w);
	for (struct token t = next_token(&w); t.kind && w.depth;
	     t = next_token(&w)) {
		if (begins)
			out->start = t.start;
		begins = t.kind == ',' && w.depth == 1;
		if (begins)
			continue;
		out->end = t.end;
		found = true;
	}
	return found;
}
