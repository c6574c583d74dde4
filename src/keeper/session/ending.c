/*
 * session_ending: how a cell or a run ends. Its jail is killed, the facts are
 * collected, files are exported from the dead jail, a line is written to the
 * audit, and the client gets the result.
 */
#include <string.h>
#include <time.h>

#include "keeper/audit.h"
#include "keeper/output/denial.h"
#include "keeper/output/export.h"
#include "keeper/output/network.h"
#include "keeper/output/result.h"
#include "keeper/session/part.h"
#include "keeper/session/task.h"
#include "policy/rules/module_package.h"
#include "wire/result.h"

void
session_kill_jail(struct session *s)
{
	struct jail *j = s->worker ? &s->worker->jail : NULL;

	if (s->state >= SESSION_DYING)
		return;
	if (!s->cell.ended_us)
		s->cell.ended_us = loop_now_us();
	if (!j || !j->init_pid) {
		session_finish(s);
		return;
	}
	if (session_enter(s, SESSION_DYING) < 0)
		return;
	loop_set_timer(&s->keeper->loop, &s->timer, 0);
	/* A killed process cannot report its usage. */
	if (!s->cell.facts.has_wait_status)
		jail_sample(j, &s->cell.exit);
	worker_kill(s->worker);
}

void
session_read_output(struct session *s, struct capture *c)
{
	struct remit_error err;
	/* A process that claims to be done may still be writing. Read at most
	   one pipe buffer (pipe(7)): that covers everything it wrote before the
	   claim. */
	uint64_t before, enough = c->total_bytes + FRAME_PIECE;

	do {
		before = c->total_bytes;
		if (c->fd < 0 || capture_drain(c, &s->client, &err) < 0)
			return;
	} while (!c->ended && c->total_bytes > before &&
		 c->total_bytes < enough);
}

/* Returns what was used since the cell began. */
static uint64_t
subtract_before(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void
read_facts(struct session *s)
{
	const struct cgroup_usage *g = &s->cell.used;
	unsigned details = CGROUP_READ_ALL;
	uint64_t group, own;

	if (!s->worker)
		return;
	/* Each value costs a file. If there was a single process, its own clock
	   has all processor time. A process that reported its end was not
	   killed for lack of memory. */
	if (s->cell.exit.cpu_us && !s->pool->plan.limits.many_processes)
		details &= ~(unsigned)CGROUP_READ_CPU;
	if (s->cell.claim.has_exit_code && !s->cell.facts.has_wait_status &&
	    !s->cell.facts.init_died)
		details &= ~(unsigned)CGROUP_READ_OOM;
	cgroup_read(&s->worker->jail.group, details, &s->cell.used);
	s->cell.facts.oom_kills = g->oom_kills;
	/* The counter of the cgroup lags, and that of the process leaves out
	   children. */
	group = subtract_before(g->cpu_us, s->cell.cpu_before_us);
	own = subtract_before(s->cell.exit.cpu_us, s->cell.own_cpu_before_us);
	s->cell.facts.cpu_us = group > own ? group : own;
}

static void
read_network(struct session *s)
{
	if (!s->worker)
		return;
	s->cell.network = network_copy(s->worker->proxy.ledger);
	network_since(s->cell.network, s->network.before);
	free(s->network.before);
	s->network.before = session_is_opened(s)
				    ? network_copy(s->worker->proxy.ledger)
				    : NULL;
	network_denials(s->cell.network, &s->cell.denials);
}

/* If the proxy has died, the code may have seen reset connections and ended
   because of them, before the keeper noticed the death. */
static void
check_proxy_alive(struct session *s)
{
	struct remit_error err;

	if (!s->worker || proxy_end(&s->worker->proxy))
		return;
	fail(&err, REMIT_E_INTERNAL, "the network proxy died");
	cell_fail(&s->cell, &err);
}

static void
note_run(const struct session *s)
{
	struct journal_run run = {
		.tier = (enum tier)session_policy(s)->tier,
		.status = result_status(s),
		.warm = s->cell.was_warm,
		.code_bytes = s->cell.code_bytes,
		.wall_us = s->cell.began_us
				   ? s->cell.ended_us - s->cell.began_us
				   : 0,
		.cpu_us = s->cell.facts.cpu_us,
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	run.ended_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	memcpy(run.id, s->cell.id, sizeof(run.id));
	journal_add(&s->keeper->journal, &run);
}

/* Adds a denial for the path whose error ended the program, as the code reports
   it, and what to do instead if no policy can add the path. */
static void
note_path(struct session *s)
{
	struct claim *c = &s->cell.claim;
	const char *reason;
	struct denial d;

	if (!c->denied_path || !s->pool)
		return;
	if (!(c->denied_execution &&
	      denial_of_execution(&d, c->denied_path, c->denied_errno,
				  &s->pool->plan)) &&
	    !denial_of_path(&d, c->denied_path, c->denied_errno,
			    &s->pool->plan))
		return;
	denials_add(&s->cell.denials, &d);
	reason = denial_path_reason(c->denied_path, &s->pool->plan);
	if (reason && c->error)
		claim_add_remedy(c, reason);
}

/* Trusted code decides which package provides a missing module, and the advice
   is left out if the plan would refuse the package. */
static void
note_module(struct session *s)
{
	struct claim *c = &s->cell.claim;
	const char *package = c->error && c->missing_module
				      ? module_package_find(c->missing_module)
				      : NULL;

	if (package && s->pool &&
	    plan_accepts_package(&s->pool->plan, &s->keeper->host, package))
		claim_add_package(
			c, package,
			!s->pool->plan.installs ? CLAIM_INSTALL_BEFORE
			: session_has_cells(s) &&
					!task_is_checked(&s->pool->plan)
				? CLAIM_INSTALL_LINE
				: CLAIM_INSTALL_CALL);
}

/* Every result is preceded by its enforcement, even if there was no plan. A
   client of another release must get its refusal as the first frame. */
static int
send_enforcement(struct session *s, struct remit_error *err)
{
	const char *rows =
		s->network.list ? s->network.list->enforcement
		: s->pool	? s->pool->enforcement
				: result_rows[RESULT_ENFORCEMENT].default_json;

	if (s->client.protocol != FRAME_PROTOCOL)
		return 0;
	return link_send(&s->client, FRAME_ENFORCEMENT, rows, strlen(rows),
			 err);
}

/* If the answer cannot be sent completely, close the connection rather than let
   the client wait. */
static void
send_answer(struct session *s)
{
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_RESULT].max);
	struct remit_error err;

	if (result_write(&text, s) < 0)
		text.len = 0;
	else
		session_audit(s, &text);
	if (!text.len || send_enforcement(s, &err) < 0 ||
	    (s->stays && link_send(&s->client, FRAME_STAYS, "", 0, &err) < 0) ||
	    link_send(&s->client, FRAME_RESULT, text.data, text.len, &err) < 0)
		s->client_gone = true; /* if memory is short, the client sees
					  the connection close */
}

void
session_answer(struct session *s)
{
	bool goes_on = s->life == LIFE_OPEN;

	session_end_fork(s);
	if (session_enter(s, goes_on ? SESSION_IDLE : SESSION_DONE) < 0)
		return;
	s->stays = session_client_stays(s);
	send_answer(s);
	if (goes_on) {
		keeper_note_latency(s->keeper, s->requested_us);
		session_go_idle(s);
		return;
	}
	session_flush_client(s);
	/* Remove the jail after the answer was sent, not before. */
	keeper_note_latency(s->keeper, s->requested_us);
	session_detach_worker(s);
	keeper_session_ended(s->keeper, s);
	if (s->client_gone || !link_wants_write(&s->client))
		session_remove(s);
}

void
session_refuse_cell(struct session *s, const struct remit_error *why)
{
	cell_fail(&s->cell, why);
	session_answer(s);
}

void
session_export_or_answer(struct session *s)
{
	if (s->client_gone) {
		session_remove(s);
	} else if (session_export(s)) {
		session_detach_worker(s);
		session_export_more(s);
	} else {
		session_answer(s);
	}
}

static void
collect_facts(struct session *s)
{
	session_read_output(s, &s->out);
	session_read_output(s, &s->err);
	read_facts(s);
}

static void
record_end(struct session *s)
{
	read_network(s);
	note_path(s);
	note_module(s);
	note_run(s);
}

void
session_end_cell(struct session *s)
{
	collect_facts(s);
	record_end(s);
	session_answer(s);
}

void
session_finish(struct session *s)
{
	if (s->client_gone) {
		note_run(s);
		session_remove(s);
		return;
	}
	collect_facts(s);
	check_proxy_alive(s);
	record_end(s);
	if (session_is_opened(s))
		session_note_loss(s);
	session_keep_workspace(s);
	if (session_commit(s)) {
		session_detach_worker(s);
		session_start_commit_timer(s);
	} else {
		session_export_or_answer(s);
	}
}

/* ---- files ---- */

/* Files are exported when everything in the jail is dead: in small steps, so
   that other sessions do not wait, and no faster than the client reads. */

/* How long one step may keep other sessions waiting. */
#define EXPORT_SLICE_US 1000

static bool
exports_files(const struct session *s)
{
	return s->options & SESSION_OPTION_ARTIFACTS && s->pool &&
	       s->pool->plan.exports;
}

bool
session_needs_dead_jail(const struct session *s)
{
	return exports_files(s) || (s->pool && s->pool->plan.write_roots);
}

/* A jail that was never built has no workspace. */
void
session_keep_workspace(struct session *s)
{
	if (exports_files(s) && s->worker && !cell_has_failed(&s->cell))
		s->cell.workspace = take_fd(&s->worker->jail.export);
}

static void
stop_export(struct session *s, const struct remit_error *err)
{
	cell_fail(&s->cell, err);
	s->cell.export->over = true;
}

bool
session_export(struct session *s)
{
	uint64_t time_us = session_policy(s)->artifact_time_ms * 1000;
	struct remit_error err;

	if (s->cell.workspace < 0)
		return false;
	s->cell.export = malloc(sizeof(*s->cell.export));
	if (!s->cell.export) {
		fail_memory(&err, "artifacts");
		cell_fail(&s->cell, &err);
		return false;
	}
	*s->cell.export = (struct export)EXPORT_INIT;
	if (session_enter(s, SESSION_EXPORTING) < 0)
		return false;
	s->clock.deadline_us = loop_now_us() + time_us;
	if (export_open(s->cell.export, &s->pool->plan,
			take_fd(&s->cell.workspace), &err) < 0)
		stop_export(s, &err);
	return true;
}

static int
export_slice(struct session *s, struct remit_error *err)
{
	uint64_t now = loop_now_us(), end = now + EXPORT_SLICE_US;

	while (!s->cell.export->over && now < end &&
	       link_backlog(&s->client) < CLIENT_BACKLOG) {
		if (export_step(s->cell.export, &s->client, err) < 0)
			return -1;
		now = loop_now_us();
	}
	return now < s->clock.deadline_us ? 0
					  : export_stop(s->cell.export, err);
}

void
session_export_more(struct session *s)
{
	uint64_t at = loop_now_us();
	struct remit_error err;

	if (export_slice(s, &err) < 0)
		stop_export(s, &err);
	if (s->cell.export->over) {
		session_answer(s);
		return;
	}
	session_flush_client(s);
	if (s->client_gone) {
		session_remove(s);
		return;
	}
	/* A client that does not read has time until the deadline. */
	if (link_backlog(&s->client) >= CLIENT_BACKLOG)
		at = s->clock.deadline_us;
	loop_set_timer(&s->keeper->loop, &s->timer, at);
}

/* ---- a line for the audit writer ---- */

void
session_hash_code(struct session *s)
{
	if (s->keeper->audit_writer.fd >= 0)
		sha256_text(buf_text(&s->cell.code), s->cell.code.len,
			    s->cell.code_sha256);
}

/* Lists what was sent to the client. Only the client knows where it wrote the
   files. */
static json_t *
artifacts_of(const struct session *s)
{
	own(buf) struct buf list = BUF_INIT(2 << 20);

	if (!s->cell.export ||
	    buf_addf(&list, "[%s]", buf_text(&s->cell.export->given)) < 0)
		return json_array();
	return json_loads(list.data, 0, NULL);
}

int
session_policy_sha256(const struct session *s, char out[SHA256_TEXT])
{
	if (s->network.list)
		return audit_line_policy_sha256(&s->network.list->policy, out);
	if (!s->pool)
		return audit_line_policy_sha256(&s->policy, out);
	/* The key of a pool is its policy in canonical form. */
	sha256_text(s->pool->key, strlen(s->pool->key), out);
	return 0;
}

static int
write_audit_line(const struct session *s, const struct buf *result,
		 struct buf *out)
{
	char policy[SHA256_TEXT];
	json_auto_t *document = json_loads(buf_text(result), 0, NULL);
	struct audit_line_run run = {
		.uid = s->keeper->audit_writer.uid,
		.policy_sha256 = policy,
		.code_sha256 = s->cell.code_sha256,
		.code_bytes = s->cell.code_bytes ? s->cell.code_bytes
						 : s->cell.code.len,
		.result = document,
	};

	if (!document || session_policy_sha256(s, policy) < 0)
		return -1;
	/* The members that the client adds to a result. Only the client knows
	   which calls it answered, and how. */
	if (json_object_set_new(document, "artifacts", artifacts_of(s)) < 0 ||
	    json_object_set_new(document, "calls", json_array()) < 0 ||
	    json_object_set_new(document, "calls_left_out", json_integer(0)) <
		    0)
		return -1;
	return audit_line_write(out, &run);
}

void
session_audit(struct session *s, const struct buf *result)
{
	own(buf) struct buf line = BUF_INIT(frame_rules[FRAME_RESULT].max);
	own(buf) struct buf text = BUF_INIT(frame_rules[FRAME_RESULT].max);

	if (s->keeper->audit_writer.fd < 0 || s->cell.was_audited)
		return;
	/* A client that left before the code started gets no line. */
	if (!result && (!s->cell.began_us || result_write(&text, s) < 0))
		return;
	s->cell.was_audited = true;
	if (!s->cell.code_sha256[0])
		session_hash_code(s);
	if (write_audit_line(s, result ? result : &text, &line) == 0)
		audit_writer_add(&s->keeper->audit_writer, &line);
	else
		audit_writer_lose(&s->keeper->audit_writer);
}
