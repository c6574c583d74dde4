#include "result.h"

#include <string.h>

#include "harvest.h"
#include "network.h"
#include "pool.h"
#include "session.h"
#include "text.h"

/* Written as text, piece by piece: this is on the way of every run. All but
   errors is numbers and words of ours, which need no escaping. */

static int
add_optional(struct buf *out, const char *key, bool has, uint64_t value)
{
	if (!has)
		return buf_addf(out, "\"%s\":null", key);
	return buf_addf(out, "\"%s\":%llu", key, (unsigned long long)value);
}

static int
add_ms(struct buf *out, const char *key, bool has, uint64_t us)
{
	if (!has)
		return buf_addf(out, "\"%s\":null,", key);
	return buf_addf(out, "\"%s\":%llu.%03u,", key,
			(unsigned long long)(us / 1000), (unsigned)(us % 1000));
}

static int
add_usage(struct buf *out, const struct session *s)
{
	bool ran = s->cell.began_us && s->cell.ended_us;
	const struct cgroup_usage *g = &s->cell.used;
	/* A group counts what was used after the process was put into it; the
	   process itself knows what it held before. */
	uint64_t own = (uint64_t)s->cell.exit.max_rss_kib * 1024;
	uint64_t group = g->has_memory ? g->memory_peak_bytes : 0;
	/* Pid 1 is ours, not the code's. */
	uint64_t held = session_held_us(s);
	uint64_t ours = s->pool && tiers[s->pool->plan.tier].bare ? 0 : 1;

	if (buf_addf(out, "\"usage\":{") < 0 ||
	    add_ms(out, "wall_ms", ran, s->cell.ended_us - s->cell.began_us) <
		    0 ||
	    add_ms(out, "cpu_ms", g->has_cpu || s->cell.exit.cpu_us,
		   s->cell.facts.cpu_us) < 0 ||
	    add_optional(out, "memory_peak_bytes", own || group,
			 own > group ? own : group) < 0 ||
	    buf_add(out, ",", 1) < 0 ||
	    add_optional(out, "processes_peak",
			 g->has_pids && g->pids_peak > ours,
			 g->pids_peak - ours) < 0 ||
	    buf_addf(out, ",\"network\":") < 0 ||
	    network_write(out, s->cell.network) < 0)
		return -1;
	return buf_addf(
		out, ",\"tool_calls\":%llu,\"tool_wait_ms\":%llu.%03u},",
		(unsigned long long)s->bridge.calls,
		(unsigned long long)(held / 1000), (unsigned)(held % 1000));
}

/* An error of Remit's own, in the place where claims stand otherwise. */
static json_t *
own_error(const struct remit_error *e)
{
	json_t *error = claim_error_new();

	json_object_set_new(error, "name",
			    json_string(remit_code_name(e->code)));
	json_object_set_new(error, "value",
			    text_to_json(e->message, strlen(e->message)));

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
	case REMIT_E_INSTALL:
		return STATUS_INSTALL_FAILED;
	case REMIT_E_BUSY:
		return STATUS_BUSY;
	default:
		return STATUS_INTERNAL;
	}
}

/* What is a claim of the process, by name. */
static int
add_reported(struct buf *out, const struct session *s, const struct verdict *v)
{
	const struct {
		bool is_claim;
		const char *key;
	} all[] = {
		{ v->status_is_claim, "status" },
		{ v->exit_code_is_claim, "exit_code" },
		{ s->cell.claim.error != NULL && !cell_has_failed(&s->cell),
		  "error" },
		{ s->cell.displays.has_value, "value" },
		{ s->cell.displays.shown > 0, "displays" },
	};
	const char *comma = "";

	if (buf_addf(out, "\"reported\":[") < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (!all[i].is_claim)
			continue;
		if (buf_addf(out, "%s\"%s\"", comma, all[i].key) < 0)
			return -1;
		comma = ",";
	}
	return buf_addf(out, "],");
}

static int
add_error(struct buf *out, json_t *error)
{
	own_mem char *text =
		error ? json_dumps(error,
				   JSON_COMPACT | JSON_REAL_PRECISION(15))
		      : strdup("null");

	if (!text)
		return -1;
	return buf_addf(out, "\"error\":%s,", text);
}

/* "seen": whether the kernel tells of refused calls at all. */
static int
add_denials(struct buf *out, const struct session *s)
{
	const char *seen = s->cell.is_watched ? "true" : "false";

	if (buf_addf(out, "\"denials\":") < 0 ||
	    denials_write(out, &s->cell.denials) < 0)
		return -1;
	return buf_addf(out, ",\"denials_left_out\":%llu,\"denials_seen\":%s,",
			(unsigned long long)s->cell.denials.left_out,
			s->cell.began_us ? seen : "null");
}

static const char *
start_of(const struct session *s)
{
	if (!s->cell.began_us)
		return "null";
	if (s->branch_of[0])
		return "\"branch\"";
	return s->cell.was_warm ? "\"warm\"" : "\"cold\"";
}

/* The artifacts themselves the door writes down, as it has written them. */
static int
add_skipped(struct buf *out, const struct session *s)
{
	return s->cell.harvest ? harvest_write_skipped(s->cell.harvest, out)
			       : buf_add(out, "[]", 2);
}

/* In the words of who has written them. */
static int
add_changes(struct buf *out, const struct session *s)
{
	bool any = s->cell.changes.len > 0;
	const char *done = s->cell.was_committed ? "true" : "false";

	return buf_addf(out, ",%s,\"committed\":%s",
			any ? buf_text(&s->cell.changes)
			    : "\"changes\":[],\"changes_skipped\":[]",
			any ? done : "null");
}

/* Whether the variables are still there, and what a cell says of itself. */
static int
add_session(struct buf *out, const struct session *s)
{
	bool ended = s->loss.code || s->life != LIFE_OPEN;
	const char *quote = s->branch_of[0] ? "\"" : "";

	if (!session_is_open(s))
		return buf_addf(out, ",\"session\":null");
	return buf_addf(out,
			",\"session\":{\"id\":\"%s\",\"cell\":%u,"
			"\"state\":\"%s\",\"incomplete\":%s,"
			"\"branch_of\":%s%s%s}",
			s->open_id, s->cells, ended ? "ended" : "open",
			s->cell.claim.incomplete ? "true" : "false", quote,
			s->branch_of[0] ? s->branch_of : "null", quote);
}

static int
write_result(struct buf *out, const struct session *s, const struct verdict *v,
	     json_t *error)
{
	if (buf_addf(out, "{\"status\":\"%s\",\"tier\":\"%s\",\"start\":%s,",
		     statuses[v->status].name,
		     tiers[session_policy(s)->tier].name, start_of(s)) < 0 ||
	    add_optional(out, "exit_code", v->has_exit_code,
			 (uint64_t)v->exit_code) < 0 ||
	    buf_add(out, ",", 1) < 0 ||
	    add_optional(out, "signal", v->signal != 0, (uint64_t)v->signal) <
		    0 ||
	    buf_addf(out,
		     ",\"stdout\":\"\",\"stderr\":\"\",\"stdout_truncated\":%s,"
		     "\"stderr_truncated\":%s,",
		     capture_is_truncated(&s->out) ? "true" : "false",
		     capture_is_truncated(&s->err) ? "true" : "false") < 0 ||
	    add_error(out, error) < 0 || add_reported(out, s, v) < 0 ||
	    add_usage(out, s) < 0 ||
	    buf_addf(out, "\"displays_left_out\":%llu,",
		     (unsigned long long)s->cell.displays.left_out) < 0)
		return -1;
	if (add_denials(out, s) < 0 ||
	    buf_addf(out, "\"artifacts\":[],\"artifacts_skipped\":") < 0 ||
	    add_skipped(out, s) < 0 || add_changes(out, s) < 0 ||
	    add_session(out, s) < 0)
		return -1;
	/* What was called the door writes down as well. */
	return buf_addf(out,
			",\"calls\":[],\"calls_left_out\":0,"
			"\"run_id\":\"%s\","
			"\"remit_version\":\"%s\",\"remit_exit_code\":%d}",
			s->cell.id, remit_version(),
			status_exit_code(v->status, v->exit_code, v->signal));
}

enum status
result_status(const struct session *s)
{
	struct verdict v;

	if (cell_has_failed(&s->cell))
		return status_of_code(s->cell.error.code);
	verdict_reach(&v, &s->cell.facts, &s->cell.claim);
	return v.status;
}

int
result_write(struct buf *out, const struct session *s)
{
	struct verdict v;
	json_t *error;
	int failed;

	if (!cell_has_failed(&s->cell)) {
		verdict_reach(&v, &s->cell.facts, &s->cell.claim);
		return write_result(out, s, &v, s->cell.claim.error);
	}
	v = (struct verdict){ .status = status_of_code(s->cell.error.code) };
	error = own_error(&s->cell.error);
	failed = write_result(out, s, &v, error);
	json_decref(error);
	return failed;
}
