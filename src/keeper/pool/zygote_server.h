/*
 * zygote_server: one zygote, and the workers that wait for a child of it. All
 * pools with the same interpreter, preloaded modules and path of the workspace
 * share one.
 */
#ifndef REMIT_ZYGOTE_SERVER_H
#define REMIT_ZYGOTE_SERVER_H

#include "base/loop.h"
#include "jail/zygote.h"

struct worker;
struct keeper;
struct pool;

/* A zygote is replaced after this many children or this time, because all its
   children have the same memory layout and hash seed. */
#define ZYGOTE_SERVER_FORKS_MAX 10000
#define ZYGOTE_SERVER_AGE_US	(15 * 60 * 1000000ull)
/* After a crash of a child the zygote is replaced too, but not before this age:
   code that crashes in a loop must not deprive other sessions of the zygote,
   and can guess the layout only a few times meanwhile. */
#define ZYGOTE_SERVER_CRASH_AGE_US (2 * 1000000ull)
/* If the zygote was killed this many times while it started, or was too slow,
   it is not started again for a while: there may be too little memory or
   processor time. */
#define ZYGOTE_SERVER_KILLS_MAX 3
#define ZYGOTE_SERVER_RETRY_US	(10 * 1000000ull)
/* How many zygotes may import preloaded modules at the same time. Each may take
   up to 2 GiB meanwhile (IMPORT_BYTES in runtime/module.c). */
#define ZYGOTE_SERVER_IMPORTS_MAX 2
/* How many workers may wait for a child. */
#define ZYGOTE_SERVER_PENDING 16

enum zygote_server_state {
	ZYGOTE_SERVER_STARTING,
	ZYGOTE_SERVER_READY,
	ZYGOTE_SERVER_UNFIT, /* it gave a reason for which trying again would
				not help */
	ZYGOTE_SERVER_DOWN,  /* not started, or ended; may be started again */
};

struct zygote_server {
	struct zygote_server *next; /* in the keeper's list */
	struct keeper *keeper;
	char *key;
	struct zygote zygote;
	enum zygote_server_state state;
	bool crashed; /* one of its children crashed, so it must be replaced */
	bool replaces_crashed; /* the previous zygote's children may be used
				  until this one is ready */
	struct list preload;
	char *python;
	struct remit_error error; /* why it is unfit, or not started for now */
	unsigned forks, restarts;
	unsigned kills;	       /* consecutive kills while it started */
	unsigned hangs;	       /* consecutive hangs at its first fork */
	unsigned late_imports; /* consecutive late imports */
	uint64_t not_before_us;
	uint64_t since_us;
	uint64_t bytes; /* its memory when it became ready */
	struct worker *pending[ZYGOTE_SERVER_PENDING];
	size_t pending_count;
	struct source on_control;
	struct timer deadline_timer;
};

/* Returns the zygote server for this pool's plan, and starts it if necessary.
   Returns NULL and sets *err on failure. */
struct zygote_server *zygote_server_find(struct pool *p,
					 struct remit_error *err);
/* Starts the zygote if it is down. If too many others are importing, it stays
   down, and starts when a pool is refilled after one of these has changed. */
int zygote_server_start(struct zygote_server *n, struct pool *p,
			struct remit_error *err) must_check;
/* Returns the uid that its zygote runs as. */
uint32_t zygote_server_uid(const struct zygote_server *n);
bool zygote_server_has_space(const struct zygote_server *n);

/* Requests a child for this jail; worker_joined() or worker_failed() reports
   the outcome. */
void zygote_server_join(struct zygote_server *n, struct worker *i);
void zygote_server_remove_worker(struct zygote_server *n,
				 const struct worker *i);
/* Handles the end of one of its children: a crash may be an attempt to break
   out. */
void zygote_server_note_end(struct zygote_server *n, int wait_status);
/* Replaces the zygote if it is due and no worker waits for a child. */
void zygote_server_rotate(struct zygote_server *n, uint64_t now_us);
/* Handles the death of a child of the keeper. Returns true if it was this
   zygote. */
bool zygote_server_reaped(struct zygote_server *n, pid_t pid, int wait_status);

json_t *zygote_server_to_json(const struct zygote_server *n);
void zygote_server_free(struct zygote_server *n);

#endif
