#include "result.h"

#include <string.h>

#include "pool.h"
#include "session.h"
#include "text.h"

static json_t *
optional(bool has, uint64_t value)
{
	return has ? json_integer((json_int_t)value) : json_null();
}

/* A group counts what was used after the process was put into it; the process
   itself knows what it held before. */
static json_t *
memory_peak(const struct session *s, const struct cgroup_usage *g)
{
	uint64_t own = (uint64_t)s->exit.max_rss_kib * 1024;
	uint64_t group = g->has_memory ? g->memory_peak_bytes : 0;

	return optional(own || group, own > group ? own : group);
}

static json_t *
usage_of(const struct session *s)
{
	bool ran = s->began_us && s->ended_us;
	const struct cgroup_usage *g = &s->used;

	return json_pack(
		"{s:o, s:o, s:o, s:o}", "wall_ms",
		ran ? json_real((double)(s->ended_us - s->began_us) / 1000)
		    : json_null(),
		"cpu_ms",
		g->has_cpu || s->exit.cpu_us
			? json_real((double)s->facts.cpu_us / 1000)
			: json_null(),
		"memory_peak_bytes", memory_peak(s, g),
		/* Pid 1 is ours, not the code's. */
		"processes_peak",
		optional(g->has_pids && g->pids_peak > 1, g->pids_peak - 1));
}

/* An error of Remit's own, in the place where claims stand otherwise. */
static json_t *
own_error(const struct remit_error *e)
{
	json_t *error = json_pack("{s:s, s:o, s:s, s:n}", "name",
				  remit_code_name(e->code), "value",
				  text_to_json(e->message, strlen(e->message)),
				  "traceback", "", "line");

	if (e->code == REMIT_E_ELSEWHERE)
		json_object_set_new(error, "elsewhere", json_true());
	if (e->where[0])
		json_object_set_new(error, "where", json_string(e->where));
	if (e->remedy[0])
		json_object_set_new(error, "remedy", json_string(e->remedy));
	return error;
}

static enum status
status_of_code(enum remit_code code)
{
	switch (code) {
	case REMIT_E_INPUT:
	case REMIT_E_REFUSED:
	case REMIT_E_ELSEWHERE:
		return STATUS_REFUSED;
	case REMIT_E_BUSY:
		return STATUS_BUSY;
	default:
		return STATUS_INTERNAL;
	}
}

static json_t *
start_of(const struct session *s)
{
	if (!s->began_us)
		return json_null();
	return json_string(s->was_warm ? "warm" : "cold");
}

static json_t *
make(const struct session *s, const struct verdict *v, json_t *error,
     json_t *reported)
{
	return json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:b, s:b, s:o, s:o, s:o, "
		"s:[], s:[], s:s, s:s, s:i}",
		"status", statuses[v->status].name, "tier",
		tiers[session_policy(s)->tier].name, "start", start_of(s),
		"exit_code",
		v->has_exit_code ? json_integer(v->exit_code) : json_null(),
		"signal", v->signal ? json_integer(v->signal) : json_null(),
		"stdout", "", "stderr", "", "stdout_truncated",
		capture_is_truncated(&s->out), "stderr_truncated",
		capture_is_truncated(&s->err), "error", error, "reported",
		reported, "usage", usage_of(s), "denials", "artifacts",
		"run_id", s->id, "remit_version", remit_version(),
		"remit_exit_code",
		status_exit_code(v->status, v->exit_code, v->signal));
}

static json_t *
make_by_verdict(const struct session *s)
{
	json_t *reported = json_array();
	struct verdict v;

	if (s->failed) {
		v = (struct verdict){
			.status = status_of_code(s->error.code),
		};
		return make(s, &v, own_error(&s->error), reported);
	}
	verdict_reach(&v, &s->facts, &s->claim);
	if (v.status_is_claim)
		json_array_append_new(reported, json_string("status"));
	if (v.exit_code_is_claim)
		json_array_append_new(reported, json_string("exit_code"));
	if (s->claim.error)
		json_array_append_new(reported, json_string("error"));
	return make(s, &v,
		    s->claim.error ? json_incref(s->claim.error) : json_null(),
		    reported);
}

int
result_write(struct buf *out, const struct session *s)
{
	/* A quote inside a string is escaped: this is no part of one. */
	static const char next[] = ",\"denials\":";
	json_t *result = make_by_verdict(s);
	own_mem char *text =
		json_dumps(result, JSON_COMPACT | JSON_REAL_PRECISION(15));
	const char *at = text ? strstr(text, next) : NULL;

	json_decref(result);
	/* The same for all runs of a pool, and long: it is text already. */
	if (!at || buf_add(out, text, (size_t)(at - text)) < 0 ||
	    buf_addf(out, ",\"enforcement\":%s",
		     s->pool ? s->pool->enforcement : "[]") < 0)
		return -1;
	return buf_add(out, at, strlen(at));
}
