#include "keeper/session/cell.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/loop.h"
#include "base/number.h"
#include "keeper/output/export.h"
#include "wire/record.h"

void
cell_make_id(char out[24])
{
	uint64_t noise = 0;

	if (getrandom(&noise, sizeof(noise), 0) < 0)
		noise = loop_now_us();
	snprintf(out, 24, "%016llx", (unsigned long long)noise);
}

void
cell_fail(struct cell *c, const struct remit_error *why)
{
	if (!cell_has_failed(c))
		c->error = *why;
}

bool
cell_has_failed(const struct cell *c)
{
	return c->error.code != REMIT_OK;
}

/* ---- its job ---- */

static int
set_text(char **at, const char *value, struct remit_error *err)
{
	free(*at);
	*at = strdup(value);
	return *at ? 0 : fail_memory(err, "job");
}

static int
set_name(struct cell *c, const char *value, struct remit_error *err)
{
	return set_text(&c->name, value, err);
}

static int
add_argv(struct cell *c, const char *value, struct remit_error *err)
{
	return list_add(&c->argv, value) < 0 ? fail_memory(err, "argv") : 0;
}

static int
add_env(struct cell *c, const char *value, struct remit_error *err)
{
	return list_add(&c->env, value) < 0 ? fail_memory(err, "env") : 0;
}

static int
set_context(struct cell *c, const char *value, struct remit_error *err)
{
	return set_text(&c->context, value, err);
}

int
cell_set_tenant(struct cell *c, const char *name, struct remit_error *err)
{
	return set_text(&c->tenant, name, err);
}

static int
set_timeout(struct cell *c, const char *value, struct remit_error *err)
{
	if (number_parse(&c->timeout_ms, value) < 0 ||
	    c->timeout_ms > UINT64_MAX / 4000)
		return fail(err, REMIT_E_PROTOCOL,
			    "timeout_ms is not a valid time");
	return 0;
}

static int
set_questions(struct cell *c, const char *value, struct remit_error *err)
{
	(void)value;
	(void)err;
	c->can_answer = true;
	return 0;
}

static int
set_interactive(struct cell *c, const char *value, struct remit_error *err)
{
	(void)value;
	(void)err;
	c->interactive = true;
	return 0;
}

static int
set_fresh(struct cell *c, const char *value, struct remit_error *err)
{
	(void)value;
	(void)err;
	c->fresh = true;
	return 0;
}

enum job_scope { OF_BOTH, OF_RUNS, OF_CELLS };

static const struct job_key {
	const char *key;
	enum job_scope scope;
	unsigned option;
	int (*set)(struct cell *c, const char *value, struct remit_error *err);
} job_keys[] = {
	{ "name", .set = set_name },
	{ "argv", .set = add_argv },
	{ "tenant", .set = cell_set_tenant },
	{ "timeout_ms", .set = set_timeout },
	{ "questions", .set = set_questions },
	{ "once", .option = SESSION_OPTION_ONCE },
	{ "artifacts", OF_RUNS, .option = SESSION_OPTION_ARTIFACTS },
	{ "stays", OF_RUNS, .option = SESSION_OPTION_STAYS },
	{ "interactive", OF_CELLS, .set = set_interactive },
	{ "context", OF_CELLS, .set = set_context },
	{ "env", OF_CELLS, .set = add_env },
	{ "fresh", OF_CELLS, .set = set_fresh },
};

static const struct job_key *
job_key_find(const char *key, bool many)
{
	enum job_scope other = many ? OF_RUNS : OF_CELLS;

	for (size_t i = 0; i < ARRAY_LEN(job_keys); i++)
		if (!strcmp(job_keys[i].key, key))
			return job_keys[i].scope == other ? NULL : &job_keys[i];
	return NULL;
}

int
cell_parse_job(struct cell *c, const struct frame *f, bool many,
	       unsigned *options, struct remit_error *err)
{
	struct record r;
	size_t at = 0;

	c->arrival = CELL_ARRIVING;
	c->can_answer = false;
	if (record_check(f->payload, f->len, err) < 0)
		return -1;
	while (record_next(f->payload, f->len, &at, &r)) {
		const struct job_key *k = job_key_find(r.key, many);

		if (!k)
			return fail(err, REMIT_E_PROTOCOL,
				    "unknown member \"%.40s\" in a job", r.key);
		*options |= k->option;
		if (k->set && k->set(c, r.value, err) < 0)
			return -1;
	}
	return 0;
}

int
cell_add_code(struct cell *c, const struct frame *f, uint64_t max_bytes,
	      struct remit_error *err)
{
	if (c->code.len + f->len > max_bytes)
		return fail(err, REMIT_E_INPUT,
			    "the code is longer than code_bytes allows (%llu "
			    "bytes)",
			    (unsigned long long)max_bytes);
	if (buf_add(&c->code, f->payload, f->len) < 0)
		return fail_memory(err, "code");
	return 0;
}

/* ---- its end ---- */

void
cell_free(struct cell *c)
{
	free(c->name);
	list_free(&c->argv);
	list_free(&c->env);
	free(c->context);
	free(c->tenant);
	buf_free(&c->code);
	inputs_free(&c->files);
	feed_free(&c->input);
	claim_free(&c->claim);
	denials_free(&c->denials);
	list_free(&c->installed);
	free(c->network);
	own_fd_close(&c->workspace);
	if (c->export)
		export_free(c->export);
	free(c->export);
	buf_free(&c->changes);
}

/* ---- its clock ---- */

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Returns how long the pause in progress has stopped the clock, up to the
   maximum. */
static uint64_t
current_pause_us(const struct cell_clock *c, uint64_t now_us)
{
	uint64_t since = c->pauses ? now_us - c->paused_at_us : 0;

	return since < c->pause_left_us ? since : c->pause_left_us;
}

void
cell_clock_start(struct cell_clock *c, uint64_t deadline_us,
		 uint64_t pause_left_us)
{
	c->deadline_us = deadline_us;
	c->pauses = 0;
	c->paused_us = 0;
	c->pause_left_us = pause_left_us;
}

void
cell_clock_pause(struct cell_clock *c, uint64_t now_us)
{
	if (c->pauses++ == 0)
		c->paused_at_us = now_us;
}

/* Does not set the timer: if it rings too early, it is set again. */
void
cell_clock_resume(struct cell_clock *c, uint64_t now_us)
{
	uint64_t stood = current_pause_us(c, now_us);

	if (!c->pauses || --c->pauses)
		return;
	c->paused_us += now_us - c->paused_at_us;
	c->pause_left_us -= stood;
	if (c->deadline_us && !c->cut_short)
		c->deadline_us += stood;
}

void
cell_clock_extend(struct cell_clock *c, uint64_t us)
{
	c->pause_left_us += us;
}

void
cell_clock_retract(struct cell_clock *c, uint64_t us)
{
	c->pause_left_us -= us < c->pause_left_us ? us : c->pause_left_us;
}

uint64_t
cell_clock_paused_us(const struct cell_clock *c, uint64_t until_us)
{
	return c->paused_us + (c->pauses ? until_us - c->paused_at_us : 0);
}

void
cell_clock_cut_short(struct cell_clock *c, uint64_t at_us)
{
	c->cut_short = true;
	c->deadline_us = earlier(c->deadline_us, at_us);
}

uint64_t
cell_clock_deadline(const struct cell_clock *c)
{
	if (!c->deadline_us || !c->pauses || c->cut_short)
		return c->deadline_us;
	return c->deadline_us + c->pause_left_us;
}

uint64_t
cell_clock_next(const struct cell_clock *c)
{
	uint64_t at = earlier(cell_clock_deadline(c), c->cpu_check_us);

	return earlier(at, c->output_us);
}
