#include "keeper/packages/installer_run.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "wire/record.h"

/* ---- the conversation ---- */

static int
send_job(struct installer_run *r, const struct buf *policy,
	 const struct list *argv, const struct buf *code,
	 struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_JOB].max);
	struct link *l = &r->client;
	int bad = record_add(&records, "name", "install.py") < 0 ||
		  record_add(&records, "once", "yes") < 0;

	for (size_t i = 0; i < argv->count && !bad; i++)
		bad = record_add(&records, "argv", argv->items[i]);
	if (r->make && !bad)
		bad = record_add(&records, "artifacts", "yes");
	if (bad)
		return fail_sys(err, REMIT_E_INPUT, "packages");
	if (link_send(l, FRAME_POLICY, policy->data, policy->len, err) < 0 ||
	    link_send(l, FRAME_JOB, records.data, records.len, err) < 0 ||
	    link_send_pieces(l, FRAME_CODE, code->data, code->len, err) < 0 ||
	    link_send(l, FRAME_STDIN_END, "", 0, err) < 0)
		return -1;
	return link_send(l, FRAME_START, "", 0, err);
}

/* Passes on each complete line. */
static void
pass_lines(struct installer_run *r)
{
	char *end;

	while (r->on_line && r->passed_bytes < r->out.len &&
	       (end = memchr(r->out.data + r->passed_bytes, '\n',
			     r->out.len - r->passed_bytes))) {
		*end = '\0';
		r->on_line(r->params, r->out.data + r->passed_bytes);
		*end = '\n';
		r->passed_bytes = (size_t)(end - r->out.data) + 1;
	}
}

/* Keeps the last bytes: the last errors are the important ones. */
static void
keep_end(struct buf *b, const char *bytes, size_t len)
{
	if (len > b->cap) {
		bytes += len - b->cap;
		len = b->cap;
	}
	if (b->len + len > b->cap)
		buf_drop(b, b->len + len - b->cap);
	if (buf_add(b, bytes, len) < 0)
		errno = 0; /* if memory is short, the reason is shorter */
}

static int
recv_result(struct installer_run *r, const struct frame *f,
	    struct remit_error *err)
{
	const char *word;
	int status;

	r->result = json_loadb(f->payload, f->len, 0, NULL);
	word = json_string_value(json_object_get(r->result, "status"));
	status = word ? status_find(word) : -1;
	if (status < 0)
		return fail(err, REMIT_E_PROTOCOL, "a result without a status");
	r->status = (enum status)status;
	return 0;
}

static int
recv_run_frame(struct installer_run *r, const struct frame *f,
	       struct remit_error *err)
{
	struct file_head h;

	switch (f->type) {
	case FRAME_STDOUT:
		if (buf_add(&r->out, f->payload, f->len) == 0)
			pass_lines(r);
		return 0;
	case FRAME_STDERR:
		keep_end(&r->err, f->payload, f->len);
		return 0;
	case FRAME_ENFORCEMENT:
	case FRAME_DISPLAY:
	case FRAME_DISPLAY_DATA:
		return 0;
	case FRAME_ARTIFACT:
		if (!r->make || file_head_read(&h, f->payload, f->len, err) < 0)
			return -1;
		return package_layer_make_file(r->make, h.path, h.size_bytes,
					       err);
	case FRAME_ARTIFACT_DATA:
		if (!r->make)
			return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
		return package_layer_make_add(r->make, f->payload, f->len, err);
	case FRAME_RESULT:
		return recv_result(r, f, err);
	default:
		return fail(err, REMIT_E_PROTOCOL, "unexpected frame");
	}
}

static int
read_frames(struct installer_run *r, struct remit_error *err)
{
	struct link *l = &r->client;
	struct frame f;

	if (link_fill(l, err) < 0)
		return -1;
	do {
		if (link_next(l, &f, err) < 0 ||
		    (f.type != FRAME_NONE && recv_run_frame(r, &f, err) < 0))
			return -1;
	} while (f.type != FRAME_NONE);
	if (l->ended && !r->result)
		return fail(err, REMIT_E_GONE, "the keeper is gone");
	return 0;
}

int
installer_run(struct installer_run *r, int client, const struct buf *policy,
	      const struct list *argv, const struct buf *code,
	      struct remit_error *err)
{
	struct link *l = &r->client;

	link_open(l, client, PARTY_KEEPER);
	if (send_job(r, policy, argv, code, err) < 0)
		return -1;
	while (!r->result) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		/* A keeper that stopped reading has sent an answer. */
		if (link_flush(l, err) < 0)
			link_drop_backlog(l);
		if (link_wants_write(l))
			p.events |= POLLOUT;
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return fail_sys(err, REMIT_E_KERNEL, "poll");
		if (p.revents & (POLLIN | POLLHUP | POLLERR) &&
		    read_frames(r, err) < 0)
			return -1;
	}
	return 0;
}

void
installer_run_free(struct installer_run *r)
{
	link_free(&r->client);
	buf_free(&r->out);
	buf_free(&r->err);
	json_decref(r->result);
}

/* ---- why it failed ---- */

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* After "ERROR: Exception:" comes a traceback; its last line is the reason. */
static const char *
last_line(const char *text, const char *line)
{
	const char *at, *found = line;

	if (strncmp(line, "Exception:\n", 11) != 0)
		return line;
	for (at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (*at && *at != '\n')
			found = at;
	}
	return found;
}

/* pip prints this before the output of a program that failed. */
static const char program_failed[] = "subprocess-exited-with-error";
/* pip prints this after that output. */
static const char output_end[] = "[end of output]";

#define REASONS_MAX 3

/* The last reasons, each up to the end of its line; unused ones are NULL. */
struct reasons {
	const char *lines[REASONS_MAX];
};

static bool
is_same_line(const char *a, const char *b)
{
	size_t n = strcspn(a, "\n");

	return n == strcspn(b, "\n") && !strncmp(a, b, n);
}

static void
add_reason(struct reasons *r, const char *line)
{
	const char **last = &r->lines[REASONS_MAX - 1];

	if (!strncmp(line, program_failed, strlen(program_failed)) ||
	    (*last && is_same_line(*last, line)))
		return;
	memmove(r->lines, r->lines + 1,
		(REASONS_MAX - 1) * sizeof(r->lines[0]));
	*last = line;
}

/* Finds the reasons in the messages of pip: lines that begin with "ERROR" and,
   indented, the errors and the last line of a program that it started, such as
   the pip that installs what a build requires. */
static void
find_reasons(struct reasons *r, const char *text)
{
	static const char mark[] = "error: ";
	const char *before = NULL;

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n')) {
		line += strspn(line, "\n ");
		if (!strncasecmp(line, mark, sizeof(mark) - 1)) {
			line += sizeof(mark) - 1;
			add_reason(r, last_line(text, line));
		} else if (before &&
			   !strncmp(line, output_end, sizeof(output_end) - 1)) {
			add_reason(r, before);
		}
		before = line;
	}
}

static void
write_reasons(const struct reasons *r, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < REASONS_MAX; i++)
		if (r->lines[i] && used < size)
			used += (size_t)snprintf(
				out + used, size - used, "%s%.*s",
				used ? "; " : "",
				(int)strcspn(r->lines[i], "\n"), r->lines[i]);
	if (!used)
		snprintf(out, size, "pip gave no reason");
}

/* Adds a host that was refused, with the option that would allow it. */
static void
add_refused_host(const struct installer_run *r, struct remit_error *why)
{
	static const char network[] = "--allow-host ";
	size_t used = strlen(why->message), i;
	json_t *row;

	json_array_foreach(json_object_get(r->result, "denials"), i, row)
	{
		const char *flag = text_of(row, "flag");

		if (strcmp(text_of(row, "source"), "proxy") != 0)
			continue;
		snprintf(why->message + used, sizeof(why->message) - used,
			 " (refused: %.300s)", text_of(row, "what"));
		if (!strncmp(flag, network, sizeof(network) - 1))
			snprintf(why->remedy, sizeof(why->remedy),
				 "If packages come from that host, add "
				 "--package-host %.300s.",
				 flag + sizeof(network) - 1);
		return;
	}
}

/* Returns true if files were left out of the export. */
static bool
is_incomplete(const struct installer_run *r, struct remit_error *why)
{
	const json_t *skipped = json_object_get(r->result, "artifacts_skipped");
	const char *reason = text_of(json_array_get(skipped, 0), "reason");

	if (!*reason)
		return false;
	fail(why, REMIT_E_INSTALL,
	     "the packages are larger than package_bytes allows, or have too "
	     "many files (%s)",
	     reason);
	snprintf(why->remedy, sizeof(why->remedy), "Raise --package-max.");
	return true;
}

/* Copies the keeper's error. */
static void
copy_error(const struct installer_run *r, struct remit_error *why)
{
	const json_t *error = json_object_get(r->result, "error");
	enum remit_code code = r->status == STATUS_REFUSED ? REMIT_E_REFUSED
			       : r->status == STATUS_BUSY  ? REMIT_E_BUSY
							   : REMIT_E_INTERNAL;

	if (json_is_true(json_object_get(error, "elsewhere")))
		code = REMIT_E_ELSEWHERE;
	fail(why, code, "packages cannot be installed: %s%s%.800s",
	     text_of(error, "where"), *text_of(error, "where") ? ": " : "",
	     text_of(error, "value"));
	snprintf(why->remedy, sizeof(why->remedy), "%s",
		 text_of(error, "remedy"));
}

bool
installer_is_late(const struct remit_error *err)
{
	return err->code == REMIT_E_INSTALL &&
	       !strcmp(err->where, "package_time");
}

bool
installer_run_failed(const struct installer_run *r, struct remit_error *why)
{
	struct reasons reasons = { 0 };
	char words[600];

	switch (r->status) {
	case STATUS_OK:
		return is_incomplete(r, why);
	case STATUS_REFUSED:
	case STATUS_BUSY:
	case STATUS_INTERNAL:
		copy_error(r, why);
		break;
	case STATUS_TIMEOUT:
	case STATUS_CPU_LIMIT:
		fail(why, REMIT_E_INSTALL,
		     "the installation took longer than package_time allows");
		snprintf(why->remedy, sizeof(why->remedy),
			 "Raise --package-time.");
		snprintf(why->where, sizeof(why->where), "package_time");
		return true;
	case STATUS_EXIT:
	case STATUS_ERROR:
		find_reasons(&reasons, buf_text(&r->err));
		write_reasons(&reasons, words, sizeof(words));
		fail(why, REMIT_E_INSTALL, "%s", words);
		add_refused_host(r, why);
		break;
	default:
		fail(why, REMIT_E_INSTALL, "the installation was stopped: %s",
		     statuses[r->status].sentence);
	}
	snprintf(why->where, sizeof(why->where), "packages");
	return true;
}
