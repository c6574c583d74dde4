#include "jail/cgroup/stock.h"

#include <string.h>

int
cgroup_stock_take(struct cgroup_stock *s, struct cgroup *out,
		  const struct cgroup_home *home, const struct plan_limits *l,
		  const char *name, struct remit_error *err)
{
	struct cgroup_limits limits;

	cgroup_limits_of(&limits, home, l);
	for (size_t i = s ? s->count : 0; i-- > 0;) {
		struct cgroup *c = &s->spare[i];

		if (!cgroup_limits_equal(&c->limits, &limits))
			continue;
		*out = *c;
		s->count--;
		memmove(c, c + 1, (s->count - i) * sizeof(*c));
		return 0;
	}
	return cgroup_make(out, home, &limits, name, err);
}

void
cgroup_stock_give(struct cgroup_stock *s, struct cgroup *c)
{
	if (!s || !c->home || s->count == CGROUP_STOCK_MAX ||
	    cgroup_renew(c) < 0) {
		cgroup_free(c);
		return;
	}
	cgroup_close_peaks(c);
	s->spare[s->count++] = *c;
	*c = (struct cgroup)CGROUP_INIT;
}

/* The last that came is the first that goes: the first were idle. */
void
cgroup_stock_shrink(struct cgroup_stock *s)
{
	if (!s->count)
		return;
	cgroup_free(&s->spare[0]);
	s->count--;
	memmove(s->spare, s->spare + 1, s->count * sizeof(s->spare[0]));
}

void
cgroup_stock_clear(struct cgroup_stock *s)
{
	while (s->count)
		cgroup_free(&s->spare[--s->count]);
}
