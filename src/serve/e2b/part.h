/*
 * e2b_part: what the files of E2B's API have in common. For them only.
 *
 * A sandbox is a hosted session, and what its client wants to be remembered of
 * it.
 */
#ifndef REMIT_E2B_PART_H
#define REMIT_E2B_PART_H

#include "base/own.h"
#include "hosted/hosted.h"
#include "serve/auth/keys.h"
#include "serve/e2b/e2b.h"
#include "serve/e2b/request.h"
#include "serve/exchange.h"
#include "serve/server.h"

#define SANDBOX_CONTEXTS_MAX 64
#define SANDBOX_DEBUG_ID     "debug_sandbox_id"

struct context {
	struct context *next;
	char id[HOSTED_ID_SIZE]; /* and the name of its namespace */
	char *cwd;
	uint64_t executions;
};

struct sandbox {
	struct sandbox *next;
	struct refcount refs;
	char id[HOSTED_ID_SIZE];
	struct hosted *hosted;
	struct key *key;
	/* What its client must know, besides the id. */
	char token[2 * HOSTED_ID_SIZE];
	json_t *metadata; /* objects of strings */
	json_t *env;
	/* Of its policy. */
	uint64_t cpus, memory_bytes, disk_bytes;
	bool may_start_programs, has_network;
	/* ---- under the lock of all ---- */
	struct context *contexts;     /* oldest first; the first is "main" */
	char running[HOSTED_ID_SIZE]; /* the context whose cell runs, or "" */
	struct command *commands;     /* that run or wait */
	unsigned writers;	      /* requests that give them input */
	struct watcher *watchers;     /* whose clients ask */
	bool enforcement_sent;	      /* what its policy is kept by */
};

struct e2b {
	pthread_mutex_t lock;
	struct sandbox *first;
	struct watcher *streams; /* whose clients wait */
	bool debug;
};

/* ---- replies ---- */

/* {"code": status, "message": ...} */
void e2b_fail(struct exchange *x, int status, const char *fmt, ...)
	printf_like(3, 4);
/* The same for an error of the library. */
void e2b_error(struct exchange *x, const struct remit_error *err);
/* A line of NDJSON; takes it. Other letters than ASCII are escaped: clients
   decode each piece of the network by itself. -1: nobody reads. */
int e2b_line(struct exchange *x, json_t *line);

/* ---- sandboxes ---- */

/* Of this request, held, for whoever knows its token or its key. NULL: the
   reply is there. */
struct sandbox *e2b_find(struct exchange *x);
/* For routes: whether the request is for a sandbox that it may use, and not one
   too many. */
bool e2b_admits(struct exchange *x);
/* By the id in the path, of this key. NULL: the reply is there. */
struct sandbox *e2b_find_named(struct exchange *x);
struct sandbox *sandbox_ref(struct sandbox *sb);
void sandbox_unref(struct sandbox *sb);
/* Held, without a hosted session or an id; NULL without memory. */
struct sandbox *sandbox_new(struct key *key);
/* Into the table; and out of it, with its hosted session. */
void sandbox_list(struct exchange *x, struct sandbox *sb);
void sandbox_kill(struct exchange *x, struct sandbox *sb);
/* Those that are there still, each held; free() the list. */
struct sandbox **sandbox_all(struct exchange *x, size_t *count);
/* The sandbox of clients in debug mode. */
struct sandbox *e2b_debug_sandbox(struct exchange *x);

/* ---- contexts, under the lock ---- */

struct context *context_find(struct sandbox *sb, const char *id);
/* NULL: there are too many, or there is no memory. */
struct context *context_add(struct sandbox *sb, const char *id,
			    const char *cwd);
void context_remove(struct sandbox *sb, struct context *c);

/* ---- cells ---- */

/* What a cell is given: lent to its hosted session by `loan`. */
struct e2b_job {
	struct hosted_job hosted;
	char *code;
	char context[HOSTED_ID_SIZE];
	struct list env;
	int input; /* what it reads, or -1 */
};

/* A cell with the sandbox's variables, and those of an object, which may be
   NULL. Takes the code, which may be NULL for want of memory. NULL: no memory,
   or the object has something else than strings. */
struct e2b_job *e2b_job_new(const struct sandbox *sb, const char *context,
			    char *code, const json_t *env);
void e2b_job_free(void *job);

/* ---- the control plane: control.c and make.c ---- */

/* What a client is told of a sandbox that is made for it. */
json_t *e2b_made_json(const struct sandbox *sb);
/* The member "timeout" of a request. */
int e2b_parse_life(const json_t *body, uint64_t *life_ms,
		   struct remit_error *err) must_check;

void e2b_post_sandbox(struct exchange *x);
void e2b_post_fork(struct exchange *x);

/* ---- the code interpreter's plane: execute.c and contexts.c ---- */

void e2b_get_contexts(struct exchange *x);
void e2b_post_context(struct exchange *x);
void e2b_restart_context(struct exchange *x);
void e2b_delete_context(struct exchange *x);

#endif
