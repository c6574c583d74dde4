/*
 * e2b_contexts: contexts of a sandbox: namespaces of its interpreter, by id.
 */
#include <stdio.h>
#include <string.h>

#include "client/result_view.h"
#include "serve/e2b/part.h"

/* A request that waits for a cell of this file, or for a new jail. */
struct change {
	struct exchange *x;
	struct sandbox *sb;
	char id[HOSTED_ID_SIZE];
	bool is_new;
	bool is_removed;
};

static json_t *
context_json(const struct context *c)
{
	static const char *const languages[] = {
		[E2B_PYTHON] = "python",
		[E2B_BASH] = "bash",
	};

	return json_pack("{s:s, s:s, s:s}", "id", c->id, "language",
			 languages[c->language], "cwd", c->cwd);
}

/* Returns the context as JSON, or a JSON null if it does not exist. */
static json_t *
find_context_json(struct exchange *x, struct sandbox *sb, const char *id)
{
	struct e2b *all = x->server->e2b;
	struct context *c;
	json_t *doc;

	pthread_mutex_lock(&all->lock);
	c = context_find(sb, id);
	doc = c ? context_json(c) : json_null();
	pthread_mutex_unlock(&all->lock);
	return doc;
}

static void
forget_context(struct exchange *x, struct sandbox *sb, const char *id)
{
	struct e2b *all = x->server->e2b;
	struct context *c;

	pthread_mutex_lock(&all->lock);
	c = context_find(sb, id);
	if (c)
		context_remove(sb, c);
	pthread_mutex_unlock(&all->lock);
}

/* ---- changes made by a cell ---- */

static void
change_free(void *change)
{
	struct change *c = change;

	sandbox_unref(c->sb);
	free(c);
}

static bool
is_ok_result(struct remit_result *res)
{
	return res && !strcmp(remit_result_status(res), "ok");
}

static const char *
failure_text(struct remit_result *res, const struct remit_error *err)
{
	const json_t *error =
		res ? json_object_get(result_view_document(res), "error")
		    : NULL;
	const char *text = json_string_value(json_object_get(error, "value"));

	if (err)
		return err->message;
	return text ? text : "the sandbox has ended";
}

static void
on_changed(void *user, struct remit_result *res, const struct remit_error *err)
{
	struct change *c = user;
	bool failed = res ? !is_ok_result(res) : err != NULL;

	if (failed && c->is_new)
		forget_context(c->x, c->sb, c->id);
	if (c->is_removed && !failed)
		forget_context(c->x, c->sb, c->id);
	if (failed)
		e2b_fail(c->x, 400, "%s", failure_text(res, err));
	else if (c->is_new)
		reply_json(c->x, 200, find_context_json(c->x, c->sb, c->id));
	else
		reply_bytes(c->x, 200, "application/json", "null", 4);
	exchange_unref(c->x);
}

static const struct hosted_events events = { .result = on_changed };

/* Returns NULL after it has sent an error. */
static struct change *
change_new(struct exchange *x, struct sandbox *sb, const char *id)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c) {
		e2b_fail(x, 500, "no memory");
		return NULL;
	}
	c->x = exchange_ref(x);
	c->sb = sandbox_ref(sb);
	snprintf(c->id, sizeof(c->id), "%s", id);
	exchange_own(x, c, change_free);
	return c;
}

static void
run_change(struct change *c, char *code, bool fresh)
{
	struct e2b_job *j = e2b_job_new(c->sb, c->id, code, NULL);
	struct remit_error err;

	if (!j) {
		fail_memory(&err, "context");
		on_changed(c, NULL, &err);
		return;
	}
	j->hosted.job.fresh = fresh;
	if (hosted_cell(c->sb->hosted, &j->hosted, &events, c, NULL, &err) == 0)
		return;
	e2b_job_free(j);
	on_changed(c, NULL, &err);
}

/* ---- requests ---- */

bool
e2b_has_language(struct exchange *x, const struct sandbox *sb,
		 enum e2b_language language)
{
	if (language == E2B_PYTHON || sb->may_start_programs)
		return true;
	e2b_fail(x, 400,
		 "language: bash is a program, and the server's policy allows "
		 "none (--subprocess)");
	return false;
}

void
e2b_get_contexts(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);
	json_t *list = json_array();

	if (!sb) {
		json_decref(list);
		return;
	}
	pthread_mutex_lock(&x->server->e2b->lock);
	for (struct context *c = sb->contexts; c; c = c->next)
		json_array_append_new(list, context_json(c));
	pthread_mutex_unlock(&x->server->e2b->lock);
	sandbox_unref(sb);
	reply_json(x, 200, list);
}

static bool
add_context(struct exchange *x, struct sandbox *sb, const char *id,
	    const char *cwd, enum e2b_language language)
{
	bool added;

	pthread_mutex_lock(&x->server->e2b->lock);
	added = context_add(sb, id, cwd, language) != NULL;
	pthread_mutex_unlock(&x->server->e2b->lock);
	return added;
}

static void
make_context(struct exchange *x, struct sandbox *sb)
{
	const char *wrong = e2b_context_problem(x->json);
	const char *cwd = e2b_request_text(x->json, "cwd");
	enum e2b_language language = E2B_PYTHON;
	char id[HOSTED_ID_SIZE];
	struct remit_error err;
	struct change *c;

	if (wrong || e2b_read_language(x->json, &language) < 0) {
		e2b_fail(x, 400, "%s", wrong);
		return;
	}
	if (!e2b_has_language(x, sb, language))
		return;
	if (hosted_make_id(id, &err) < 0 ||
	    !add_context(x, sb, id, cwd ? cwd : sb->names.items[0], language)) {
		e2b_fail(x, 429, "a sandbox may have at most %d contexts",
			 SANDBOX_CONTEXTS_MAX);
		return;
	}
	if (!cwd) {
		reply_json(x, 200, find_context_json(x, sb, id));
		return;
	}
	c = change_new(x, sb, id);
	if (!c)
		return;
	c->is_new = true;
	run_change(c, e2b_chdir_code(cwd, &sb->names), false);
}

void
e2b_post_context(struct exchange *x)
{
	struct sandbox *sb = e2b_find(x);

	if (sb)
		make_context(x, sb);
	sandbox_unref(sb);
}

static void
restart_context(struct exchange *x, struct sandbox *sb, const char *id)
{
	struct change *c = change_new(x, sb, id);
	struct remit_error err;
	bool is_running;

	if (!c)
		return;
	pthread_mutex_lock(&x->server->e2b->lock);
	is_running = !strcmp(sb->running, id);
	pthread_mutex_unlock(&x->server->e2b->lock);
	if (is_running)
		hosted_interrupt(sb->hosted);
	/* If the jail has ended, all contexts are lost: make a new jail. */
	if (hosted_get_view(sb->hosted).state != HOSTED_ENDED)
		run_change(c, strdup(""), true);
	else if (hosted_reset(sb->hosted, &events, c, &err) < 0)
		on_changed(c, NULL, &err);
}

static bool
is_known(struct exchange *x, struct sandbox *sb, const char *id)
{
	json_auto_t *doc = find_context_json(x, sb, id);

	if (json_is_object(doc))
		return true;
	e2b_fail(x, 404, "Context %.40s not found", id);
	return false;
}

void
e2b_restart_context(struct exchange *x)
{
	const char *id = exchange_param(x, "id");
	struct sandbox *sb = e2b_find(x);

	if (sb && is_known(x, sb, id))
		restart_context(x, sb, id);
	sandbox_unref(sb);
}

/* Deletes the context's variables; the main context itself stays. */
void
e2b_delete_context(struct exchange *x)
{
	const char *id = exchange_param(x, "id");
	struct sandbox *sb = e2b_find(x);
	struct change *c = NULL;

	if (sb && is_known(x, sb, id))
		c = change_new(x, sb, id);
	if (c) {
		c->is_removed = strcmp(id, "main") != 0;
		run_change(c, strdup(""), true);
	}
	sandbox_unref(sb);
}
