/*
 * nursery: one zygote and the workers that wait to be joined by its children.
 * All pools with the same interpreter and preloaded modules share one.
 */
#ifndef REMIT_NURSERY_H
#define REMIT_NURSERY_H

#include "base/loop.h"
#include "jail/zygote.h"

struct worker;
struct keeper;
struct pool;

/* A new zygote after so many children, or so long: all children of one share
   its memory layout and hash seed. */
#define NURSERY_FORKS_MAX 10000
#define NURSERY_AGE_US	  (15 * 60 * 1000000ull)
/* After a crash of a child, but not younger than this: code that crashes in a
   loop must not leave everyone without a zygote. Its tries to guess the layout
   are few in that time. */
#define NURSERY_CRASH_AGE_US (2 * 1000000ull)
/* Killed from outside so often while it started, or too slow, it is left alone
   for a while: there may be no memory or no processor for it. */
#define NURSERY_KILLS_MAX 3
#define NURSERY_REST_US	  (10 * 1000000ull)
/* Jails at the zygote's door at once. */
#define NURSERY_PENDING 16

enum nursery_state {
	NURSERY_STARTING,
	NURSERY_READY,
	NURSERY_UNFIT, /* it said why: trying again would not help */
	NURSERY_DOWN,  /* not started, or gone: it may be started again */
};

struct nursery {
	struct nursery *next; /* of the keeper's list */
	struct keeper *keeper;
	char *key;
	struct zygote zygote;
	enum nursery_state state;
	bool crashed;	       /* one of its children: it is to be replaced */
	bool replaces_crashed; /* its children wait until it is ready */
	struct list preload;
	char *python;
	struct remit_error error; /* why it is unfit, or left alone */
	unsigned forks, restarts;
	unsigned kills; /* in a row, while it started */
	unsigned hangs; /* in a row, at its first fork */
	unsigned lates; /* in a row, while it imported */
	uint64_t not_before_us;
	uint64_t since_us;
	struct worker *pending[NURSERY_PENDING];
	size_t pending_count;
	struct source on_control;
	struct timer patience;
};

/* The one for this pool's plan, started if it is not. */
struct nursery *nursery_find(struct pool *p, struct remit_error *err);
/* Start it, if it is down. */
int nursery_start(struct nursery *n, struct pool *p,
		  struct remit_error *err) must_check;
/* The user that its zygote is. */
uint32_t nursery_uid(const struct nursery *n);
bool nursery_has_room(const struct nursery *n);

/* Have a child put into this jail; worker_joined() or worker_failed() will
   tell. */
void nursery_join(struct nursery *n, struct worker *i);
void nursery_forget(struct nursery *n, const struct worker *i);
/* How one of its children ended: a crash says that somebody tries its walls. */
void nursery_note_end(struct nursery *n, int wait_status);
/* Replace the zygote at the next chance, if its time has come. */
void nursery_rotate(struct nursery *n, uint64_t now_us);
/* True if it was this zygote that the keeper has reaped with this end. */
bool nursery_reaped(struct nursery *n, pid_t pid, int wait_status);

json_t *nursery_to_json(const struct nursery *n);
void nursery_free(struct nursery *n);

#endif
