/*
 * hosted_wait: calls and questions of hosted sessions that wait for their
 * answer, found by an id that nobody else can guess.
 */
#include <string.h>
#include <time.h>

#include "base/loop.h"
#include "hosted/hosted_part.h"

/* The lock is held. */
static struct wait **
find(struct hosted_table *rs, const char *owner, const char *id, bool is_call)
{
	struct wait **at = &rs->waits;

	for (; *at; at = &(*at)->next)
		if (((*at)->call != NULL) == is_call &&
		    !strcmp((*at)->id, id) &&
		    !strcmp((*at)->hosted->owner, owner))
			return at;
	return NULL;
}

/* ---- calls ---- */

int
hosted_wait_call(struct hosted *r, struct remit_tool_call *call,
		 char id[HOSTED_ID_SIZE])
{
	struct wait *w = calloc(1, sizeof(*w));
	struct remit_error err;

	if (!w || hosted_make_id(w->id, &err) < 0) {
		free(w);
		return -1;
	}
	w->hosted = r;
	w->call = call;
	memcpy(id, w->id, sizeof(w->id));
	pthread_mutex_lock(&r->all->lock);
	w->next = r->all->waits;
	r->all->waits = w;
	pthread_mutex_unlock(&r->all->lock);
	return 0;
}

/* NULL: there is none. */
static struct remit_tool_call *
take_call(struct hosted_table *rs, const char *owner, const char *id)
{
	struct remit_tool_call *call = NULL;
	struct wait **at, *w;

	pthread_mutex_lock(&rs->lock);
	at = find(rs, owner, id, true);
	if (at) {
		w = *at;
		*at = w->next;
		call = w->call;
		free(w);
	}
	pthread_mutex_unlock(&rs->lock);
	return call;
}

int
hosted_table_answer_call(struct hosted_table *rs, const char *owner,
			 const char *id, const char *json, size_t len)
{
	struct remit_tool_call *call = take_call(rs, owner, id);

	if (!call)
		return -1;
	remit_tool_reply(call, json, len);
	return 0;
}

int
hosted_table_fail_call(struct hosted_table *rs, const char *owner,
		       const char *id, const char *message)
{
	struct remit_tool_call *call = take_call(rs, owner, id);

	if (!call)
		return -1;
	remit_tool_fail(call, message);
	return 0;
}

/* One call of a hosted session that is left, taken out of the list. */
static struct remit_tool_call *
take_left(struct hosted *r)
{
	struct remit_tool_call *call = NULL;
	struct wait **at, *w;

	pthread_mutex_lock(&r->all->lock);
	for (at = &r->all->waits; *at; at = &(*at)->next)
		if ((*at)->hosted == r && (*at)->call)
			break;
	if ((w = *at)) {
		*at = w->next;
		call = w->call;
		free(w);
	}
	pthread_mutex_unlock(&r->all->lock);
	return call;
}

void
hosted_wait_end(struct hosted *r)
{
	struct remit_tool_call *call;

	while ((call = take_left(r)))
		remit_tool_fail(call, "the program has ended");
}

/* ---- questions ---- */

int
hosted_table_answer_question(struct hosted_table *rs, const char *owner,
			     const char *id, enum remit_answer answer)
{
	struct wait **at;

	pthread_mutex_lock(&rs->lock);
	at = find(rs, owner, id, false);
	if (at && (*at)->answered)
		at = NULL;
	if (at) {
		(*at)->answered = true;
		(*at)->answer = answer;
		pthread_cond_broadcast(&(*at)->hosted->changed);
	}
	pthread_mutex_unlock(&rs->lock);
	return at ? 0 : -1;
}

/* The lock is held. An interrupt is no. */
static void
wait_for(struct hosted *r, const struct task *t, const struct wait *w)
{
	uint64_t until_ms = loop_now_us() / 1000 + HOSTED_QUESTION_MS;
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000),
				  .tv_nsec =
					  (long)(until_ms % 1000) * 1000000 };
	int late = 0;

	while (!w->answered && !t->cancelled && !late)
		late = pthread_cond_timedwait(&r->changed, &r->all->lock,
					      &until);
}

static void
unlink_wait(struct hosted_table *rs, const struct wait *w)
{
	struct wait **at = &rs->waits;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

enum remit_answer
hosted_wait_answer(struct hosted *r, const struct task *t,
		   const struct remit_question *q)
{
	struct wait w = { .hosted = r, .answer = REMIT_DENY };
	struct hosted_table *rs = r->all;
	struct remit_error err;

	if (hosted_make_id(w.id, &err) < 0)
		return REMIT_DENY;
	pthread_mutex_lock(&rs->lock);
	w.next = rs->waits;
	rs->waits = &w;
	pthread_mutex_unlock(&rs->lock);
	t->ev->question(t->user, w.id, q);
	pthread_mutex_lock(&rs->lock);
	wait_for(r, t, &w);
	unlink_wait(rs, &w);
	pthread_mutex_unlock(&rs->lock);
	return w.answer;
}
