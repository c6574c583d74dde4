#include "keeper/packages/installer_policy.h"

#include <stdio.h>
#include <string.h>

#include "base/file/path.h"
#include "keeper/packages/package_layer_make.h"
#include "policy/rules/package_rule.h"

#define GIB (UINT64_C(1) << 30)
/* In the jail. */
#define LINKS  "/links"
#define DIRECT "/direct"

const char *
installer_index(const struct installer_params *o)
{
	const struct policy *p = o->policy;

	if (p->package_offline)
		return NULL;
	return strcmp(p->package_index, PACKAGE_INDEX_DEFAULT)
		       ? p->package_index
		       : o->interpreter->package_index;
}

bool
installer_must_ask(const struct installer_params *o)
{
	return installer_index(o) && !o->policy->package_hosts.count &&
	       o->policy->packages.count;
}

/* ---- what it may do ---- */

/* What is named twice is refused by who reads the list. */
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

	/* What the policy says of a host goes before what is known of it. */
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
	/* Wheels and what they become are there at the same time. */
	p->disk_bytes = bytes * 2;
	p->file_bytes = bytes;
	p->files = 4 * PACKAGE_LAYER_FILES_MAX;
	/* Files are memory. */
	p->memory_bytes = GIB + p->disk_bytes;
	p->memory_fallback = 1;
	p->cpu_fallback = 1;
	p->artifact_file_bytes = bytes;
	p->artifact_bytes = bytes;
	p->artifact_files = PACKAGE_LAYER_FILES_MAX;
	p->artifact_time_ms = wanted->package_time_ms;
}

int
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

/* ---- what it is told ---- */

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

int
installer_arguments(struct list *out, const struct installer_params *o,
		    bool asks, struct remit_error *err)
{
	const struct policy *p = o->policy;
	const char *index = installer_index(o);
	const char *pip = o->interpreter->pip;
	const char *const first[] = {
		asks ? "hosts" : "packages",
		pip && *pip ? "/.pip/pip.whl" : "",
		index ? index : "-",
	};
	char inside[64];

	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		if (list_add(out, first[i]) < 0)
			return fail_memory(err, "packages");
	if (asks)
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
	return add_wanted(out, p, err);
}
