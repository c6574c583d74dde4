#include "keeper/packages/installer.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/file/fd.h"
#include "base/file/path.h"
#include "keeper/packages/installer_run.h"
#include "keeper/packages/package_layer.h"
#include "keeper/packages/package_layer_make.h"
#include "keeper/packages/package_layer_prune.h"
#include "policy/rules/host_rule.h"
#include "policy/rules/package_rule.h"

/* How many hosts of an index may provide files. */
#define INSTALLER_HOSTS_MAX 16

#define GIB (UINT64_C(1) << 30)
/* Directories in the jail. */
#define LINKS  "/links"
#define DIRECT "/direct"

/* Returns the address of the index; NULL: there is none, or it must not be
   used. */
static const char *
installer_index(const struct installer_params *o)
{
	const struct policy *p = o->policy;

	if (p->package_offline)
		return NULL;
	return strcmp(p->package_index, PACKAGE_INDEX_DEFAULT)
		       ? p->package_index
		       : o->interpreter->package_index;
}

/* Returns true if the index must be queried for the hosts of its files. */
static bool
installer_must_query(const struct installer_params *o)
{
	return installer_index(o) && !o->policy->package_hosts.count &&
	       o->policy->packages.count;
}

/* ---- the policy of its runs ---- */

/* Leave out a host that is listed already: the host rules refuse duplicates. */
static int
add_host(struct list *l, const char *entry)
{
	size_t n = strcspn(entry, ":");

	n += 1 + strcspn(entry + n + 1, ":"); /* HOST:PORT */
	for (size_t i = 0; i < l->count; i++)
		if (!strncmp(l->items[i], entry, n) &&
		    (l->items[i][n] == ':' || !l->items[i][n]))
			return 0;
	return list_add(l, entry);
}

static int
add_url(struct list *l, const char *field, const char *url, bool is_ours,
	struct remit_error *err)
{
	struct package_url u;
	char entry[PACKAGE_HOST_SIZE];

	if (package_url_read(field, url, &u, err) < 0)
		return -1;
	package_url_host(&u, is_ours, entry);
	return add_host(l, entry) < 0 ? fail_memory(err, "packages") : 0;
}

static int
allow_hosts(struct policy *p, const struct installer_params *o,
	    const struct list *hosts, struct remit_error *err)
{
	const char *index = installer_index(o);
	const struct list *direct = &o->policy->package_direct;
	const struct list *named = &o->policy->package_hosts;

	/* The policy's own rules for a host take precedence. */
	for (size_t i = 0; index && i < named->count; i++)
		if (add_host(&p->network_allow, named->items[i]) < 0)
			return fail_memory(err, "packages");
	if (index && add_url(&p->network_allow, "package_index", index,
			     index == o->policy->package_index, err) < 0)
		return -1;
	for (size_t i = 0; hosts && i < hosts->count; i++)
		if (add_host(&p->network_allow, hosts->items[i]) < 0)
			return fail_memory(err, "packages");
	for (size_t i = 0; i < direct->count && !o->policy->package_offline;
	     i++)
		if (package_is_url(direct->items[i]) &&
		    add_url(&p->network_allow, "package_direct",
			    direct->items[i], true, err) < 0)
			return -1;
	return 0;
}

static int
show_files(struct policy *p, const struct installer_params *o,
	   struct remit_error *err)
{
	const struct list *links = &o->policy->package_links;
	const struct list *direct = &o->policy->package_direct;
	const char *pip = o->interpreter->pip;
	char inside[512];
	int bad = 0;

	for (size_t i = 0; i < links->count && !bad; i++) {
		snprintf(inside, sizeof(inside), LINKS "/%zu", i);
		bad = mount_list_add(&p->mounts, links->items[i], inside,
				     MOUNT_RO, 0);
	}
	for (size_t i = 0; i < direct->count && !bad; i++) {
		if (package_is_url(direct->items[i]))
			continue;
		snprintf(inside, sizeof(inside), DIRECT "/%zu/%.300s", i,
			 path_name(direct->items[i]));
		bad = mount_list_add(&p->mounts, direct->items[i], inside,
				     MOUNT_RO, 0);
	}
	if (pip && *pip && !bad)
		bad = mount_list_add(&p->mounts, pip, "/.pip/pip.whl", MOUNT_RO,
				     0);
	return bad ? fail_memory(err, "packages") : 0;
}

static void
set_limits(struct policy *p, const struct policy *wanted)
{
	uint64_t bytes = wanted->package_bytes;

	p->timeout_ms = wanted->package_time_ms;
	p->cpu_ms = wanted->package_time_ms * 2;
	/* Wheels and the files in them exist at the same time. */
	p->disk_bytes = bytes * 2;
	p->file_bytes = bytes;
	p->files = 4 * PACKAGE_LAYER_FILES_MAX;
	/* Files in the jail count as memory. */
	p->memory_bytes = GIB + p->disk_bytes;
	p->memory_fallback = 1;
	p->cpu_fallback = 1;
	p->artifact_file_bytes = bytes;
	p->artifact_bytes = bytes;
	p->artifact_files = PACKAGE_LAYER_FILES_MAX;
	p->artifact_time_ms = wanted->package_time_ms;
}

/* Writes as JSON the policy for the run that queries the index (`hosts` is
   NULL), or for the run that installs and may also fetch from these hosts. */
static int
installer_policy(struct buf *out, const struct installer_params *o,
		 const struct list *hosts, struct remit_error *err)
{
	own(policy) struct policy p = { 0 };
	own_mem char *text = NULL;
	json_t *doc;

	if (policy_init(&p) < 0)
		return fail_memory(err, "packages");
	free(p.python);
	p.python = strdup(o->interpreter->executable);
	p.subprocess_execution = hosts && o->policy->package_build;
	set_limits(&p, o->policy);
	if (!p.python || list_add(&p.artifact_export_paths, "out/*") < 0)
		return fail_memory(err, "packages");
	if (allow_hosts(&p, o, hosts, err) < 0 || show_files(&p, o, err) < 0)
		return -1;
	doc = policy_to_json(&p);
	text = doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(15))
		   : NULL;
	json_decref(doc);
	if (!text || buf_add(out, text, strlen(text)) < 0)
		return fail_memory(err, "packages");
	return 0;
}

/* ---- the arguments of its runs ---- */

static int
add_names(struct list *out, const struct list *packages,
	  struct remit_error *err)
{
	struct package_rule r;

	for (size_t i = 0; i < packages->count; i++) {
		if (package_rule_read(packages->items[i], &r, err) < 0)
			return -1;
		if (list_add(out, r.name) < 0)
			return fail_memory(err, "packages");
	}
	return 0;
}

static int
add_wanted(struct list *out, const struct policy *p, struct remit_error *err)
{
	struct package_rule r;
	char inside[512];

	for (size_t i = 0; i < p->packages.count; i++) {
		if (package_rule_read(p->packages.items[i], &r, err) < 0)
			return -1;
		if (list_add(out, r.text) < 0)
			return fail_memory(err, "packages");
	}
	for (size_t i = 0; i < p->package_direct.count; i++) {
		const char *one = p->package_direct.items[i];

		snprintf(inside, sizeof(inside), DIRECT "/%zu/%.300s", i,
			 path_name(one));
		if (list_add(out, package_is_url(one) ? one : inside) < 0)
			return fail_memory(err, "packages");
	}
	return 0;
}

/* Writes the arguments of install.py for the same run. */
static int
installer_arguments(struct list *out, const struct installer_params *o,
		    bool is_query, struct remit_error *err)
{
	const struct policy *p = o->policy;
	const char *index = installer_index(o);
	const char *pip = o->interpreter->pip;
	const char *const first[] = {
		is_query ? "hosts" : "packages",
		pip && *pip ? "/.pip/pip.whl" : "",
		index ? index : "-",
	};
	char inside[64];

	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		if (list_add(out, first[i]) < 0)
			return fail_memory(err, "packages");
	if (is_query)
		return add_names(out, &p->packages, err);
	if (list_add(out, p->package_build ? "sources" : "wheels") < 0)
		return fail_memory(err, "packages");
	for (size_t i = 0; i < p->package_links.count; i++) {
		snprintf(inside, sizeof(inside), LINKS "/%zu", i);
		if (list_add(out, inside) < 0)
			return fail_memory(err, "packages");
	}
	if (list_add(out, "--") < 0)
		return fail_memory(err, "packages");
	if (add_wanted(out, p, err) < 0)
		return -1;
	for (size_t i = 0; i < o->have->count; i++)
		if ((i == 0 && list_add(out, "--") < 0) ||
		    list_add(out, o->have->items[i]) < 0)
			return fail_memory(err, "packages");
	return 0;
}

/* ---- messages to the keeper ---- */

static void
send_message(const struct installer_params *o, struct installer_message m)
{
	/* The keeper is gone, so the packages are not needed any more. */
	if (send(o->line, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		_exit(1);
}

static void
send_progress(const struct installer_params *o, const char *line)
{
	struct installer_message m = { .event = INSTALLER_PROGRESS };

	fail(&m.error, REMIT_OK, "%s", line);
	send_message(o, m);
}

/* ---- its runs ---- */

/* The index is only trusted to provide host names that lead to public
   addresses. With an address it could choose a host in the local network. */
static int
read_hosts(struct list *out, const struct buf *lines, struct remit_error *err)
{
	const char *at = buf_text(lines);

	while (*at) {
		size_t n = strcspn(at, "\n");
		char line[300];
		struct host_rule rule;

		if (n >= sizeof(line) || out->count == INSTALLER_HOSTS_MAX)
			return fail(err, REMIT_E_INSTALL,
				    "the index names too many hosts: list the "
				    "hosts to use (--package-host)");
		memcpy(line, at, n);
		line[n] = '\0';
		if (host_rule_read(line, &rule, err) == 0 && rule.name[0] &&
		    !rule.may_be_private && !rule.is_below &&
		    list_add(out, line) < 0)
			return fail_memory(err, "packages");
		at += n + (at[n] == '\n');
	}
	return 0;
}

static int
query_index(struct list *hosts, struct installer_params *o,
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
run_install(struct installer_params *o, const struct list *hosts,
	    const struct buf *code, struct remit_error *err)
{
	own(installer_run) struct installer_run r = INSTALLER_RUN_INIT;
	own(package_layer_make) struct package_layer_make make =
		PACKAGE_LAYER_MAKE_INIT;
	own(buf) struct buf policy = BUF_INIT(1 << 20);
	own(list) struct list argv = { 0 };

	r.params = o;
	r.make = &make;
	r.on_line = send_progress;
	if (package_layer_make_open(&make, err) < 0 ||
	    installer_policy(&policy, o, hosts, err) < 0 ||
	    installer_arguments(&argv, o, false, err) < 0 ||
	    installer_run(&r, take_fd(&o->clients[1]), &policy, &argv, code,
			  err) < 0)
		return -1;
	if (installer_run_failed(&r, err))
		return -1;
	return package_layer_make_finish(&make, o->key, o->tenant, o->policy,
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
			    "%s has no pip, and none is bundled with it",
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
	if (installer_must_query(o) && query_index(&hosts, o, &code, err) < 0)
		return -1;
	return run_install(o, &hosts, &code, err);
}

/* Clients of a server can choose what is installed, so they must not fill the
   disk, and a key must not remove what another has installed. */
static void
limit_store(void)
{
	struct package_layer_prune prune = {
		.max_bytes = PACKAGE_LAYER_STORE_BYTES,
	};
	struct remit_error err;

	if (package_layer_prune_shares(&prune, &err) < 0)
		errno = 0; /* the next installation tries again */
}

static bool
find_package_layer(const struct installer_params *o, struct package_layer *out)
{
	return package_layer_find(out, o->key, NULL) == PACKAGE_LAYER_WHOLE;
}

/* Sets *out to the package layer for this request. */
static int
ensure_package_layer(struct installer_params *o, struct package_layer *out,
		     struct remit_error *err)
{
	/* Another installer with this lock may take this long for each of its
	   runs. */
	own_fd int lock = package_layer_lock(
		o->key, INSTALLER_CLIENTS * o->policy->package_time_ms, err);

	if (lock < 0)
		return -1;
	/* Another keeper may have installed the packages, or tried to,
	   meanwhile. */
	if (find_package_layer(o, out))
		return 0;
	if (!o->by_code && package_layer_failure(o->key, err))
		return -1;
	if (make_package_layer(o, err) == 0) {
		if (!find_package_layer(o, out))
			return fail(err, REMIT_E_INTERNAL,
				    "packages were installed but cannot be "
				    "found");
		/* The new layer is in use now, so it stays. */
		limit_store();
		return 0;
	}
	/* A request with more time may succeed, so do not remember this
	   failure. */
	if (!o->by_code && err->code == REMIT_E_INSTALL &&
	    !installer_is_late(err))
		package_layer_remember_failure(o->key, err);
	if (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT)
		return package_layer_fail_store(err);
	return -1;
}

static void
close_other_fds(const struct installer_params *o)
{
	int keep[4 + INSTALLER_CLIENTS] = { 0, 1, 2, o->line };
	size_t n = 4;

	for (size_t i = 0; i < INSTALLER_CLIENTS; i++)
		if (o->clients[i] >= 0)
			keep[n++] = o->clients[i];
	fds_sort(keep, n);
	fds_close_others(keep, n);
}

void
installer_main(const struct installer_params *params, pid_t keeper)
{
	struct installer_params o = *params;
	struct package_layer found = PACKAGE_LAYER_INIT;
	struct installer_message m = { .event = INSTALLER_DONE };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != keeper)
		_exit(1);
	close_other_fds(&o);
	umask(077);
	if (!o.only_checks && ensure_package_layer(&o, &found, &m.error) < 0)
		m.event = INSTALLER_FAILED;
	if (o.only_checks && !find_package_layer(&o, &found))
		m.event = INSTALLER_ABSENT;
	memcpy(m.id, found.id, sizeof(m.id));
	send_message(&o, m);
	_exit(0);
}
