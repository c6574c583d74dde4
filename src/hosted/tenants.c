#include "hosted/tenants.h"

#include <string.h>

#include "base/number.h"

/* The share of one owner in `max`. */
static uint64_t
owner_part(const struct tenants *ts, uint64_t max)
{
	unsigned percent = ts->limits.share_percent;
	uint64_t share = max / 100 * percent + max % 100 * percent / 100;

	if (!percent || percent >= 100)
		return max;
	return share ? share : 1;
}

static size_t
place_share(const struct tenants *ts, enum tenant_place p)
{
	return owner_part(ts, ts->limits.max[p]);
}

static bool
is_full(const struct tenants *ts, enum tenant_place p)
{
	return ts->used[p] >= ts->limits.max[p];
}

void
tenants_free(struct tenants *ts)
{
	struct tenant *t;

	while ((t = ts->first)) {
		ts->first = t->next;
		free(t->name);
		free(t);
	}
}

struct tenant *
tenants_find(struct tenants *ts, const char *name)
{
	struct tenant *t;

	for (t = ts->first; t; t = t->next)
		if (!strcmp(t->name, name))
			return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->name = strdup(name);
	if (!t->name) {
		free(t);
		return NULL;
	}
	t->next = ts->first;
	ts->first = t;
	return t;
}

int
tenants_acquire(struct tenants *ts, struct tenant *t, enum tenant_place p,
		struct remit_error *err)
{
	static const char *const names[TENANT_PLACES] = {
		[TENANT_HOSTED] = "sessions and runs",
		[TENANT_SESSION] = "sessions",
	};

	if (is_full(ts, p))
		return fail(err, REMIT_E_BUSY,
			    "too many %s at once (limit of this server: %zu)",
			    names[p], ts->limits.max[p]);
	if (t->used[p] >= place_share(ts, p))
		return fail(err, REMIT_E_BUSY,
			    "too many %s at once (share of one key: %zu)",
			    names[p], place_share(ts, p));
	ts->used[p]++;
	t->used[p]++;
	return 0;
}

void
tenants_release(struct tenants *ts, struct tenant *t, enum tenant_place p)
{
	ts->used[p]--;
	t->used[p]--;
}

uint64_t
tenants_owner_max(const struct tenants *ts, enum tenant_bytes kind)
{
	uint64_t max = ts->limits.max_bytes[kind];

	return max ? owner_part(ts, max) : UINT64_MAX;
}

bool
tenants_fits(const struct tenants *ts, const struct tenant *t,
	     enum tenant_bytes kind, uint64_t bytes)
{
	uint64_t max = ts->limits.max_bytes[kind];

	if (!max)
		return true;
	return number_add(ts->bytes[kind], bytes) <= max &&
	       number_add(t->bytes[kind], bytes) <= tenants_owner_max(ts, kind);
}

void
tenants_charge(struct tenants *ts, struct tenant *t, enum tenant_bytes kind,
	       uint64_t bytes)
{
	ts->bytes[kind] += bytes;
	t->bytes[kind] += bytes;
}

void
tenants_refund(struct tenants *ts, struct tenant *t, enum tenant_bytes kind,
	       uint64_t bytes)
{
	ts->bytes[kind] -= bytes;
	t->bytes[kind] -= bytes;
}

void
tenants_wait(struct tenants *ts, struct turn *turn, struct tenant *t,
	     uint64_t memory_bytes, void *owner)
{
	struct turn **end = &ts->waiting;

	*turn = (struct turn){ .tenant = t,
			       .memory_bytes = memory_bytes,
			       .owner = owner,
			       .is_waiting = true };
	while (*end)
		end = &(*end)->next;
	*end = turn;
}

static void
unlink_turn(struct tenants *ts, struct turn *turn)
{
	struct turn **at = &ts->waiting;

	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
	turn->is_waiting = false;
}

void
tenants_end(struct tenants *ts, struct turn *turn)
{
	if (turn->is_waiting)
		unlink_turn(ts, turn);
	if (turn->is_running) {
		tenants_release(ts, turn->tenant, TENANT_PROGRAM);
		tenants_refund(ts, turn->tenant, TENANT_MEMORY,
			       turn->memory_bytes);
	}
	turn->is_running = false;
}

/* Whether the next turn of `a` comes before that of `b`. Turns of the same
   owner are in the order of the list. */
static bool
runs_before(const struct tenant *a, const struct tenant *b)
{
	size_t x = a->used[TENANT_PROGRAM], y = b->used[TENANT_PROGRAM];

	return x < y || (x == y && a->last_turn < b->last_turn);
}

struct turn *
tenants_next(struct tenants *ts)
{
	struct turn *best = NULL;

	if (is_full(ts, TENANT_PROGRAM))
		return NULL;
	for (struct turn *t = ts->waiting; t; t = t->next)
		if (t->tenant->used[TENANT_PROGRAM] <
			    place_share(ts, TENANT_PROGRAM) &&
		    tenants_fits(ts, t->tenant, TENANT_MEMORY,
				 t->memory_bytes) &&
		    (!best || runs_before(t->tenant, best->tenant)))
			best = t;
	if (!best)
		return NULL;
	unlink_turn(ts, best);
	best->is_running = true;
	best->tenant->last_turn = ++ts->turns;
	ts->used[TENANT_PROGRAM]++;
	best->tenant->used[TENANT_PROGRAM]++;
	tenants_charge(ts, best->tenant, TENANT_MEMORY, best->memory_bytes);
	return best;
}
