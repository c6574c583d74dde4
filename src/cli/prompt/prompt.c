#include "cli/prompt/prompt.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <termios.h>

#include "base/buf.h"
#include "base/file/io.h"
#include "cli/prompt/remedy.h"
#include "cli/report/screen.h"
#include "policy/edit.h"

/* ---- granting a permission in the policy file ---- */

#define DOCUMENT_MAX ((size_t)1024 * 1024)

struct policy_location {
	const char *path; /* for messages */
	const char *name; /* in the directory */
	int directory;
	struct stat old;
};

static void
policy_location_free(struct policy_location *p)
{
	own_fd_close(&p->directory);
}

static int
open_directory(struct policy_location *p, const char *path,
	       struct remit_error *err)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];

	p->path = path;
	p->name = slash ? slash + 1 : path;
	if ((size_t)snprintf(directory, sizeof(directory), "%.*s%s",
			     slash ? (int)(slash - path) : 0, path,
			     slash ? "/" : ".") >= sizeof(directory))
		return fail(err, REMIT_E_INPUT, "%s: name too long", path);
	p->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->directory < 0)
		return fail_sys(err, REMIT_E_KERNEL, "open the folder of %s",
				path);
	return 0;
}

static int
read_current(struct policy_location *p, struct buf *out,
	     struct remit_error *err)
{
	own_fd int fd = openat(p->directory, p->name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ELOOP)
		return fail(
			err, REMIT_E_INPUT,
			"%s is a symbolic link: give --policy the file itself",
			p->path);
	if (fd < 0 || fstat(fd, &p->old) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "%s", p->path);
	if (!S_ISREG(p->old.st_mode) || p->old.st_nlink != 1)
		return fail(err, REMIT_E_INPUT,
			    "%s is not a regular file with a single name (it "
			    "has hard links)",
			    p->path);
	if (io_read_all(fd, out) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "%s", p->path);
	return 0;
}

/* Set the owner first, since that may clear bits of the mode. */
static int
write_replacement(const struct policy_location *p, int fd,
		  const struct buf *text, struct remit_error *err)
{
	if (fchown(fd, p->old.st_uid, p->old.st_gid) < 0 ||
	    fchmod(fd, p->old.st_mode & 07777) < 0)
		return fail_sys(
			err, REMIT_E_KERNEL,
			"write %s: cannot keep its owner, group and mode",
			p->path);
	if (io_write_all(fd, text->data, text->len) < 0 || fsync(fd) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s", p->path);
	return 0;
}

static bool
is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Put the new file in place, unless the old one has changed since it was read:
   that change must not be lost. */
static int
swap_in(const struct policy_location *p, const char *temp,
	struct remit_error *err)
{
	struct stat now;

	if (fstatat(p->directory, p->name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_unchanged(&now, &p->old))
		return fail(
			err, REMIT_E_KERNEL,
			"write %s: another program has changed it meanwhile",
			p->path);
	if (renameat(p->directory, temp, p->directory, p->name) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "write %s", p->path);
	return 0;
}

static int
replace_file(const struct policy_location *p, const struct buf *text,
	     struct remit_error *err)
{
	uint64_t number = 0;
	own_fd int fd = -1;
	char temp[48];

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return fail_sys(err, REMIT_E_KERNEL, "getrandom");
	snprintf(temp, sizeof(temp), ".remit-policy-%016llx",
		 (unsigned long long)number);
	fd = openat(p->directory, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"create a new file next to %s", p->path);
	if (write_replacement(p, fd, text, err) < 0 ||
	    swap_in(p, temp, err) < 0) {
		unlinkat(p->directory, temp, 0);
		return -1;
	}
	if (fsync(p->directory) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "sync %s", p->path);
	return 0;
}

/*
 * Add the value `text` of the field to the policy document at `path`. The new
 * document is complete on disk, with the mode and owner of the old one, before
 * it replaces it; if anything fails, the old one is unchanged. A symbolic link,
 * or a file with several hard links, is refused: the replacement would separate
 * the names.
 */
static int
policy_file_grant(const char *path, const struct field *f, const char *text,
		  struct remit_error *err)
{
	own(buf) struct buf old = BUF_INIT(DOCUMENT_MAX);
	own(buf) struct buf new = BUF_INIT(DOCUMENT_MAX);
	own(policy_location) struct policy_location p = { .directory = -1 };

	if (open_directory(&p, path, err) < 0 ||
	    read_current(&p, &old, err) < 0 ||
	    policy_edit_grant(&old, f, text, &new, err) < 0)
		return -1;
	return replace_file(&p, &new, err);
}

/* ---- after a run ---- */

/* The size of an answer, with its NUL. */
#define PROMPT_LINE_SIZE 64

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
find_policy_file(struct prompt *a, const struct flags *fl)
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

static int
prompt_open_terminal(struct prompt *a, struct remit_error *err)
{
	/* Do not ask on standard input, which belongs to the program. */
	a->tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (a->tty < 0)
		return fail_sys(err, REMIT_E_INPUT, "--ask needs a terminal");
	return 0;
}

int
prompt_open(struct prompt *a, const struct flags *fl, struct remit_error *err)
{
	if (prompt_open_terminal(a, err) < 0)
		return -1;
	find_policy_file(a, fl);
	return 0;
}

void
prompt_free(struct prompt *a)
{
	own_fd_close(&a->tty);
	a->tty = -1;
	list_free(&a->answered);
}

static bool
is_stopped(const struct prompt *a)
{
	struct pollfd p = { .fd = a->signals, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Returns false if the terminal is gone. */
static bool
prompt_write(const struct prompt *a, const struct buf *text)
{
	return write(a->tty, buf_text(text), text->len) == (ssize_t)text->len;
}

/* ---- the answer ---- */

/* Returns false at a signal, or at the end of the terminal's input. */
static bool
read_byte(const struct prompt *a, char *c)
{
	struct pollfd p[] = { { .fd = a->tty, .events = POLLIN },
			      { .fd = a->signals, .events = POLLIN } };

	while (poll(p, ARRAY_LEN(p), -1) < 0)
		if (errno != EINTR)
			return false;
	return !p[1].revents && read(a->tty, c, 1) == 1;
}

/* The rest of a line that is too long is dropped: it must not become the next
   answer. */
/* Returns false at a signal, at the end of input, and for a line that is too
   long. */
static bool
prompt_read_line(const struct prompt *a, char out[PROMPT_LINE_SIZE])
{
	size_t n = 0;
	char c;

	while (read_byte(a, &c)) {
		if (c == '\n') {
			out[n < PROMPT_LINE_SIZE ? n : 0] = '\0';
			return n < PROMPT_LINE_SIZE;
		}
		if (n < PROMPT_LINE_SIZE)
			out[n++] = c;
	}
	return false;
}

static enum answer
read_answer(const struct prompt *a)
{
	char line[PROMPT_LINE_SIZE];

	if (!prompt_read_line(a, line))
		return ANSWER_NO;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].text, line))
			return words[i].answer == ANSWER_ALWAYS && !a->file
				       ? ANSWER_NONE
				       : words[i].answer;
	return ANSWER_NONE;
}

/* ---- the question ---- */

/* Begin a new line in plain colours, whatever the program wrote last. */
static int
add_refusal(struct buf *out, const struct remedy *r)
{
	if (buf_addf(out, "\033[0m\nremit: the program %s: %s",
		     r->reported ? "reports that it was refused"
				 : "was refused",
		     buf_text(&r->tried)) < 0)
		return -1;
	if (r->more && buf_addf(out, " and %zu more", r->more) < 0)
		return -1;
	return buf_add(out, "\n       ", 8);
}

static int
add_choices(struct buf *out, const struct prompt *a)
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
write_question(const struct prompt *a, const struct remedy *r, struct buf *out)
{
	if (add_refusal(out, r) < 0 || buf_addf(out, "Allow ") < 0 ||
	    remedy_show(r, out) < 0 ||
	    buf_addf(out, " (%s) and run again?\n", r->field->sentence) < 0)
		return -1;
	return add_choices(out, a);
}

/* Drop what the user typed while the program ran: it was not meant as an
   answer. */
static enum answer
prompt_once(const struct prompt *a, const struct remedy *r)
{
	own(buf) struct buf text = BUF_INIT(4 * REMEDY_LINE);
	enum answer answer = ANSWER_NONE;

	if (write_question(a, r, &text) < 0)
		return ANSWER_NO;
	for (int i = 0; i < TRIES && answer == ANSWER_NONE; i++) {
		tcflush(a->tty, TCIFLUSH);
		if (!prompt_write(a, &text))
			return ANSWER_NO;
		answer = read_answer(a);
		buf_free(&text);
		if (add_choices(&text, a) < 0)
			return ANSWER_NO;
	}
	return answer == ANSWER_NONE ? ANSWER_NO : answer;
}

/* Explain why a permission is not offered: the run would be refused with it,
   too. */
static void
write_why_not(const struct prompt *a, const struct remedy *r,
	      const struct remit_error *why)
{
	own(buf) struct buf text = BUF_INIT(4 * REMEDY_LINE);

	if (add_refusal(&text, r) == 0 && remedy_show(r, &text) == 0 &&
	    buf_addf(&text, " would not help: %s%s", why->where,
		     why->where[0] ? ": " : "") == 0 &&
	    line_text_message(&text, why->message, SIZE_MAX) == 0 &&
	    buf_addf(&text, "%s", why->remedy[0] ? "\n       " : "") == 0 &&
	    line_text_message(&text, why->remedy, SIZE_MAX) == 0 &&
	    buf_add(&text, "\n", 1) == 0)
		prompt_write(a, &text);
}

static void
write_always(const struct prompt *a, const struct remedy *r)
{
	own(buf) struct buf text = BUF_INIT(REMEDY_LINE);
	struct remit_error err;

	if (policy_file_grant(a->file, r->field, r->text, &err) == 0)
		return;
	if (buf_addf(&text, "remit: allowed only once: ") == 0 &&
	    line_text_message(&text, err.message, SIZE_MAX) == 0 &&
	    buf_add(&text, "\n", 1) == 0)
		prompt_write(a, &text);
}

/* Returns true if the user has allowed it, and adds it to the policy. */
static bool
prompt_for_remedy(const struct prompt *a, const struct remedy *r,
		  struct policy *policy)
{
	struct remit_error err;
	enum answer answer;

	if (remedy_check(r, policy, &err) < 0) {
		write_why_not(a, r, &err);
		return false;
	}
	answer = prompt_once(a, r);
	if (answer == ANSWER_NO)
		return false;
	if (answer == ANSWER_ALWAYS)
		write_always(a, r);
	return field_set_text(policy, r->field, r->text, &err) == 0;
}

/* Returns false if the user was asked for this flag before. Asking again would
   not help: either the flag was allowed without effect, or the answer was no.
   */
static bool
add_answered(struct prompt *a, const struct remedy *r)
{
	own(buf) struct buf flag = BUF_INIT(REMEDY_LINE);

	if (remedy_show(r, &flag) < 0)
		return false;
	for (size_t i = 0; i < a->answered.count; i++)
		if (!strcmp(a->answered.items[i], buf_text(&flag)))
			return false;
	return list_add(&a->answered, buf_text(&flag)) == 0;
}

bool
prompt_for_denials(struct prompt *a, const json_t *result,
		   struct policy *policy)
{
	own(remedies) struct remedies all = { 0 };
	bool again = false;

	if (a->rounds++ == PROMPT_ROUNDS_MAX || remedies_find(&all, result) < 0)
		return false;
	for (size_t i = 0; i < all.count && !is_stopped(a); i++)
		if (add_answered(a, &all.rows[i]) &&
		    prompt_for_remedy(a, &all.rows[i], policy))
			again = true;
	return again && !is_stopped(a);
}

void
prompt_note_host(struct prompt *a, const char *host, bool always)
{
	struct remedy r = { .field = &fields[F_NETWORK_ALLOW] };

	snprintf(r.text, sizeof(r.text), "%s", host);
	/* If memory runs out, the user is asked again. */
	(void)add_answered(a, &r);
	if (always)
		write_always(a, &r);
}

/* ---- while the program waits ---- */

#define QUESTION_SHOWN 1000 /* characters of what the program has written */

static int
write_choice(const char *file, struct buf *out)
{
	if (buf_addf(out, "       o: once, r: for this run, ") < 0)
		return -1;
	if (file && (buf_addf(out, "a: always (writes \"") < 0 ||
		     line_text_add(out, file, QUESTION_SHOWN) < 0 ||
		     buf_addf(out, "\"), ") < 0))
		return -1;
	return buf_addf(out, "n: no [n] ");
}

static const struct question_word {
	const char *text;
	enum remit_answer answer;
} question_words[] = {
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

/* The words of a question, by its kind. */
static const struct kind {
	const char *name, *before, *between;
} kinds[] = {
	{ "tool", "calls the tool \"", "\" with " },
	{ "host", "wants to reach \"", "\": " },
};

static int
question_write(const struct remit_question *q, const char *file,
	       struct buf *out)
{
	const struct kind *k = &kinds[0];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].name, q->kind))
			k = &kinds[i];
	/* Begin a new line in plain colours, whatever was written last. */
	if (buf_addf(out, "\033[0m\nremit: the program %s", k->before) < 0 ||
	    line_text_add(out, q->subject, QUESTION_SHOWN) < 0 ||
	    buf_addf(out, "%s", q->detail ? k->between : "\"") < 0 ||
	    (q->detail &&
	     line_text_message(out, q->detail, QUESTION_SHOWN) < 0))
		return -1;
	if (buf_addf(out, "\n       Allow it?\n") < 0)
		return -1;
	return write_choice(file, out);
}

static bool
question_find(const char *line, const char *file, enum remit_answer *out)
{
	for (size_t i = 0; i < ARRAY_LEN(question_words); i++)
		if (!strcmp(question_words[i].text, line) &&
		    (file || question_words[i].answer != REMIT_ALLOW_ALWAYS)) {
			*out = question_words[i].answer;
			return true;
		}
	return false;
}

enum remit_answer
question_prompt(const struct remit_question *q, const char *file, int signals)
{
	own(buf) struct buf text = BUF_INIT(64 * 1024);
	own(prompt) struct prompt a = PROMPT_INIT;
	enum remit_answer answer = REMIT_DENY;
	struct remit_error err;
	char line[PROMPT_LINE_SIZE];

	a.signals = signals;
	if (prompt_open_terminal(&a, &err) < 0) {
		fprintf(stderr, "remit: denied, since no terminal can show the "
				"question\n");
		return REMIT_DENY;
	}
	if (question_write(q, file, &text) < 0)
		return REMIT_DENY;
	for (int i = 0; i < TRIES; i++) {
		/* Drop what the user typed before: it was not meant as an
		   answer. */
		tcflush(a.tty, TCIFLUSH);
		if (!prompt_write(&a, &text) || !prompt_read_line(&a, line) ||
		    question_find(line, file, &answer))
			return answer;
		buf_free(&text);
		if (write_choice(file, &text) < 0)
			return REMIT_DENY;
	}
	return REMIT_DENY;
}
