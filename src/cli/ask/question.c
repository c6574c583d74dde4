#include "cli/ask/question.h"

#include <stdio.h>
#include <string.h>
#include <termios.h>

#include "base/buf.h"
#include "cli/ask/ask.h"
#include "cli/report/line_text.h"

#define TRIES 3
#define SHOWN 1000 /* characters of what the program has written */

static int
write_choice(const char *file, struct buf *out)
{
	if (buf_addf(out, "       o: once, r: for this run, ") < 0)
		return -1;
	if (file &&
	    (buf_addf(out, "a: always (writes \"") < 0 ||
	     line_text_add(out, file, SHOWN) < 0 || buf_addf(out, "\"), ") < 0))
		return -1;
	return buf_addf(out, "n: no [n] ");
}

static const struct word {
	const char *text;
	enum remit_answer answer;
} words[] = {
	{ "", REMIT_DENY },
	{ "n", REMIT_DENY },
	{ "no", REMIT_DENY },
	{ "o", REMIT_ALLOW_ONCE },
	{ "once", REMIT_ALLOW_ONCE },
	{ "r", REMIT_ALLOW_RUN },
	{ "run", REMIT_ALLOW_RUN },
	{ "a", REMIT_ALLOW_ALWAYS },
	{ "always", REMIT_ALLOW_ALWAYS },
};

/* What is asked, by kind. */
static const struct kind {
	const char *name, *before, *between;
} kinds[] = {
	{ "tool", "calls the tool \"", "\" with " },
	{ "host", "wants to reach \"", "\": " },
};

static int
write_question(const struct remit_question *q, const char *file,
	       struct buf *out)
{
	const struct kind *k = &kinds[0];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].name, q->kind))
			k = &kinds[i];
	/* A line of its own in plain colours, whatever was written last. */
	if (buf_addf(out, "\033[0m\nremit: the program %s", k->before) < 0 ||
	    line_text_add(out, q->subject, SHOWN) < 0 ||
	    buf_addf(out, "%s", q->detail ? k->between : "\"") < 0 ||
	    (q->detail && line_text_message(out, q->detail, SHOWN) < 0))
		return -1;
	if (buf_addf(out, "\n       Allow it?\n") < 0)
		return -1;
	return write_choice(file, out);
}

static bool
find(const char *line, const char *file, enum remit_answer *out)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].text, line) &&
		    (file || words[i].answer != REMIT_ALLOW_ALWAYS)) {
			*out = words[i].answer;
			return true;
		}
	return false;
}

enum remit_answer
question_ask(const struct remit_question *q, const char *file, int signals)
{
	own(buf) struct buf text = BUF_INIT(64 * 1024);
	own(ask) struct ask a = ASK_INIT;
	enum remit_answer answer = REMIT_DENY;
	struct remit_error err;
	char line[ASK_LINE];

	a.signals = signals;
	if (ask_open_terminal(&a, &err) < 0) {
		fprintf(stderr, "remit: denied: there is no terminal to ask "
				"at\n");
		return REMIT_DENY;
	}
	if (write_question(q, file, &text) < 0)
		return REMIT_DENY;
	for (int i = 0; i < TRIES; i++) {
		/* What was typed before was not meant for us. */
		tcflush(a.tty, TCIFLUSH);
		if (!ask_say(&a, &text) || !ask_read_line(&a, line) ||
		    find(line, file, &answer))
			return answer;
		buf_free(&text);
		if (write_choice(file, &text) < 0)
			return REMIT_DENY;
	}
	return REMIT_DENY;
}
