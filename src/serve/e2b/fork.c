/*
 * e2b_fork: makes copies of a live sandbox, each of which is a separate
 * sandbox.
 */
#include <stdio.h>
#include <string.h>

#include "serve/e2b/part.h"
#include "serve/native/request.h"

#define FORKS_MAX 8

struct forking {
	struct exchange *x;
	struct sandbox *sb;
	struct hosted *branch;
	uint64_t left;
	json_t *made;
	uint64_t life_ms;
};

static void
forking_free(void *forking)
{
	struct forking *f = forking;

	sandbox_unref(f->sb);
	json_decref(f->made);
	free(f);
}

static struct sandbox *
copy_sandbox(struct forking *f)
{
	struct sandbox *to = sandbox_new(f->sb->key), *from = f->sb;
	struct e2b *e = f->x->server->e2b;

	if (!to)
		return NULL;
	to->metadata = json_incref(from->metadata);
	to->env = json_incref(from->env);
	if (sandbox_set_names(to, &from->names) < 0) {
		sandbox_unref(to);
		return NULL;
	}
	to->cpus = from->cpus;
	to->memory_bytes = from->memory_bytes;
	to->disk_bytes = from->disk_bytes;
	to->input_bytes = from->input_bytes;
	to->why_no_ports = from->why_no_ports;
	to->has_public_ports = from->has_public_ports;
	to->has_secrets = from->has_secrets;
	memcpy(to->template, from->template, sizeof(to->template));
	pthread_mutex_lock(&e->lock);
	to->wishes = json_incref(from->wishes);
	for (struct context *c = from->contexts->next; c; c = c->next)
		context_add(to, c->id, c->cwd, c->language);
	pthread_mutex_unlock(&e->lock);
	snprintf(to->id, sizeof(to->id), "%s", hosted_id(f->branch));
	to->hosted = take_ptr(&f->branch);
	return to;
}

static void forking_on_forked(void *user, struct remit_result *res,
			      const struct remit_error *err);

static void
fork_more(struct forking *f)
{
	static const struct hosted_events events = {
		.result = forking_on_forked
	};
	struct remit_error err;

	if (!f->left) {
		reply_json(f->x, 201, json_incref(f->made));
		exchange_unref(f->x);
	} else if (hosted_fork(f->sb->hosted, &events, f, &f->branch, &err) <
		   0) {
		forking_on_forked(f, NULL, &err);
	}
}

static void
forking_on_forked(void *user, struct remit_result *res,
		  const struct remit_error *err)
{
	struct forking *f = user;
	struct sandbox *copy = err ? NULL : copy_sandbox(f);

	(void)res;
	f->left--;
	if (copy) {
		hosted_set_life(copy->hosted, f->life_ms);
		sandbox_add(f->x, copy);
		json_array_append_new(f->made, json_pack("{s:o}", "sandbox",
							 e2b_made_json(copy)));
		sandbox_unref(copy);
	} else {
		json_array_append_new(
			f->made,
			json_pack("{s:{s:i, s:s}}", "error", "code", 400,
				  "message", err ? err->message : "no memory"));
		hosted_unref(take_ptr(&f->branch));
	}
	fork_more(f);
}

void
e2b_post_fork(struct exchange *x)
{
	struct sandbox *sb = e2b_find_named(x);
	const json_t *count = json_object_get(x->json, "count");
	struct forking *f = sb ? calloc(1, sizeof(*f)) : NULL;
	struct remit_error err;

	if (!f) {
		sandbox_unref(sb);
		if (sb)
			e2b_fail(x, 500, "no memory");
		return;
	}
	*f = (struct forking){ .x = x, .sb = sb, .made = json_array() };
	exchange_own(x, f, forking_free);
	f->left = json_is_integer(count) ? (uint64_t)json_integer_value(count)
					 : 1;
	if (f->left < 1 || f->left > FORKS_MAX) {
		e2b_fail(x, 400, "count: must be from 1 to %d", FORKS_MAX);
		return;
	}
	if (e2b_parse_life(x->json, &f->life_ms, &err) < 0 ||
	    hosted_table_check_share(x->server->hosted_table, x->owner, f->left,
				     sb->memory_bytes, &err) < 0) {
		e2b_error(x, &err);
		return;
	}
	exchange_ref(x);
	fork_more(f);
}
