/*
 * rooms: the table of rooms: who is in it, for whom, and until when.
 */
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

#include "loop.h"
#include "room_part.h"

const char *const room_state_names[] = { "opening", "idle", "busy", "ended" };

int
room_make_id(char out[ROOM_ID_SIZE], struct remit_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bytes[ROOM_ID_SIZE - 1];

	/* Never less for so few: getrandom(2). */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return fail_sys(err, REMIT_E_KERNEL, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		out[i] = letters[bytes[i] % 32];
	out[ROOM_ID_SIZE - 1] = '\0';
	return 0;
}

static uint64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int
rooms_open(struct rooms **out, const struct rooms_options *opt,
	   struct remit_error *err)
{
	struct rooms *rs = calloc(1, sizeof(*rs));
	pthread_condattr_t monotonic;

	if (!rs)
		return fail_sys(err, REMIT_E_MEMORY, "rooms");
	pthread_mutex_init(&rs->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&rs->worker_ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	rs->remit = opt->remit;
	rs->artifacts = opt->artifacts;
	rs->max_rooms = opt->max_rooms;
	rs->audit = opt->audit;
	*out = rs;
	return 0;
}

static bool
wait_for_workers(struct rooms *rs, uint64_t patience_ms)
{
	uint64_t until_ms = loop_now_us() / 1000 + patience_ms;
	struct timespec until = { .tv_sec = (time_t)(until_ms / 1000),
				  .tv_nsec =
					  (long)(until_ms % 1000) * 1000000 };
	int late = 0;

	while (rs->workers && !late)
		late = pthread_cond_timedwait(&rs->worker_ended, &rs->lock,
					      &until);
	return !rs->workers;
}

bool
rooms_end(struct rooms *rs, uint64_t patience_ms)
{
	struct room *r;
	bool ended;

	pthread_mutex_lock(&rs->lock);
	rs->closing = true;
	while ((r = rs->first)) {
		r->holders++;
		pthread_mutex_unlock(&rs->lock);
		room_drop(r);
		room_put(r);
		pthread_mutex_lock(&rs->lock);
	}
	ended = wait_for_workers(rs, patience_ms);
	pthread_mutex_unlock(&rs->lock);
	return ended;
}

void
rooms_free(struct rooms *rs)
{
	if (!rs)
		return;
	pthread_cond_destroy(&rs->worker_ended);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

static void
room_free(struct room *r)
{
	room_put(r->parent);
	if (r->opt.loan.release)
		r->opt.loan.release(r->opt.loan.owner);
	own_fd_close(&r->wake);
	pthread_cond_destroy(&r->changed);
	free(r->folder);
	free(r->owner);
	free(r);
}

static struct room *
make(struct rooms *rs, const struct room_options *opt, struct remit_error *err)
{
	struct room *r = calloc(1, sizeof(*r));
	pthread_condattr_t monotonic;

	if (!r) {
		fail_sys(err, REMIT_E_MEMORY, "room");
		return NULL;
	}
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r->all = rs;
	r->last = &r->first;
	r->created_ms = wall_ms();
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->owner = strdup(opt->owner);
	if (r->wake < 0)
		fail_sys(err, REMIT_E_KERNEL, "eventfd");
	else if (!r->owner)
		fail_sys(err, REMIT_E_MEMORY, "room");
	else if (room_make_id(r->id, err) == 0)
		return r;
	room_free(r);
	return NULL;
}

int
rooms_add(struct rooms *rs, const struct room_options *opt, bool is_run,
	  struct room **out, struct remit_error *err)
{
	struct room *r = make(rs, opt, err), **end;
	bool full, closing;

	if (!r)
		return -1;
	if (opt->exports && rs->artifacts) {
		r->folder = artifact_store_path(rs->artifacts, r->id);
		if (!r->folder) {
			room_free(r);
			return fail_sys(err, REMIT_E_MEMORY, "room");
		}
	}
	r->opt = *opt;
	r->opt.loan = (struct room_loan){ 0 }; /* taken by what succeeds */
	r->is_run = is_run;
	r->holders = 2;
	r->listed = true;
	pthread_mutex_lock(&rs->lock);
	closing = rs->closing;
	full = rs->count >= rs->max_rooms;
	for (end = &rs->first; *end; end = &(*end)->next)
		;
	if (!closing && !full) {
		*end = r;
		rs->count++;
	}
	pthread_mutex_unlock(&rs->lock);
	if (closing || full) {
		room_free(r);
		return closing ? fail(err, REMIT_E_GONE, "the server is ending")
			       : fail(err, REMIT_E_BUSY,
				      "%zu sessions and runs at once are the "
				      "most",
				      rs->max_rooms);
	}
	room_set_life(r, is_run ? 0 : opt->life_ms);
	*out = r;
	return 0;
}

/* The lock is held. */
static bool
unlist(struct room *r)
{
	struct room **at = &r->all->first;

	if (!r->listed)
		return false;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->listed = false;
	r->all->count--;
	return true;
}

void
rooms_remove(struct room *r)
{
	bool was_listed;

	pthread_mutex_lock(&r->all->lock);
	was_listed = unlist(r);
	pthread_mutex_unlock(&r->all->lock);
	if (was_listed)
		room_put(r);
}

struct room *
room_hold(struct room *r)
{
	pthread_mutex_lock(&r->all->lock);
	r->holders++;
	pthread_mutex_unlock(&r->all->lock);
	return r;
}

void
room_put(struct room *r)
{
	unsigned left;

	if (!r)
		return;
	pthread_mutex_lock(&r->all->lock);
	left = --r->holders;
	pthread_mutex_unlock(&r->all->lock);
	if (!left)
		room_free(r);
}

static struct room *
find(struct rooms *rs, const char *owner, const char *id, bool is_run)
{
	struct room *r;

	pthread_mutex_lock(&rs->lock);
	for (r = rs->first; r; r = r->next)
		if (r->is_run == is_run && !strcmp(r->id, id) &&
		    !strcmp(r->owner, owner))
			break;
	if (r)
		r->holders++;
	pthread_mutex_unlock(&rs->lock);
	return r;
}

struct room *
room_find(struct rooms *rs, const char *owner, const char *id)
{
	return find(rs, owner, id, false);
}

struct room *
room_find_run(struct rooms *rs, const char *owner, const char *id)
{
	return find(rs, owner, id, true);
}

static struct room *
find_expired(struct rooms *rs, uint64_t now_us)
{
	struct room *r;

	pthread_mutex_lock(&rs->lock);
	for (r = rs->first; r; r = r->next)
		if (r->expires_us && r->expires_us <= now_us)
			break;
	if (r)
		r->holders++;
	pthread_mutex_unlock(&rs->lock);
	return r;
}

void
rooms_sweep(struct rooms *rs)
{
	uint64_t now_us = loop_now_us();
	struct room *r;

	while ((r = find_expired(rs, now_us))) {
		room_drop(r);
		room_put(r);
	}
	if (rs->artifacts)
		artifact_store_sweep(rs->artifacts);
}

void
room_set_life(struct room *r, uint64_t life_ms)
{
	pthread_mutex_lock(&r->all->lock);
	r->expires_ms = life_ms ? wall_ms() + life_ms : 0;
	r->expires_us = life_ms ? loop_now_us() + life_ms * 1000 : 0;
	pthread_mutex_unlock(&r->all->lock);
}

const char *
room_id(const struct room *r)
{
	return r->id;
}

const char *
room_policy(const struct room *r)
{
	return r->opt.policy_json;
}

uint64_t
room_memory(const struct room *r)
{
	return r->opt.memory_bytes;
}

/* The lock is held. */
static struct room_view
look(const struct room *r)
{
	struct room_view v = {
		.state = r->state,
		.forkable = r->opt.forkable,
		.created_ms = r->created_ms,
		.expires_ms = r->expires_ms,
		.cells = r->cells,
		.waiting = r->queued,
	};

	memcpy(v.id, r->id, sizeof(v.id));
	return v;
}

struct room_view
room_look(struct room *r)
{
	struct room_view v;

	pthread_mutex_lock(&r->all->lock);
	v = look(r);
	pthread_mutex_unlock(&r->all->lock);
	return v;
}

size_t
rooms_count(struct rooms *rs, const char *owner)
{
	size_t n = 0;

	pthread_mutex_lock(&rs->lock);
	for (const struct room *r = rs->first; r; r = r->next)
		n += !owner || !strcmp(r->owner, owner);
	pthread_mutex_unlock(&rs->lock);
	return n;
}

uint64_t
rooms_memory(struct rooms *rs, const char *owner)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&rs->lock);
	for (const struct room *r = rs->first; r; r = r->next)
		if (!strcmp(r->owner, owner))
			bytes += r->opt.memory_bytes;
	pthread_mutex_unlock(&rs->lock);
	return bytes;
}

int
rooms_list(struct rooms *rs, const char *owner, struct room_view **out,
	   size_t *count)
{
	struct room_view *views;
	size_t n = 0;

	pthread_mutex_lock(&rs->lock);
	views = calloc(rs->count + 1, sizeof(*views));
	for (const struct room *r = rs->first; r && views; r = r->next)
		if (!r->is_run && (!owner || !strcmp(r->owner, owner)))
			views[n++] = look(r);
	pthread_mutex_unlock(&rs->lock);
	if (!views)
		return -1;
	*out = views;
	*count = n;
	return 0;
}
