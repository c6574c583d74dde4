#include "keeper/watcher/main.h"

#include <grp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/file/fd.h"
#include "base/file/path.h"
#include "base/loop.h"
#include "jail/linux_abi.h"
#include "jail/lock/rights.h"
#include "jail/seccomp/filter.h"
#include "keeper/watcher/tree.h"
#include "policy/rules/path_rule.h"
#include "wire/link.h"

/*
 * How much work (watcher_tree.cost) may be done at once, and per second after
 * that. More waits in the kernel, which keeps up to
 * fs.inotify.max_queued_events and then reports that events are missing.
 */
#define BURST	   65536
#define PER_SECOND 8192
/* While this many bytes wait for the client, no events are read. */
#define BACKLOG_MAX ((size_t)1024 * 1024)
/* One read from the kernel may become many events. If more bytes than these
   wait, events are lost. */
#define BACKLOG_HARD_MAX ((size_t)4 * 1024 * 1024)
/* How much memory it may take, besides that of the keeper. */
#define DATA_BYTES ((rlim_t)32 << 20)
/* How long to wait when there may be no more work yet. */
#define PAUSE_MS 20
/* How many requests to read everything may wait while no more work may be done,
   and for how long. */
#define SYNCS_MAX 64
#define SYNC_US	  2000000

struct watcher {
	struct watcher_tree tree;
	struct link client;
	bool has_lost; /* events, since all watches ended */
	const struct plan *plan;
	uint64_t spent;	   /* the tree's cost so far */
	int64_t allowed;   /* work that may be done now; below 0 after more was
			      done */
	uint64_t since_us; /* when `allowed` was computed */
	uint32_t syncs[SYNCS_MAX];
	size_t sync_count;
	uint64_t sync_end_us; /* when the oldest has waited long enough */
};

/* ---- the limits ---- */

/* Data of the keeper, of which this process has a copy on write. Returns 0 on
   failure. */
static rlim_t
inherited_bytes(void)
{
	own(buf) struct buf text = BUF_INIT(256);
	struct remit_error err;
	unsigned long pages;

	if (path_read_file(&text, "/proc/self/statm", &err) < 0 ||
	    sscanf(buf_text(&text), "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		return 0;
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int
watcher_limit(void)
{
	const rlim_t inherited = inherited_bytes();
	const struct {
		int resource;
		rlim_t most;
	} all[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NOFILE, 32 },
		{ RLIMIT_DATA, inherited + DATA_BYTES },
	};

	if (!inherited)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct rlimit l = { all[i].most, all[i].most };

		if (setrlimit((__rlimit_resource_t)all[i].resource, &l) < 0)
			return -1;
	}
	/* After the interpreters, whatever the keeper's own priority is. */
	errno = 0;
	return nice(10) == -1 && errno ? -1 : 0;
}

/* When root: become the code's user, who may read its directories and for whom
   the kernel counts watches. An ordinary user's keeper has that user. */
static int
become_code_user(const struct watcher_params *p)
{
	uid_t uid = p->uid;

	if (!p->plan->by_root)
		return rights_drop_own();
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
	    setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -1;
	return rights_drop(true);
}

/* A second lock: of all files, only directories of the workspace can be opened.
   Kernels without Landlock have the filter alone. */
static int
watcher_landlock(const struct watcher_params *p)
{
	/* Everything that the first version knows. */
	const struct ll_ruleset attr = { .fs = (LL_FS_MAKE_SYM << 1) - 1 };
	const struct ll_path workspace = { .access = LL_FS_READ_DIR,
					   .parent_fd = p->workspace };
	own_fd int rules = -1;

	if (p->plan->landlock_abi <= 0 || !plan_keeps(p->plan, MECH(LANDLOCK)))
		return 0;
	rules = sys_landlock_create(&attr, sizeof(attr.fs), 0);
	if (rules < 0 || sys_landlock_add_path(rules, &workspace) < 0)
		return -1;
	return sys_landlock_restrict(rules);
}

/* In this order: a change of user or capabilities clears the parent-death
   signal. */
static int
watcher_lock(struct watcher *w, const struct watcher_params *p)
{
	if (watcher_limit() < 0 || become_code_user(p) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != p->keeper || watcher_tree_open(&w->tree) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    watcher_landlock(p) < 0)
		return -1;
	return plan_keeps(p->plan, MECH(SECCOMP)) ? filter_load(FILTER_WATCHER)
						  : 0;
}

static void
close_others(const struct watcher_params *p)
{
	int keep[] = { 0, 1, 2, p->workspace, p->client };

	fds_sort(keep, ARRAY_LEN(keep));
	fds_close_others(keep, ARRAY_LEN(keep));
}

/* ---- the workspace ---- */

/* From here, mount points are empty directories: what is mounted on them is
   visible only in the jail. */
static int
list_mounts(struct watcher *w)
{
	for (size_t i = 0; i < w->plan->mount_count; i++) {
		const char *rest = path_rule_inside(w->plan->policy,
						    w->plan->mounts[i].jail);

		if (rest && *rest == '/' &&
		    list_add(&w->tree.mounts, rest + 1) < 0)
			return -1;
	}
	return 0;
}

/* Writes the path in the workspace, without empty parts. Returns -1 if the path
   is elsewhere, or climbs. */
static int
path_in_workspace(const struct watcher *w, const struct watch_request *r,
		  char out[PATH_RULE_SIZE])
{
	const struct policy *policy = w->plan->policy;
	char text[WATCH_PATH_SIZE];
	struct remit_error err;
	const char *rest;

	memcpy(text, r->path, r->path_len);
	text[r->path_len] = '\0';
	rest = text[0] == '/' ? path_rule_inside(policy, text) : text;
	if (!rest)
		return -1;
	rest += strspn(rest, "/");
	if (!*rest || !strcmp(rest, ".")) {
		out[0] = '\0';
		return 0;
	}
	return path_rule_workspace(policy, rest, out, "path", &err);
}

/* ---- the client ---- */

/* Whether the client reads too slowly for this event. The last event of a watch
   is always sent. */
static bool
loses(struct watcher *w, const struct watch_event *e)
{
	struct remit_error err;

	if (!watch_is_of_file(e->kind))
		return false;
	/* A connection that fails is noticed after the events. */
	if (!w->has_lost && link_backlog(&w->client) > BACKLOG_HARD_MAX)
		w->has_lost = link_flush(&w->client, &err) < 0 ||
			      link_backlog(&w->client) > BACKLOG_HARD_MAX;
	return w->has_lost;
}

static int
send_event(void *user, const struct watch_event *e)
{
	own(buf) struct buf payload =
		BUF_INIT(frame_rules[FRAME_WATCH_EVENT].max);
	struct watcher *w = user;
	struct remit_error err;

	if (loses(w, e))
		return 0;
	if (watch_event_write(&payload, e) < 0)
		return -1;
	return link_send(&w->client, FRAME_WATCH_EVENT, payload.data,
			 payload.len, &err);
}

static int
begin_watch(struct watcher *w, const struct watch_request *r)
{
	struct watch_event refused = { .id = r->id, .kind = WATCH_REFUSED };
	char path[PATH_RULE_SIZE];

	if (path_in_workspace(w, r, path) < 0)
		return send_event(w, &refused);
	return watcher_tree_begin(&w->tree, r->id, r->flags, path);
}

/* Whether the work that was done so far is within the limit. */
static bool
may_work(struct watcher *w)
{
	uint64_t now = loop_now_us(), spent = w->tree.cost - w->spent;
	uint64_t gained = (now - w->since_us) * PER_SECOND / 1000000;

	w->allowed -= (int64_t)spent;
	w->spent = w->tree.cost;
	if (gained) {
		w->allowed += (int64_t)gained;
		w->since_us = now;
	}
	if (w->allowed > BURST)
		w->allowed = BURST;
	return w->allowed > 0 && link_backlog(&w->client) <= BACKLOG_MAX;
}

static int
send_synced(struct watcher *w)
{
	for (size_t i = 0; i < w->sync_count; i++) {
		struct watch_event synced = { .id = w->syncs[i],
					      .kind = WATCH_SYNCED };

		if (send_event(w, &synced) < 0)
			return -1;
	}
	w->sync_count = 0;
	return 0;
}

static int
read_events(struct watcher *w)
{
	bool more = true;

	while (more && may_work(w)) {
		if (watcher_tree_read(&w->tree, &more) < 0 ||
		    (w->has_lost && watcher_tree_lose(&w->tree) < 0))
			return -1;
		w->has_lost = false;
	}
	if (more && w->sync_count < SYNCS_MAX && loop_now_us() < w->sync_end_us)
		return 0;
	return send_synced(w);
}

static int
sync_events(struct watcher *w, const struct watch_request *r)
{
	if (!w->sync_count)
		w->sync_end_us = loop_now_us() + SYNC_US;
	w->syncs[w->sync_count++] = r->id;
	return read_events(w);
}

static int
handle_request(struct watcher *w, const struct frame *f)
{
	struct watch_request r;

	if (f->type != FRAME_WATCH ||
	    watch_request_read(&r, f->payload, f->len) < 0)
		return -1;
	switch (r.op) {
	case WATCH_BEGIN:
		return begin_watch(w, &r);
	case WATCH_STOP:
		return watcher_tree_stop(&w->tree, r.id);
	default:
		return sync_events(w, &r);
	}
}

static int
read_client(struct watcher *w)
{
	struct remit_error err;
	struct frame f;

	if (link_fill(&w->client, &err) < 0)
		return -1;
	do {
		if (link_next(&w->client, &f, &err) < 0 ||
		    (f.type != FRAME_NONE && handle_request(w, &f) < 0))
			return -1;
	} while (f.type != FRAME_NONE);
	return w->client.ended ? -1 : 0;
}

static int
watcher_turn(struct watcher *w)
{
	bool works = may_work(w);
	struct pollfd fds[] = {
		{ .fd = w->client.fd },
		{ .fd = works ? w->tree.inotify : -1, .events = POLLIN },
	};
	struct remit_error err;

	/* A client that does not read must not make it work either. */
	if (link_backlog(&w->client) <= BACKLOG_MAX)
		fds[0].events |= POLLIN;
	if (link_wants_write(&w->client))
		fds[0].events |= POLLOUT;
	if (poll(fds, ARRAY_LEN(fds), works && !w->sync_count ? -1 : PAUSE_MS) <
		    0 &&
	    errno != EINTR)
		return -1;
	if (fds[0].revents & ~POLLOUT && read_client(w) < 0)
		return -1;
	if ((fds[1].revents || w->sync_count) && read_events(w) < 0)
		return -1;
	return link_flush(&w->client, &err);
}

void
watcher_main(const struct watcher_params *p)
{
	struct watcher w = {
		.tree = WATCHER_TREE_INIT,
		.client = LINK_INIT,
		.plan = p->plan,
		.allowed = BURST,
		.since_us = loop_now_us(),
	};

	prctl(PR_SET_NAME, "remit-watcher", 0, 0, 0);
	close_others(p);
	w.tree.workspace = p->workspace;
	w.tree.emit = send_event;
	w.tree.user = &w;
	link_open(&w.client, p->client, PARTY_CLIENT);
	if (list_mounts(&w) < 0 || watcher_lock(&w, p) < 0)
		_exit(1);
	while (watcher_turn(&w) == 0)
		;
	_exit(0);
}
