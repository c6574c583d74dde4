#include "keeper/packages/installer.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/file/fds.h"
#include "base/file/path.h"
#include "keeper/packages/installer_policy.h"
#include "keeper/packages/installer_run.h"
#include "keeper/packages/package_layer.h"
#include "keeper/packages/package_layer_list.h"
#include "policy/rules/host_rule.h"

static void
say(const struct installer_params *o, enum installer_word word,
    const struct remit_error *e)
{
	struct installer_message m = { .word = word };

	if (e)
		m.error = *e;
	/* Without a keeper there is nobody to make a package layer for. */
	if (send(o->line, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		_exit(1);
}

static void
tell_line(const struct installer_params *o, const char *line)
{
	struct remit_error e;

	fail(&e, REMIT_OK, "%s", line);
	say(o, INSTALLER_PROGRESS, &e);
}

/* ---- its runs ---- */

/* What the index says is believed as far as it is a name, which then must lead
   to a public address: with an address it could choose a host of ours. */
static int
read_hosts(struct list *out, const struct buf *lines, struct remit_error *err)
{
	const char *at = buf_text(lines);

	while (*at) {
		size_t n = strcspn(at, "\n");
		char line[300];
		struct host_rule rule;

		if (n >= sizeof(line) || out->count == INSTALLER_HOSTS_MAX)
			return fail(
				err, REMIT_E_INSTALL,
				"the index names too many hosts: name those "
				"to be used (--package-host)");
		memcpy(line, at, n);
		line[n] = '\0';
		if (host_rule_read(line, &rule, err) == 0 && rule.name[0] &&
		    !rule.may_be_private && !rule.is_below &&
		    list_add(out, line) < 0)
			return fail_sys(err, REMIT_E_MEMORY, "packages");
		at += n + (at[n] == '\n');
	}
	return 0;
}

static int
ask_index(struct list *hosts, struct installer_params *o,
	  const struct buf *code, struct remit_error *err)
{
	own(installer_run) struct installer_run r = INSTALLER_RUN_INIT;
	own(buf) struct buf policy = BUF_INIT(1 << 20);
	own(list) struct list argv = { 0 };

	r.params = o;
	if (installer_policy(&policy, o, NULL, err) < 0 ||
	    installer_arguments(&argv, o, true, err) < 0 ||
	    installer_run(&r, take_fd(&o->clients[0]), &policy, &argv, code,
			  err) < 0)
		return -1;
	if (installer_run_failed(&r, err))
		return -1;
	return read_hosts(hosts, &r.out, err);
}

static int
install(struct installer_params *o, const struct list *hosts,
	const struct buf *code, struct remit_error *err)
{
	own(installer_run) struct installer_run r = INSTALLER_RUN_INIT;
	own(package_layer_make) struct package_layer_make make =
		PACKAGE_LAYER_MAKE_INIT;
	own(buf) struct buf policy = BUF_INIT(1 << 20);
	own(list) struct list argv = { 0 };

	r.params = o;
	r.make = &make;
	r.on_line = tell_line;
	if (package_layer_make_open(&make, err) < 0 ||
	    installer_policy(&policy, o, hosts, err) < 0 ||
	    installer_arguments(&argv, o, false, err) < 0 ||
	    installer_run(&r, take_fd(&o->clients[1]), &policy, &argv, code,
			  err) < 0)
		return -1;
	if (installer_run_failed(&r, err))
		return -1;
	return package_layer_make_finish(&make, o->key, o->policy,
					 o->interpreter, err);
}

/* ---- the process ---- */

static int
check_pip(const struct installer_params *o, struct remit_error *err)
{
	if (o->interpreter->pip)
		return 0;
	return fail_refused(err, "packages",
			    "Install pip for it (python3-pip), or name another "
			    "Python with --python.",
			    "%s has no pip, nor one that came with it",
			    o->interpreter->executable);
}

static int
make_package_layer(struct installer_params *o, struct remit_error *err)
{
	own(buf) struct buf code = BUF_INIT(1 << 20);
	own(list) struct list hosts = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/install.py", o->runtime_dir);
	if (check_pip(o, err) < 0 || path_read_file(&code, path, err) < 0)
		return -1;
	if (installer_must_ask(o) && ask_index(&hosts, o, &code, err) < 0)
		return -1;
	return install(o, &hosts, &code, err);
}

/* Clients of a server choose what is installed: the disk is not theirs. */
static void
limit_store(void)
{
	struct package_layer_prune prune = {
		.unused_ms = UINT64_MAX, .max_bytes = PACKAGE_LAYER_STORE_BYTES
	};
	struct remit_error err;

	if (package_layer_prune(&prune, &err) < 0)
		errno = 0; /* the next installation tries again */
}

static int
serve(struct installer_params *o, struct remit_error *err)
{
	/* Who has it may take as long for each of its runs. */
	own_fd int lock = package_layer_lock(
		o->key, INSTALLER_CLIENTS * o->policy->package_time_ms, err);
	struct package_layer there = PACKAGE_LAYER_INIT;

	if (lock < 0)
		return -1;
	/* Another keeper may have done it, or tried, while this one waited. */
	if (package_layer_find(&there, o->key, NULL)) {
		package_layer_free(&there);
		return 0;
	}
	if (package_layer_failure(o->key, err))
		return -1;
	if (make_package_layer(o, err) == 0) {
		limit_store();
		return 0;
	}
	/* A request with more time may succeed. */
	if (err->code == REMIT_E_INSTALL && !installer_is_late(err))
		package_layer_remember_failure(o->key, err);
	if (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT)
		return package_layer_fail_store(err);
	return -1;
}

static void
close_all_else(const struct installer_params *o)
{
	int keep[4 + INSTALLER_CLIENTS] = { 0, 1, 2, o->line };

	for (size_t i = 0; i < INSTALLER_CLIENTS; i++)
		keep[4 + i] = o->clients[i];
	fds_sort(keep, ARRAY_LEN(keep));
	fds_close_others(keep, ARRAY_LEN(keep));
}

void
installer_main(const struct installer_params *params, pid_t keeper)
{
	struct installer_params o = *params;
	struct remit_error err;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != keeper)
		_exit(1);
	close_all_else(&o);
	umask(077);
	if (serve(&o, &err) == 0)
		say(&o, INSTALLER_DONE, NULL);
	else
		say(&o, INSTALLER_FAILED, &err);
	_exit(0);
}
