#include "client/host_question.h"

#include <string.h>

#include "wire/record.h"

static const char *const words[] = {
	[REMIT_DENY] = "deny",
	[REMIT_ALLOW_ONCE] = "once",
	[REMIT_ALLOW_RUN] = "run",
	[REMIT_ALLOW_ALWAYS] = "run", /* the caller remembers it */
};

static int
send_answer(struct link *l, const char *id, enum remit_answer answer,
	    struct remit_error *err)
{
	own(buf) struct buf out = BUF_INIT(frame_rules[FRAME_ANSWER].max);
	bool is_known = (size_t)answer < ARRAY_LEN(words);

	if (record_add(&out, "id", id) < 0 ||
	    record_add(&out, "answer", words[is_known ? answer : REMIT_DENY]) <
		    0)
		return fail_sys(err, REMIT_E_MEMORY, "answer");
	return link_send(l, FRAME_ANSWER, out.data, out.len, err);
}

int
host_question_take(const struct remit_job *job, const struct frame *f,
		   struct link *l, struct remit_error *err)
{
	struct record id, kind, subject;
	struct remit_question q = { 0 };
	size_t at = 0;

	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	if (!record_next(f->payload, f->len, &at, &id) ||
	    !record_next(f->payload, f->len, &at, &kind) ||
	    !record_next(f->payload, f->len, &at, &subject) || at != f->len ||
	    strcmp(id.key, "id") != 0 || strcmp(kind.key, "kind") != 0 ||
	    strcmp(subject.key, "subject") != 0)
		return fail(err, REMIT_E_PROTOCOL, "a question without words");
	q.kind = kind.value;
	q.subject = subject.value;
	return send_answer(l, id.value,
			   job->on_question ? job->on_question(job->user, &q)
					    : REMIT_DENY,
			   err);
}
