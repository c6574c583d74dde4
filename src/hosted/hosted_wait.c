/*
 * hosted_wait: tool calls and questions of hosted sessions that are not
 * answered yet, found by an id that cannot be guessed.
 */
#include <string.h>
#include <time.h>

#include "base/loop.h"
#include "hosted/hosted_part.h"

/* Called with the lock held. */
static struct wait **
wait_find(struct hosted_table *table, const char *owner, const char *id,
	  bool is_call)
{
	struct wait **at = &table->waits;

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
	pthread_mutex_lock(&r->table->lock);
	w->next = r->table->waits;
	r->table->waits = w;
	pthread_mutex_unlock(&r->table->lock);
	return 0;
}

/* Removes the call from the list and returns it, or NULL if there is none. */
static struct remit_tool_call *
pop_call(struct hosted_table *table, const char *owner, const char *id)
{
	struct remit_tool_call *call = NULL;
	struct wait **at, *w;

	pthread_mutex_lock(&table->lock);
	at = wait_find(table, owner, id, true);
	if (at) {
		w = *at;
		*at = w->next;
		call = w->call;
		free(w);
	}
	pthread_mutex_unlock(&table->lock);
	return call;
}

int
hosted_table_answer_call(struct hosted_table *table, const char *owner,
			 const char *id, const char *json, size_t len)
{
	struct remit_tool_call *call = pop_call(table, owner, id);

	if (!call)
		return -1;
	remit_tool_reply(call, json, len);
	return 0;
}

int
hosted_table_fail_call(struct hosted_table *table, const char *owner,
		       const char *id, const char *message)
{
	struct remit_tool_call *call = pop_call(table, owner, id);

	if (!call)
		return -1;
	remit_tool_fail(call, message);
	return 0;
}

/* Removes one remaining call of a hosted session from the list and returns
   it. */
static struct remit_tool_call *
pop_call_of(struct hosted *r)
{
	struct remit_tool_call *call = NULL;
	struct wait **at, *w;

	pthread_mutex_lock(&r->table->lock);
	for (at = &r->table->waits; *at; at = &(*at)->next)
		if ((*at)->hosted == r && (*at)->call)
			break;
	if ((w = *at)) {
		*at = w->next;
		call = w->call;
		free(w);
	}
	pthread_mutex_unlock(&r->table->lock);
	return call;
}

void
hosted_wait_end(struct hosted *r)
{
	struct remit_tool_call *call;

	while ((call = pop_call_of(r)))
		remit_tool_fail(call, "the program has ended");
}

/* ---- questions ---- */

int
hosted_table_answer_question(struct hosted_table *table, const char *owner,
			     const char *id, enum remit_answer answer)
{
	struct wait **at;

	pthread_mutex_lock(&table->lock);
	at = wait_find(table, owner, id, false);
	if (at && (*at)->answered)
		at = NULL;
	if (at) {
		(*at)->answered = true;
		(*at)->answer = answer;
		pthread_cond_broadcast(&(*at)->hosted->changed);
	}
	pthread_mutex_unlock(&table->lock);
	return at ? 0 : -1;
}

/* Waits until the question is answered, cancelled or timed out; without an
   answer it is denied. Called with the lock held. */
static void
wait_until_answered(struct hosted *r, const struct task *t,
		    const struct wait *w)
{
	uint64_t until_ms = loop_now_us() / 1000 + HOSTED_QUESTION_MS;
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000),
				  .tv_nsec =
					  (long)(until_ms % 1000) * 1000000 };
	int late = 0;

	while (!w->answered && !t->cancelled && !late)
		late = pthread_cond_timedwait(&r->changed, &r->table->lock,
					      &until);
}

static void
unlink_wait(struct hosted_table *table, const struct wait *w)
{
	struct wait **at = &table->waits;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

enum remit_answer
hosted_wait_answer(struct hosted *r, const struct task *t,
		   const struct remit_question *q)
{
	struct wait w = { .hosted = r, .answer = REMIT_DENY };
	struct hosted_table *table = r->table;
	struct remit_error err;

	if (hosted_make_id(w.id, &err) < 0)
		return REMIT_DENY;
	pthread_mutex_lock(&table->lock);
	w.next = table->waits;
	table->waits = &w;
	pthread_mutex_unlock(&table->lock);
	t->ev->question(t->user, w.id, q);
	pthread_mutex_lock(&table->lock);
	wait_until_answered(r, t, &w);
	unlink_wait(table, &w);
	pthread_mutex_unlock(&table->lock);
	return w.answer;
}
