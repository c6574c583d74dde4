#include "keeper/output/result.h"

#include <string.h>

#include "base/text.h"
#include "keeper/output/export.h"
#include "keeper/output/network.h"
#include "keeper/pool/pool.h"
#include "keeper/session/session.h"
#include "wire/record.h"
#include "wire/result.h"

/*
 * Members are printed directly, without building a JSON tree, since every run
 * needs a result. Almost all values are numbers and fixed words, which need no
 * escaping.
 */

/* The sources of the members. */
struct ended {
	const struct session *session;
	struct outcome outcome;
	const json_t *error; /* the program's error, or Remit's; NULL: none */
};

static int
add_text(struct buf *out, const char *text)
{
	return buf_add(out, text, strlen(text));
}

static int
add_word(struct buf *out, const char *word)
{
	return word ? buf_addf(out, "\"%s\"", word) : add_text(out, "null");
}

static int
add_yes_no(struct buf *out, bool yes)
{
	return add_text(out, yes ? "true" : "false");
}

static int
add_optional(struct buf *out, bool has, uint64_t value)
{
	if (!has)
		return add_text(out, "null");
	return buf_addf(out, "%llu", (unsigned long long)value);
}

static int
add_ms(struct buf *out, bool has, uint64_t us)
{
	if (!has)
		return add_text(out, "null");
	return buf_addf(out, "%llu.%03u", (unsigned long long)(us / 1000),
			(unsigned)(us % 1000));
}

/* Describes an error of Remit in the form of a program's error. */
static json_t *
remit_error_to_json(const struct remit_error *e)
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

/* ---- the members ---- */

static int
add_status(struct buf *out, const struct ended *e)
{
	return add_word(out, statuses[e->outcome.status].name);
}

static int
add_tier(struct buf *out, const struct ended *e)
{
	return add_word(out, tiers[session_policy(e->session)->tier].name);
}

static int
add_start(struct buf *out, const struct ended *e)
{
	const struct session *s = e->session;

	if (!s->cell.began_us)
		return add_word(out, NULL);
	return add_word(out, s->branch_of[0]	? "branch"
			     : s->cell.was_warm ? "warm"
						: "cold");
}

static int
add_exit_code(struct buf *out, const struct ended *e)
{
	return add_optional(out, e->outcome.has_exit_code,
			    (uint64_t)e->outcome.exit_code);
}

static int
add_signal(struct buf *out, const struct ended *e)
{
	return add_optional(out, e->outcome.signal != 0,
			    (uint64_t)e->outcome.signal);
}

static int
add_stdout_truncated(struct buf *out, const struct ended *e)
{
	return add_yes_no(out, capture_is_truncated(&e->session->out));
}

static int
add_stderr_truncated(struct buf *out, const struct ended *e)
{
	return add_yes_no(out, capture_is_truncated(&e->session->err));
}

static int
add_error(struct buf *out, const struct ended *e)
{
	return e->error ? text_add_json(out, e->error) : add_text(out, "null");
}

/* Lists the members that are claims of the process. */
static int
add_reported(struct buf *out, const struct ended *e)
{
	const struct session *s = e->session;
	const struct {
		bool is_claim;
		const char *name;
	} all[] = {
		{ e->outcome.status_is_claim, "\"status\"" },
		{ e->outcome.exit_code_is_claim, "\"exit_code\"" },
		{ s->cell.claim.error != NULL && !cell_has_failed(&s->cell),
		  "\"error\"" },
		{ s->cell.displays.has_value, "\"value\"" },
		{ s->cell.displays.shown > 0, "\"displays\"" },
	};
	const char *mark = "[";

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (!all[i].is_claim)
			continue;
		if (add_text(out, mark) < 0 || add_text(out, all[i].name) < 0)
			return -1;
		mark = ",";
	}
	return add_text(out, *mark == '[' ? "[]" : "]");
}

static int
add_memory_peak(struct buf *out, const struct session *s)
{
	const struct cgroup_usage *g = &s->cell.used;
	/* The cgroup does not count memory that the process used before it
	   joined; the process does. */
	uint64_t own = (uint64_t)s->cell.exit.max_rss_kib * 1024;
	uint64_t group = g->has_memory ? g->memory_peak_bytes : 0;

	return add_optional(out, own || group, own > group ? own : group);
}

static int
add_processes_peak(struct buf *out, const struct session *s)
{
	const struct cgroup_usage *g = &s->cell.used;
	/* Pid 1 belongs to Remit, not to the code. */
	uint64_t ours = s->pool && tiers[s->pool->plan.tier].bare ? 0 : 1;

	return add_optional(out, g->has_pids && g->pids_peak > ours,
			    g->pids_peak - ours);
}

static int
add_usage(struct buf *out, const struct ended *e)
{
	const struct session *s = e->session;
	bool ran = s->cell.began_us && s->cell.ended_us;
	bool has_cpu = s->cell.used.has_cpu || s->cell.exit.cpu_us;

	if (add_text(out, "{\"wall_ms\":") < 0 ||
	    add_ms(out, ran, s->cell.ended_us - s->cell.began_us) < 0 ||
	    add_text(out, ",\"cpu_ms\":") < 0 ||
	    add_ms(out, has_cpu, s->cell.facts.cpu_us) < 0 ||
	    add_text(out, ",\"memory_peak_bytes\":") < 0 ||
	    add_memory_peak(out, s) < 0 ||
	    add_text(out, ",\"processes_peak\":") < 0 ||
	    add_processes_peak(out, s) < 0 ||
	    add_text(out, ",\"network\":") < 0 ||
	    network_write(out, s->cell.network) < 0 ||
	    add_text(out, ",\"tool_calls\":") < 0 ||
	    add_optional(out, true, s->bridge.calls) < 0 ||
	    add_text(out, ",\"tool_wait_ms\":") < 0 ||
	    add_ms(out, true, session_paused_us(s)) < 0)
		return -1;
	return buf_add(out, "}", 1);
}

static int
add_displays_left_out(struct buf *out, const struct ended *e)
{
	return add_optional(out, true, e->session->cell.displays.left_out);
}

static int
add_denials(struct buf *out, const struct ended *e)
{
	return denials_write(out, &e->session->cell.denials);
}

static int
add_denials_left_out(struct buf *out, const struct ended *e)
{
	return add_optional(out, true, e->session->cell.denials.left_out);
}

/* Says whether the kernel reported refused calls at all. */
static int
add_denials_seen(struct buf *out, const struct ended *e)
{
	if (!e->session->cell.began_us)
		return add_text(out, "null");
	return add_yes_no(out, e->session->cell.is_watched);
}

/* The library lists the artifacts that it has written; these are the others. */
static int
add_artifacts_skipped(struct buf *out, const struct ended *e)
{
	const struct export *h = e->session->cell.export;

	return h ? export_write_skipped(h, out) : add_text(out, "[]");
}

/* Copies a list that the committer has written. */
static int
add_list_of_changes(struct buf *out, const struct session *s, const char *name)
{
	const struct buf *b = &s->cell.changes;
	struct record r;
	size_t at = 0;

	while (record_next(buf_text(b), b->len, &at, &r))
		if (!strcmp(r.key, name))
			return add_text(out, r.value);
	return add_text(out, "[]");
}

static int
add_changes(struct buf *out, const struct ended *e)
{
	return add_list_of_changes(out, e->session, "changes");
}

static int
add_changes_skipped(struct buf *out, const struct ended *e)
{
	return add_list_of_changes(out, e->session, "changes_skipped");
}

static int
add_committed(struct buf *out, const struct ended *e)
{
	if (!e->session->cell.changes.len)
		return add_text(out, "null");
	return add_yes_no(out, e->session->cell.was_committed);
}

/* The packages that were installed while the code ran. */
static int
add_installed(struct buf *out, const struct ended *e)
{
	const struct list *l = &e->session->cell.installed;

	if (add_text(out, "[") < 0)
		return -1;
	/* Their names have only plain characters. */
	for (size_t i = 0; i < l->count; i++)
		if (buf_addf(out, "%s\"%s\"", i ? "," : "", l->items[i]) < 0)
			return -1;
	return add_text(out, "]");
}

/* Says whether the session still has its variables, and what the cell reports
   about itself. */
static int
add_session(struct buf *out, const struct ended *e)
{
	const struct session *s = e->session;
	bool ended = s->loss.code || s->life != LIFE_OPEN;

	if (!session_has_cells(s))
		return add_text(out, "null");
	if (buf_addf(out,
		     "{\"id\":\"%s\",\"cell\":%u,\"state\":\"%s\","
		     "\"incomplete\":%s,\"branch_of\":",
		     s->open_id, s->cells, ended ? "ended" : "open",
		     s->cell.claim.incomplete ? "true" : "false") < 0 ||
	    add_word(out, s->branch_of[0] ? s->branch_of : NULL) < 0)
		return -1;
	return buf_add(out, "}", 1);
}

static int
add_run_id(struct buf *out, const struct ended *e)
{
	return add_word(out, e->session->cell.id);
}

static int
add_remit_version(struct buf *out, const struct ended *e)
{
	(void)e;
	return add_word(out, remit_version());
}

static int
add_remit_exit_code(struct buf *out, const struct ended *e)
{
	const struct outcome *v = &e->outcome;

	return buf_addf(out, "%d",
			status_exit_code(v->status, v->exit_code, v->signal));
}

/* The keeper's rows of result_rows[], and no others, have a writer. */
static int (*const writers[RESULT_MEMBERS])(struct buf *out,
					    const struct ended *e) = {
	[RESULT_STATUS] = add_status,
	[RESULT_TIER] = add_tier,
	[RESULT_START] = add_start,
	[RESULT_EXIT_CODE] = add_exit_code,
	[RESULT_SIGNAL] = add_signal,
	[RESULT_STDOUT_TRUNCATED] = add_stdout_truncated,
	[RESULT_STDERR_TRUNCATED] = add_stderr_truncated,
	[RESULT_ERROR] = add_error,
	[RESULT_REPORTED] = add_reported,
	[RESULT_USAGE] = add_usage,
	[RESULT_DISPLAYS_LEFT_OUT] = add_displays_left_out,
	[RESULT_DENIALS] = add_denials,
	[RESULT_DENIALS_LEFT_OUT] = add_denials_left_out,
	[RESULT_DENIALS_SEEN] = add_denials_seen,
	[RESULT_ARTIFACTS_SKIPPED] = add_artifacts_skipped,
	[RESULT_CHANGES] = add_changes,
	[RESULT_CHANGES_SKIPPED] = add_changes_skipped,
	[RESULT_COMMITTED] = add_committed,
	[RESULT_INSTALLED] = add_installed,
	[RESULT_SESSION] = add_session,
	[RESULT_RUN_ID] = add_run_id,
	[RESULT_REMIT_VERSION] = add_remit_version,
	[RESULT_REMIT_EXIT_CODE] = add_remit_exit_code,
};

static int
write_members(struct buf *out, const struct ended *e)
{
	if (buf_add(out, "{", 1) < 0)
		return -1;
	for (size_t i = 0; i < RESULT_MEMBERS; i++)
		if (writers[i] &&
		    (text_add_name(out, result_rows[i].name) < 0 ||
		     writers[i](out, e) < 0))
			return -1;
	return buf_add(out, "}", 1);
}

enum status
result_status(const struct session *s)
{
	struct outcome v;

	if (cell_has_failed(&s->cell))
		return status_of_code(s->cell.error.code);
	outcome_decide(&v, &s->cell.facts, &s->cell.claim);
	return v.status;
}

int
result_write(struct buf *out, const struct session *s)
{
	struct ended e = { .session = s, .error = s->cell.claim.error };
	json_auto_t *error = NULL;

	if (cell_has_failed(&s->cell)) {
		e.outcome.status = status_of_code(s->cell.error.code);
		e.error = error = remit_error_to_json(&s->cell.error);
		if (!error)
			return -1;
	} else {
		outcome_decide(&e.outcome, &s->cell.facts, &s->cell.claim);
	}
	return write_members(out, &e);
}
