#include "client/tools/hub.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/own.h"
#include "base/text.h"

/* The longest error message of a tool. */
#define MESSAGE_MAX 4096

struct tool_hub {
	pthread_mutex_t lock;
	pthread_t waiter; /* the run's thread: it looks for answers without a
			     wake-up */
	struct refcount owners; /* the run, and each unanswered call */
	bool over;
	int wake;     /* readable when another thread has answered */
	int ended_fd; /* readable once the run has ended */
	struct tool_answer *first, *last;
};

struct remit_tool_call {
	struct tool_hub *hub;
	uint64_t id;
	char name[TOOL_NAME_SIZE];
};

static void
answers_free(struct tool_answer *a)
{
	while (a) {
		struct tool_answer *next = a->next;

		free(a->text);
		free(a);
		a = next;
	}
}

static void
hub_free(struct tool_hub *h)
{
	answers_free(h->first);
	own_fd_close(&h->wake);
	own_fd_close(&h->ended_fd);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

struct tool_hub *
tool_hub_new(struct remit_error *err)
{
	struct tool_hub *h = calloc(1, sizeof(*h));

	if (!h) {
		fail_memory(err, "tools");
		return NULL;
	}
	pthread_mutex_init(&h->lock, NULL);
	h->waiter = pthread_self();
	h->owners = (struct refcount)REFCOUNT_INIT(1);
	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->wake < 0 || h->ended_fd < 0) {
		fail_sys(err, REMIT_E_KERNEL, "eventfd");
		hub_free(h);
		return NULL;
	}
	return h;
}

int
tool_hub_fd(const struct tool_hub *h)
{
	return h->wake;
}

/* Called with the lock, which it releases. The last owner frees the hub. */
static void
hub_release(struct tool_hub *h)
{
	pthread_mutex_unlock(&h->lock);
	if (refcount_dec_and_test(&h->owners))
		hub_free(h);
}

void
tool_hub_end(struct tool_hub *h)
{
	uint64_t one = 1;

	pthread_mutex_lock(&h->lock);
	h->over = true;
	/* Cannot fail: the counter is never full. */
	if (write(h->ended_fd, &one, sizeof(one)) < 0)
		h->over = true;
	hub_release(h);
}

struct tool_answer *
tool_hub_pop_all(struct tool_hub *h)
{
	struct tool_answer *first;
	uint64_t count;

	pthread_mutex_lock(&h->lock);
	first = h->first;
	h->first = h->last = NULL;
	/* The counter may be zero: only answers of other threads increment
	   it. */
	if (first && read(h->wake, &count, sizeof(count)) < 0)
		errno = 0;
	pthread_mutex_unlock(&h->lock);
	return first;
}

static struct tool_answer *
answer_new(uint64_t id, const char *outcome, const char *text, size_t len)
{
	struct tool_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->id = id;
	a->outcome = outcome;
	a->len = len;
	a->text = malloc(len + 1);
	if (!a->text) {
		free(a);
		return NULL;
	}
	memcpy(a->text, text, len);
	a->text[len] = '\0';
	return a;
}

/* Called with the lock. */
static void
hub_append(struct tool_hub *h, struct tool_answer *a)
{
	uint64_t one = 1;

	if (h->over) {
		answers_free(a);
		return;
	}
	if (h->last)
		h->last->next = a;
	else
		h->first = a;
	h->last = a;
	/* The run's thread looks for answers after each call anyway. */
	if (!pthread_equal(h->waiter, pthread_self()) &&
	    write(h->wake, &one, sizeof(one)) < 0)
		errno = 0; /* the counter is full, so the reader is awake */
}

/* If memory for the answer runs out, the call waits until the run times out. */
static void
hub_answer(struct tool_hub *h, uint64_t id, const char *outcome,
	   const char *text, size_t len, bool is_last)
{
	struct tool_answer *a = answer_new(id, outcome, text, len);

	pthread_mutex_lock(&h->lock);
	if (a)
		hub_append(h, a);
	if (is_last)
		hub_release(h);
	else
		pthread_mutex_unlock(&h->lock);
}

void
tool_hub_answer(struct tool_hub *h, uint64_t id, const char *outcome,
		const char *text)
{
	hub_answer(h, id, outcome, text, strlen(text), false);
}

struct remit_tool_call *
tool_hub_call(struct tool_hub *h, uint64_t id, const char *name)
{
	struct remit_tool_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->hub = h;
	c->id = id;
	snprintf(c->name, sizeof(c->name), "%s", name);
	refcount_inc(&h->owners);
	return c;
}

const char *
remit_tool_call_name(const struct remit_tool_call *call)
{
	return call->name;
}

int
remit_tool_call_over_fd(const struct remit_tool_call *call)
{
	return call->hub->ended_fd;
}

static void
end_call(struct remit_tool_call *call, const char *outcome, const char *text,
	 size_t len)
{
	hub_answer(call->hub, call->id, outcome, text, len, true);
	free(call);
}

void
remit_tool_fail(struct remit_tool_call *call, const char *message)
{
	size_t len = message ? strnlen(message, MESSAGE_MAX) : 0;

	/* The code must get valid UTF-8, whatever the tool wrote. */
	len = len ? text_valid_prefix(message, len) : 0;
	if (!len) {
		message = "the tool failed";
		len = strlen(message);
	}
	end_call(call, "error", message, len);
}

void
remit_tool_reply(struct remit_tool_call *call, const char *json, size_t len)
{
	json_auto_t *value = NULL;
	json_error_t where;
	char why[256];

	if (!json) {
		json = "";
		len = 0;
	}
	if (len > TOOL_ANSWER_MAX) {
		snprintf(why, sizeof(why),
			 "the result has %zu bytes (limit %zu)", len,
			 TOOL_ANSWER_MAX);
		remit_tool_fail(call, why);
		return;
	}
	/* Integers of any size are valid for the code. */
	value = json_loadb(json, len,
			   JSON_DECODE_ANY | JSON_ALLOW_NUL |
				   JSON_DECODE_INT_AS_REAL,
			   &where);
	if (!value) {
		snprintf(why, sizeof(why), "the result is not valid JSON: %s",
			 where.text);
		remit_tool_fail(call, why);
		return;
	}
	end_call(call, "ok", json, len);
}
