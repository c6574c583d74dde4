#include "jail/attest.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/proc.h"
#include "jail/inside.h"
#include "jail/lock_params.h"
#include "jail/seccomp/filter.h"

#define MAP_LINE (PATH_MAX + 128)

static int
attest_expect(const char *status, const char *key, const char *value,
	      struct remit_error *err)
{
	const char *at = proc_status_line(status, key);
	size_t n = strlen(value);

	if (at && !strncmp(at, value, n) && (at[n] == '\n' || at[n] == '\t'))
		return 0;
	return fail(err, REMIT_E_INTERNAL,
		    "the jail is not locked down: in /proc/PID/status, %s is "
		    "%.*s instead of %s",
		    key, at ? (int)strcspn(at, "\n\t") : -1,
		    at ? at : "missing", value);
}

static int
attest_expect_number(const char *status, const char *key, uint64_t value,
		     struct remit_error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return attest_expect(status, key, text, err);
}

unsigned
attest_own_filters(void)
{
	uint64_t n;

	return proc_status_number(getpid(), "Seccomp_filters", &n) < 0
		       ? 0
		       : (unsigned)n;
}

int
attest(pid_t pid, const struct attest_want *want, struct remit_error *err)
{
	static const char *const no_rights[] = { "CapInh", "CapPrm", "CapEff",
						 "CapAmb", "CapBnd" };
	size_t sets = ARRAY_LEN(no_rights) - !want->bounded;
	char status[PROC_STATUS_SIZE];

	if (proc_status(pid, status) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"read the status of process %d", (int)pid);
	for (size_t i = 0; i < sets; i++)
		if (attest_expect(status, no_rights[i], "0000000000000000",
				  err) < 0)
			return -1;
	if (attest_expect_number(status, "Uid", want->uid, err) < 0 ||
	    (want->parent &&
	     attest_expect_number(status, "PPid", (uint64_t)want->parent, err) <
		     0) ||
	    attest_expect_number(status, "NoNewPrivs", 1, err) < 0 ||
	    attest_expect_number(status, "Threads", 1, err) < 0)
		return -1;
	if (!want->filters)
		return 0;
	if (attest_expect_number(status, "Seccomp", 2, err) < 0)
		return -1;
	return attest_expect_number(status, "Seccomp_filters", want->filters,
				    err);
}

/* ---- what a copy would share ---- */

static int
branch_refuse(struct remit_error *err, const char *remedy, const char *what,
	      const char *which)
{
	return fail_refused(err, "forkable", remedy,
			    "the session cannot be copied: %s%s%.200s", what,
			    which ? " " : "", which ? which : "");
}

static int
check_threads(pid_t pid, struct remit_error *err)
{
	uint64_t threads;

	if (proc_status_number(pid, "Threads", &threads) < 0)
		return fail_sys(err, REMIT_E_KERNEL,
				"read the status of process %d", (int)pid);
	if (threads == 1)
		return 0;
	return branch_refuse(err, "Join the threads first.",
			     "it has other threads, and threads are not copied",
			     NULL);
}

/* ---- open files ---- */

/* Whether the descriptor is one of those that the jail was given when it was
   built: standard streams and channel. */
static bool
is_own_end(const struct jail *j, int fd)
{
	struct proc_file f;

	if (fd > LOCK_CHANNEL_FD || proc_file(j->run_pid, fd, &f) < 0)
		return false;
	for (int i = 0; i < JAIL_ENDS; i++)
		if (f.mount == j->ends[i].mount && f.inode == j->ends[i].inode)
			return true;
	return false;
}

/* Refuses a descriptor that the code opened. The message names what it leads
   to, which only root can read. */
static int
check_descriptor(const struct jail *j, const char *name,
		 struct remit_error *err)
{
	char path[64], target[256];
	ssize_t n;

	if (name[0] == '.' || is_own_end(j, (int)strtol(name, NULL, 10)))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)j->run_pid,
		 name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n >= 0)
		target[n] = '\0';
	else
		snprintf(target, sizeof(target), "descriptor %.16s", name);
	return branch_refuse(
		err, "Close files, sockets, pipes and event loops first.",
		"it has something open that the copy would share:", target);
}

static int
check_descriptors(const struct jail *j, struct remit_error *err)
{
	char path[48];
	struct dirent *e;
	int done = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)j->run_pid);
	d = opendir(path);
	if (!d)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	while (done == 0 && (e = readdir(d)))
		done = check_descriptor(j, e->d_name, err);
	closedir(d);
	return done;
}

/* ---- memory ---- */

/* A mapping of a file in a writable directory is refused, and a shared mapping
   too, unless code in the jail cannot write its file: the C library maps one
   such file of the system. */
static bool
is_harmless(const struct plan *plan, const char *flags, const char *path)
{
	size_t n = strlen(path);

	if (jail_is_writable(plan, path))
		return false;
	if (flags[3] != 's')
		return true;
	return flags[1] != 'w' && path[0] == '/' && strncmp(path, "/dev/", 5) &&
	       strncmp(path, "/memfd:", 7) && strncmp(path, "/SYSV", 5) &&
	       (n < 10 || strcmp(path + n - 10, " (deleted)") != 0);
}

/* Checks a line of /proc/PID/maps:
   "start-end flags offset device inode      path". */
static int
check_map(const struct plan *plan, char *line, struct remit_error *err)
{
	char *at = strchr(line, ' '), *flags = at ? at + 1 : NULL;

	if (!flags || strlen(flags) < 5)
		return fail(err, REMIT_E_KERNEL,
			    "malformed line in /proc/PID/maps");
	for (int column = 0; at && column < 4; column++)
		at = strchr(at + 1, ' ');
	if (!at)
		return fail(err, REMIT_E_KERNEL,
			    "malformed line in /proc/PID/maps");
	at += strspn(at, " ");
	if (is_harmless(plan, flags, at))
		return 0;
	return branch_refuse(err,
			     "Release shared memory and mapped files first.",
			     "it has memory that the copy would share:",
			     *at ? at : "without a name");
}

static int
check_maps(pid_t pid, const struct plan *plan, struct remit_error *err)
{
	char path[48], line[MAP_LINE];
	int done = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return fail_sys(err, REMIT_E_KERNEL, "open %s", path);
	while (done == 0 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		done = check_map(plan, line, err);
	}
	fclose(f);
	return done;
}

int
branch_check_alone(const struct jail *j, const struct plan *plan,
		   struct remit_error *err)
{
	if (check_threads(j->run_pid, err) < 0 || check_descriptors(j, err) < 0)
		return -1;
	return check_maps(j->run_pid, plan, err);
}

/* ---- the copy ---- */

/* Reads the last two pids of the line NSpid: *inner is the one in the process's
   pid namespace, *outer the one in the namespace around it. */
static int
read_pids(pid_t pid, long *outer, long *inner)
{
	char status[PROC_STATUS_SIZE];
	const char *at;
	int count = 0;

	*outer = *inner = 0;
	if (proc_status(pid, status) < 0)
		return -1;
	for (at = proc_status_line(status, "NSpid"); at && *at != '\n';
	     count++) {
		char *end;

		*outer = *inner;
		*inner = strtol(at, &end, 10);
		if (end == at)
			return -1;
		at = end + strspn(end, "\t ");
	}
	return count >= 3 ? 0 : -1;
}

static int
check_namespace(const struct jail *j, const struct join_space *space,
		struct remit_error *err)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)j->run_pid,
		 space->name);
	if (fstat(j->entry[space->fd], &ours) < 0 || stat(path, &theirs) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "read %s", path);
	if (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
		return 0;
	return fail(err, REMIT_E_INTERNAL,
		    "the branch is not in the %s namespace of its jail",
		    space->name);
}

int
branch_attest(const struct jail *j, const struct plan *plan,
	      const struct jail *parent, bool warm, pid_t *outer,
	      struct remit_error *err)
{
	const struct attest_want want = {
		.uid = j->host_uid,
		.parent = parent->init_pid,
		.bounded = plan->filter & PLAN_FILTER_SUBPROCESS,
		.filters = plan_keeps(plan, MECH(SECCOMP))
				   ? attest_own_filters() + 2 + warm
				   : 0,
	};
	long out, in;

	/* The copy was given files to join the branch's cgroups. Check that it
	   used them, and that its parent did not. */
	if (cgroup_check(&parent->group, parent->run_pid, err) < 0 ||
	    cgroup_check(&j->group, j->run_pid, err) < 0 ||
	    attest(j->run_pid, &want, err) < 0)
		return -1;
	for (int i = 0; i < JOIN_SPACES; i++)
		if (join_spaces[i].fd != JOIN_NET_NS &&
		    check_namespace(j, &join_spaces[i], err) < 0)
			return -1;
	if (read_pids(j->run_pid, &out, &in) < 0 || in != FILTER_RUN_PID)
		return fail(err, REMIT_E_INTERNAL,
			    "the branch is not pid %d of its jail",
			    FILTER_RUN_PID);
	*outer = (pid_t)out;
	return branch_check_alone(j, plan, err);
}
