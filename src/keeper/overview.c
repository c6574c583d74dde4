#include "keeper/overview.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/proc.h"
#include "keeper/keeper.h"
#include "keeper/pool/pool.h"
#include "keeper/pool/zygote_server.h"
#include "keeper/session/part.h"
#include "keeper/session/session.h"

/* ---- the journal ---- */

void
journal_add(struct journal *j, const struct journal_run *run)
{
	j->runs[j->count++ % JOURNAL_RUNS] = *run;
}

static json_t *
run_to_json(const struct journal_run *r)
{
	return json_pack("{s:s, s:f, s:s, s:s, s:s, s:I, s:f, s:f}", "run_id",
			 r->id, "ended", (double)r->ended_ms / 1e3, "status",
			 statuses[r->status].name, "tier", tiers[r->tier].name,
			 "start", r->warm ? "warm" : "cold", "code_bytes",
			 (json_int_t)r->code_bytes, "wall_ms",
			 (double)r->wall_us / 1e3, "cpu_ms",
			 (double)r->cpu_us / 1e3);
}

json_t *
journal_to_json(const struct journal *j)
{
	uint64_t first = j->count > JOURNAL_RUNS ? j->count - JOURNAL_RUNS : 0;
	json_t *all = json_array();

	for (uint64_t i = first; i < j->count; i++)
		json_array_append_new(all,
				      run_to_json(&j->runs[i % JOURNAL_RUNS]));
	return all;
}

/* ---- the overview ---- */

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static json_t *
latency_of(const struct keeper *k)
{
	uint64_t all = k->latency_count;
	size_t n = all < KEEPER_LATENCIES ? all : KEEPER_LATENCIES;
	uint32_t sorted[KEEPER_LATENCIES];

	if (!n)
		return json_pack("{s:i, s:n, s:n, s:n}", "count", 0, "p50",
				 "p95", "p99");
	memcpy(sorted, k->latencies_us, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), by_number);
	return json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)all,
			 "p50", (json_int_t)sorted[n / 2], "p95",
			 (json_int_t)sorted[n * 95 / 100], "p99",
			 (json_int_t)sorted[n * 99 / 100]);
}

static const char *
state_of(const struct session *s)
{
	if (s->loss.code)
		return "ended";
	return s->state == SESSION_IDLE ? "idle" : "busy";
}

static json_t *
number_or_null(bool is_known, uint64_t n)
{
	return is_known ? json_integer((json_int_t)n) : json_null();
}

/* What the writable directories of a jail contain. The path is resolved in the
   jail's root, which is read-only, so the code cannot change where it leads. */
static bool
read_disk(pid_t pid, const char *workspace, uint64_t *used, uint64_t *total)
{
	char path[PATH_MAX];
	struct statfs fs;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, workspace);
	if (statfs(path, &fs) < 0)
		return false;
	*total = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	*used = *total - (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize;
	return true;
}

/* What a session uses now, null if that is unknown. */
static void
add_usage(json_t *doc, struct session *s, pid_t pid)
{
	bool is_bare = tiers[session_policy(s)->tier].bare;
	uint64_t used = 0, total = 0;
	struct cgroup_usage g = { 0 };
	bool has_disk =
		pid && !is_bare &&
		read_disk(pid, session_policy(s)->workspace, &used, &total);

	if (pid)
		cgroup_read(&s->worker->jail.group, CGROUP_READ_CHARGE, &g);
	json_object_set_new(
		doc, "cpu_ms",
		number_or_null(pid, pid ? session_cpu_us(s) / 1000 : 0));
	json_object_set_new(doc, "charged_bytes",
			    number_or_null(g.has_charge, g.memory_bytes));
	json_object_set_new(doc, "cache_bytes",
			    number_or_null(g.has_charge, g.cache_bytes));
	json_object_set_new(doc, "disk_used_bytes",
			    number_or_null(has_disk, used));
	json_object_set_new(doc, "disk_bytes", number_or_null(has_disk, total));
}

/* Lists the sessions with many cells. */
static json_t *
sessions_of(const struct keeper *k)
{
	json_t *all = json_array(), *doc;
	uint64_t now = loop_now_us();

	for (struct session *s = k->sessions; s; s = s->next) {
		const struct worker *i = s->worker;
		pid_t pid = i && i->jail.run_pid > 0 ? i->jail.run_pid : 0;
		uint64_t bytes = pid ? proc_pss_bytes(pid) : 0;

		if (!session_has_cells(s))
			continue;
		doc = json_pack("{s:s, s:i, s:s, s:s, s:i, s:f, s:I}", "id",
				s->open_id, "pid", (int)pid, "state",
				state_of(s), "tier",
				tiers[session_policy(s)->tier].name, "cells",
				(int)s->cells, "since_s",
				(double)(now - s->requested_us) / 1e6,
				"memory_bytes", (json_int_t)bytes);
		if (doc)
			add_usage(doc, s, pid);
		json_array_append_new(all, doc);
	}
	return all;
}

int
overview_write(struct buf *out, const struct keeper *k)
{
	json_t *zygotes = json_array(), *pools = json_array(), *all;
	char *text;
	int failed;

	for (const struct zygote_server *n = k->zygote_servers; n; n = n->next)
		json_array_append_new(zygotes, zygote_server_to_json(n));
	for (const struct pool *p = k->pools; p; p = p->next)
		json_array_append_new(pools, pool_to_json(p));
	all = json_pack("{s:i, s:s, s:f, s:I, s:I, s:I, s:I, s:o, s:o, s:o, "
			"s:o, s:o}",
			"pid", (int)getpid(), "remit_version", remit_version(),
			"uptime_s", (double)(loop_now_us() - k->began_us) / 1e6,
			"running", (json_int_t)k->running, "queued",
			(json_int_t)k->queue_count, "jails",
			(json_int_t)k->worker_count, "memory_bytes",
			(json_int_t)proc_pss_bytes(getpid()), "latency_us",
			latency_of(k), "zygotes", zygotes, "pools", pools,
			"sessions", sessions_of(k), "runs",
			journal_to_json(&k->journal));
	text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(all);
	failed = !text || buf_add(out, text, strlen(text)) < 0;
	free(text);
	return failed ? -1 : 0;
}
