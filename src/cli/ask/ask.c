#include "cli/ask/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

#include "cli/ask/policy_file.h"
#include "cli/ask/remedy.h"
#include "cli/report/line_text.h"

#define TRIES 3
#define SHOWN 200 /* characters of a file's name */

enum answer {
	ANSWER_NONE, /* not understood */
	ANSWER_NO,
	ANSWER_ONCE,
	ANSWER_ALWAYS,
};

static const struct word {
	const char *text;
	enum answer answer;
} words[] = {
	{ "", ANSWER_NO },	     { "n", ANSWER_NO },
	{ "no", ANSWER_NO },	     { "o", ANSWER_ONCE },
	{ "once", ANSWER_ONCE },     { "a", ANSWER_ALWAYS },
	{ "always", ANSWER_ALWAYS },
};

static void
find_file(struct ask *a, const struct flags *fl)
{
	size_t files = 0;

	for (size_t i = 0; i < fl->count; i++)
		if (!fl->items[i].field && !fl->items[i].is_preset) {
			a->file = fl->items[i].text;
			files++;
		}
	a->no_file = files ? "one --policy FILE" : "--policy FILE";
	if (files > 1)
		a->file = NULL;
}

int
ask_open_terminal(struct ask *a, struct remit_error *err)
{
	/* Not standard input: that is the program's. */
	a->tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (a->tty < 0)
		return fail_sys(err, REMIT_E_INPUT,
				"--ask: there is no terminal to ask at");
	return 0;
}

int
ask_open(struct ask *a, const struct flags *fl, struct remit_error *err)
{
	if (ask_open_terminal(a, err) < 0)
		return -1;
	find_file(a, fl);
	return 0;
}

void
ask_free(struct ask *a)
{
	own_fd_close(&a->tty);
	a->tty = -1;
	list_free(&a->asked);
}

static bool
is_stopped(const struct ask *a)
{
	struct pollfd p = { .fd = a->signals, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

bool
ask_say(const struct ask *a, const struct buf *text)
{
	return write(a->tty, buf_text(text), text->len) == (ssize_t)text->len;
}

/* ---- the answer ---- */

/* False at a signal or the end of the terminal. */
static bool
read_byte(const struct ask *a, char *c)
{
	struct pollfd p[] = { { .fd = a->tty, .events = POLLIN },
			      { .fd = a->signals, .events = POLLIN } };

	while (poll(p, ARRAY_LEN(p), -1) < 0)
		if (errno != EINTR)
			return false;
	return !p[1].revents && read(a->tty, c, 1) == 1;
}

/* The rest of a line that is too long for an answer is not the next one. */
bool
ask_read_line(const struct ask *a, char out[ASK_LINE])
{
	size_t n = 0;
	char c;

	while (read_byte(a, &c)) {
		if (c == '\n') {
			out[n < ASK_LINE ? n : 0] = '\0';
			return n < ASK_LINE;
		}
		if (n < ASK_LINE)
			out[n++] = c;
	}
	return false;
}

static enum answer
read_answer(const struct ask *a)
{
	char line[ASK_LINE];

	if (!ask_read_line(a, line))
		return ANSWER_NO;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].text, line))
			return words[i].answer == ANSWER_ALWAYS && !a->file
				       ? ANSWER_NONE
				       : words[i].answer;
	return ANSWER_NONE;
}

/* ---- the question ---- */

/* A line of its own in plain colours, whatever the program wrote last. */
static int
add_begin(struct buf *out, const struct remedy *r)
{
	if (buf_addf(out, "\033[0m\nremit: the program %s: %s",
		     r->reported ? "says it was refused" : "was refused",
		     buf_text(&r->tried)) < 0)
		return -1;
	if (r->more && buf_addf(out, " and %zu more", r->more) < 0)
		return -1;
	return buf_add(out, "\n       ", 8);
}

static int
add_choices(struct buf *out, const struct ask *a)
{
	if (!a->file)
		return buf_addf(out,
				"       o: once, n: no "
				"(always needs %s) [n] ",
				a->no_file);
	if (buf_addf(out, "       o: once, a: always (writes \"") < 0 ||
	    line_text_add(out, a->file, SHOWN) < 0)
		return -1;
	return buf_addf(out, "\"), n: no [n] ");
}

static int
write_question(const struct ask *a, const struct remedy *r, struct buf *out)
{
	if (add_begin(out, r) < 0 || buf_addf(out, "Allow ") < 0 ||
	    remedy_show(r, out) < 0 ||
	    buf_addf(out, " (%s) and run again?\n", r->field->sentence) < 0)
		return -1;
	return add_choices(out, a);
}

/* What was typed while the program ran was not meant for us. */
static enum answer
ask_one(const struct ask *a, const struct remedy *r)
{
	own(buf) struct buf text = BUF_INIT(4 * REMEDY_LINE);
	enum answer answer = ANSWER_NONE;

	if (write_question(a, r, &text) < 0)
		return ANSWER_NO;
	for (int i = 0; i < TRIES && answer == ANSWER_NONE; i++) {
		tcflush(a->tty, TCIFLUSH);
		if (!ask_say(a, &text))
			return ANSWER_NO;
		answer = read_answer(a);
		buf_free(&text);
		if (add_choices(&text, a) < 0)
			return ANSWER_NO;
	}
	return answer == ANSWER_NONE ? ANSWER_NO : answer;
}

/* Nothing that would be refused in any case is asked for. */
static void
say_why_not(const struct ask *a, const struct remedy *r,
	    const struct remit_error *why)
{
	own(buf) struct buf text = BUF_INIT(4 * REMEDY_LINE);

	if (add_begin(&text, r) == 0 && remedy_show(r, &text) == 0 &&
	    buf_addf(&text, " would not help: %s%s", why->where,
		     why->where[0] ? ": " : "") == 0 &&
	    line_text_message(&text, why->message, SIZE_MAX) == 0 &&
	    buf_addf(&text, "%s", why->remedy[0] ? "\n       " : "") == 0 &&
	    line_text_message(&text, why->remedy, SIZE_MAX) == 0 &&
	    buf_add(&text, "\n", 1) == 0)
		ask_say(a, &text);
}

static void
write_always(const struct ask *a, const struct remedy *r)
{
	own(buf) struct buf text = BUF_INIT(REMEDY_LINE);
	struct remit_error err;

	if (policy_file_grant(a->file, r->field, r->text, &err) == 0)
		return;
	if (buf_addf(&text, "remit: only allowed once: ") == 0 &&
	    line_text_message(&text, err.message, SIZE_MAX) == 0 &&
	    buf_add(&text, "\n", 1) == 0)
		ask_say(a, &text);
}

/* True if the policy allows more than before. */
static bool
settle(const struct ask *a, const struct remedy *r, struct policy *policy)
{
	struct remit_error err;
	enum answer answer;

	if (remedy_check(r, policy, &err) < 0) {
		say_why_not(a, r, &err);
		return false;
	}
	answer = ask_one(a, r);
	if (answer == ANSWER_NO)
		return false;
	if (answer == ANSWER_ALWAYS)
		write_always(a, r);
	return field_set_text(policy, r->field, r->text, &err) == 0;
}

/* Once for each flag: a run that is refused the same again is not helped by
   it, and a no is a no. */
static bool
is_new(struct ask *a, const struct remedy *r)
{
	own(buf) struct buf flag = BUF_INIT(REMEDY_LINE);

	if (remedy_show(r, &flag) < 0)
		return false;
	for (size_t i = 0; i < a->asked.count; i++)
		if (!strcmp(a->asked.items[i], buf_text(&flag)))
			return false;
	return list_add(&a->asked, buf_text(&flag)) == 0;
}

bool
ask_result(struct ask *a, const json_t *result, struct policy *policy)
{
	own(remedies) struct remedies all = { 0 };
	bool again = false;

	if (a->rounds++ == ASK_ROUNDS || remedies_find(&all, result) < 0)
		return false;
	for (size_t i = 0; i < all.count && !is_stopped(a); i++)
		if (is_new(a, &all.rows[i]) && settle(a, &all.rows[i], policy))
			again = true;
	return again && !is_stopped(a);
}

void
ask_note_host(struct ask *a, const char *host, bool always)
{
	struct remedy r = { .field = &fields[F_NETWORK_ALLOW] };

	snprintf(r.text, sizeof(r.text), "%s", host);
	/* Without memory it is asked again. */
	(void)is_new(a, &r);
	if (always)
		write_always(a, &r);
}
