/*
 * zygote_server: one zygote and the workers that wait to be joined by its
 * children. All pools with the same interpreter and preloaded modules share
 * one.
 */
#ifndef REMIT_ZYGOTE_SERVER_H
#define REMIT_ZYGOTE_SERVER_H

#include "base/loop.h"
#include "jail/zygote.h"

struct worker;
struct keeper;
struct pool;

/* A new zygote after so many children, or so long: all children of one share
   its memory layout and hash seed. */
#define ZYGOTE_SERVER_FORKS_MAX 10000
#define ZYGOTE_SERVER_AGE_US	(15 * 60 * 1000000ull)
/* After a crash of a child, but not younger than this: code that crashes in a
   loop must not leave everyone without a zygote. Its tries to guess the layout
   are few in that time. */
#define ZYGOTE_SERVER_CRASH_AGE_US (2 * 1000000ull)
/* Killed from outside so often while it started, or too slow, it is left alone
   for a while: there may be no memory or no processor for it. */
#define ZYGOTE_SERVER_KILLS_MAX 3
#define ZYGOTE_SERVER_RETRY_US	(10 * 1000000ull)
/* Jails at the zygote's client at once. */
#define ZYGOTE_SERVER_PENDING 16

enum zygote_server_state {
	ZYGOTE_SERVER_STARTING,
	ZYGOTE_SERVER_READY,
	ZYGOTE_SERVER_UNFIT, /* it said why: trying again would not help */
	ZYGOTE_SERVER_DOWN,  /* not started, or gone: it may be started again */
};

struct zygote_server {
	struct zygote_server *next; /* of the keeper's list */
	struct keeper *keeper;
	char *key;
	struct zygote zygote;
	enum zygote_server_state state;
	bool crashed;	       /* one of its children: it is to be replaced */
	bool replaces_crashed; /* its children wait until it is ready */
	struct list preload;
	char *python;
	struct remit_error error; /* why it is unfit, or left alone */
	unsigned forks, restarts;
	unsigned kills;	       /* in a row, while it started */
	unsigned hangs;	       /* in a row, at its first fork */
	unsigned late_imports; /* in a row, while it imported */
	uint64_t not_before_us;
	uint64_t since_us;
	struct worker *pending[ZYGOTE_SERVER_PENDING];
	size_t pending_count;
	struct source on_control;
	struct timer deadline_timer;
};

/* The one for this pool's plan, started if it is not. */
struct zygote_server *zygote_server_find(struct pool *p,
					 struct remit_error *err);
/* Start it, if it is down. */
int zygote_server_start(struct zygote_server *n, struct pool *p,
			struct remit_error *err) must_check;
/* The user that its zygote is. */
uint32_t zygote_server_uid(const struct zygote_server *n);
bool zygote_server_has_space(const struct zygote_server *n);

/* Have a child put into this jail; worker_joined() or worker_failed() will
   tell. */
void zygote_server_join(struct zygote_server *n, struct worker *i);
void zygote_server_remove_worker(struct zygote_server *n,
				 const struct worker *i);
/* How one of its children ended: a crash says that somebody tries its walls. */
void zygote_server_note_end(struct zygote_server *n, int wait_status);
/* Replace the zygote at the next chance, if its time has come. */
void zygote_server_rotate(struct zygote_server *n, uint64_t now_us);
/* True if it was this zygote that the keeper has reaped with this end. */
bool zygote_server_reaped(struct zygote_server *n, pid_t pid, int wait_status);

json_t *zygote_server_to_json(const struct zygote_server *n);
void zygote_server_free(struct zygote_server *n);

#endif
