#include "serve/e2b/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "remit.h"
#include "serve/e2b/part.h"

/* ---- samples ---- */

static uint64_t
member_number(const json_t *doc, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(doc, name));

	return n > 0 ? (uint64_t)n : 0;
}

void
usage_add(struct usage *u, const json_t *session, uint64_t now_ms,
	  uint64_t begun_ms, uint64_t cpus)
{
	const struct usage_sample *last =
		u->count ? &u->samples[(u->count - 1) % USAGE_SAMPLES] : NULL;
	uint64_t since_ms = last ? last->at_ms : begun_ms;
	uint64_t cpu_before = last ? last->cpu_ms : 0;
	const json_t *charged = json_object_get(session, "charged_bytes");
	struct usage_sample s = {
		.at_ms = now_ms,
		.cpu_ms = member_number(session, "cpu_ms"),
		.cache_bytes = member_number(session, "cache_bytes"),
		.disk_bytes = member_number(session, "disk_used_bytes"),
		/* Without a memory cgroup: of the interpreter alone. */
		.memory_bytes = member_number(
			session, json_is_integer(charged) ? "charged_bytes"
							  : "memory_bytes"),
	};

	/* A jail that was replaced counts from zero. */
	if (s.cpu_ms < cpu_before)
		cpu_before = 0;
	if (now_ms > since_ms && cpus)
		s.cpu_percent = 100.0 * (double)(s.cpu_ms - cpu_before) /
				(double)(now_ms - since_ms) / (double)cpus;
	if (s.cpu_percent > 100)
		s.cpu_percent = 100;
	u->samples[u->count++ % USAGE_SAMPLES] = s;
}

/* ---- the thread ---- */

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Called with the lock held. */
static void
add_samples(struct e2b *e, const json_t *sessions)
{
	uint64_t now = now_ms();
	const json_t *one;
	size_t i;

	for (struct sandbox *sb = e->first; sb; sb = sb->next) {
		char id[HOSTED_SESSION_ID_SIZE] = "";

		if (sb->hosted)
			hosted_get_session_id(sb->hosted, id);
		json_array_foreach(sessions, i, one)
		{
			const char *name =
				json_string_value(json_object_get(one, "id"));

			if (id[0] && name && !strcmp(id, name))
				usage_add(
					&sb->usage, one, now,
					hosted_get_view(sb->hosted).created_ms,
					sb->cpus);
		}
	}
}

static void
sample_all(struct e2b *e)
{
	own_mem char *text = NULL;
	struct remit_error err;
	json_t *doc;

	/* A keeper that has just ended has no sessions either. */
	if (remit_status(e->sampler.remit, &text, &err) < 0)
		return;
	doc = json_loads(text, 0, NULL);
	pthread_mutex_lock(&e->lock);
	add_samples(e, json_object_get(doc, "sessions"));
	pthread_mutex_unlock(&e->lock);
	json_decref(doc);
}

/* Waits until the next sample is due. Returns false at the end. Called with the
   lock held. */
static bool
wait_for_turn(struct e2b *e)
{
	struct usage_sampler *s = &e->sampler;
	struct timespec until;
	int late = 0;

	while (!e->first && !s->ends)
		pthread_cond_wait(&s->changed, &e->lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += USAGE_PERIOD_MS / 1000;
	while (!s->ends && !late)
		late = pthread_cond_timedwait(&s->changed, &e->lock, &until);
	return !s->ends;
}

static void *
run_sampler(void *user)
{
	struct e2b *e = user;
	bool goes_on;

	do {
		pthread_mutex_lock(&e->lock);
		goes_on = wait_for_turn(e);
		pthread_mutex_unlock(&e->lock);
		if (goes_on)
			sample_all(e);
	} while (goes_on);
	return NULL;
}

void
usage_wake(struct e2b *e, struct remit *remit)
{
	struct usage_sampler *s = &e->sampler;
	pthread_condattr_t attr;

	if (s->is_running) {
		pthread_cond_signal(&s->changed);
		return;
	}
	s->remit = remit;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	/* Without the thread there are no samples, which a client accepts. */
	s->is_running = pthread_create(&s->thread, NULL, run_sampler, e) == 0;
}

void
usage_end(struct e2b *e)
{
	struct usage_sampler *s = &e->sampler;

	if (!s->is_running)
		return;
	pthread_mutex_lock(&e->lock);
	s->ends = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&e->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->changed);
}

/* ---- the reply ---- */

static json_t *
sample_json(const struct usage_sample *s, const struct sandbox *sb)
{
	return json_pack("{s:o, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}",
			 "timestamp", e2b_time_json(s->at_ms), "timestampUnix",
			 (json_int_t)(s->at_ms / 1000), "cpuCount",
			 (json_int_t)sb->cpus, "cpuUsedPct", s->cpu_percent,
			 "memUsed", (json_int_t)s->memory_bytes, "memTotal",
			 (json_int_t)sb->memory_bytes, "memCache",
			 (json_int_t)s->cache_bytes, "diskUsed",
			 (json_int_t)s->disk_bytes, "diskTotal",
			 (json_int_t)sb->disk_bytes);
}

/* Parses seconds since 1970. */
static int
parse_second(struct exchange *x, const char *name, uint64_t *second)
{
	const char *text = exchange_query(x, name);

	return text ? number_parse(second, text) : 0;
}

void
e2b_get_usage(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	uint64_t from = 0, to = UINT64_MAX, first;
	json_t *all;

	if (!sb)
		return;
	if (parse_second(x, "start", &from) < 0 ||
	    parse_second(x, "end", &to) < 0) {
		e2b_fail(x, 400, "start and end must be seconds since 1970");
		sandbox_unref(sb);
		return;
	}
	all = json_array();
	pthread_mutex_lock(&x->server->e2b->lock);
	first = sb->usage.count > USAGE_SAMPLES
			? sb->usage.count - USAGE_SAMPLES
			: 0;
	for (uint64_t i = first; i < sb->usage.count; i++) {
		const struct usage_sample *s =
			&sb->usage.samples[i % USAGE_SAMPLES];

		if (s->at_ms / 1000 >= from && s->at_ms / 1000 <= to)
			json_array_append_new(all, sample_json(s, sb));
	}
	pthread_mutex_unlock(&x->server->e2b->lock);
	reply_json(x, 200, all);
	sandbox_unref(sb);
}
