#include "keeper/pool/cpu_share.h"

#include <stdlib.h>
#include <string.h>

/* Divided into this many parts, every share is rounded up to the kernel's
   smallest weight. */
#define IDLE_PARTS 1024

struct cpu_tenant {
	struct cpu_tenant *next;
	struct cpu_share *members;
	size_t running; /* number of members that are not idle */
	char name[];
};

static struct cpu_tenant *
find_tenant(struct cpu_shares *shares, const char *name)
{
	struct cpu_tenant *t = shares->first;
	size_t len = strlen(name);

	while (t && strcmp(t->name, name) != 0)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t) + len + 1);
	if (!t)
		return NULL;
	memcpy(t->name, name, len);
	t->next = shares->first;
	shares->first = t;
	return t;
}

static void
share_divide(const struct cpu_tenant *t)
{
	for (struct cpu_share *s = t->members; s; s = s->next)
		cgroup_set_share(s->group,
				 s->is_idle ? IDLE_PARTS : t->running);
}

static void
free_tenant(struct cpu_shares *shares, struct cpu_tenant *t)
{
	struct cpu_tenant **at = &shares->first;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	free(t);
}

static void
remove_member(struct cpu_shares *shares, struct cpu_share *s)
{
	struct cpu_tenant *t = s->tenant;
	struct cpu_share **at;

	if (!t)
		return;
	for (at = &t->members; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	t->running -= !s->is_idle;
	*s = (struct cpu_share){ .group = s->group };
	share_divide(t);
	if (!t->members)
		free_tenant(shares, t);
}

static int
add_member(struct cpu_shares *shares, struct cpu_share *s, const char *tenant,
	   struct remit_error *err)
{
	struct cpu_tenant *t = find_tenant(shares, tenant);

	if (!t)
		return fail_memory(err, "processor share");
	s->tenant = t;
	s->next = t->members;
	t->members = s;
	t->running++;
	share_divide(t);
	return 0;
}

int
cpu_share_join(struct cpu_shares *shares, struct cpu_share *s,
	       struct cgroup *group, const char *tenant,
	       struct remit_error *err)
{
	s->group = group;
	if (s->tenant && tenant && !strcmp(s->tenant->name, tenant)) {
		cpu_share_set_idle(s, false);
		return 0;
	}
	remove_member(shares, s);
	if (tenant)
		return add_member(shares, s, tenant, err);
	cgroup_set_share(group, 1);
	return 0;
}

void
cpu_share_leave(struct cpu_shares *shares, struct cpu_share *s)
{
	remove_member(shares, s);
	/* The weight must not slow down the death of the jail, and its group
	   may be reused. */
	if (s->group)
		cgroup_set_share(s->group, 1);
}

void
cpu_share_set_idle(struct cpu_share *s, bool is_idle)
{
	struct cpu_tenant *t = s->tenant;

	if (!t || s->is_idle == is_idle)
		return;
	s->is_idle = is_idle;
	t->running += is_idle ? -1 : 1;
	share_divide(t);
}
