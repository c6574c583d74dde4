/*
 * e2b_part: declarations shared by the files of E2B's API. For these files
 * only.
 *
 * A sandbox is a hosted session together with data that its client expects the
 * server to remember.
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
	char id[HOSTED_ID_SIZE]; /* also names its namespace */
	char *cwd;
	uint64_t executions;
};

struct sandbox {
	struct sandbox *next;
	struct refcount refs;
	char id[HOSTED_ID_SIZE];
	struct hosted *hosted;
	struct key *key;
	/* The client must send it, besides the id. */
	char token[2 * HOSTED_ID_SIZE];
	json_t *metadata; /* an object of strings */
	json_t *env;
	/* The paths that lead to its workspace; the first is that of the
	   jail. */
	struct list names;
	/* From its policy. */
	uint64_t cpus, memory_bytes, disk_bytes;
	bool may_start_programs, has_network;
	/* ---- protected by the lock of struct e2b ---- */
	struct context *contexts;     /* oldest first; the first is "main" */
	char running[HOSTED_ID_SIZE]; /* context of the running cell */
	struct command *commands;     /* running */
	struct watcher *watchers;     /* whose clients poll */
	bool enforcement_sent;	      /* "enforcement" was in a result */
	/* ---- protected by a separate lock, which may be taken after the
	   other ---- */
	pthread_mutex_t metadata_lock;
	struct metadata *metadata_of_files;
};

struct e2b {
	pthread_mutex_t lock;
	struct sandbox *first;
	struct watcher *streams; /* watchers whose clients stream */
	bool debug;
};

/* ---- replies ---- */

/* Replies {"code": status, "message": ...}. */
void e2b_fail(struct exchange *x, int status, const char *fmt, ...)
	printf_like(3, 4);
/* Like e2b_fail(), as the member `fail` of struct route. */
void e2b_fail_text(struct exchange *x, int status, const char *message);
/* Like e2b_fail(), for an error of the library. */
void e2b_error(struct exchange *x, const struct remit_error *err);
/* Sends a line of NDJSON and frees it. Non-ASCII characters are escaped, since
   clients decode each piece from the network separately. Returns -1 if the
   client is gone. */
int e2b_line(struct exchange *x, json_t *line);

/* ---- sandboxes ---- */

/* Returns a reference to the sandbox of this request, if the request has its
   token or its key; otherwise NULL, after it has sent an error. */
struct sandbox *e2b_find(struct exchange *x);
/* For routes: whether the request may use its sandbox, and its key has not
   exceeded its rate. */
bool e2b_admits(struct exchange *x);
/* Returns a reference to this key's sandbox with the id in the path, or NULL
   after it has sent an error. */
struct sandbox *e2b_find_named(struct exchange *x);
struct sandbox *sandbox_ref(struct sandbox *sb);
void sandbox_unref(struct sandbox *sb);
/* Returns a new sandbox without a hosted session and an id, or NULL if memory
   is exhausted. */
struct sandbox *sandbox_new(struct key *key);
/* Sets the names of the workspace, and the directory of the main context.
   Called before the sandbox is in the table. Returns -1 if memory is
   exhausted. */
int sandbox_set_names(struct sandbox *sb, const struct list *names) must_check;
/* Add a sandbox to the table; and remove it together with its hosted
   session. */
void sandbox_add(struct exchange *x, struct sandbox *sb);
void sandbox_kill(struct exchange *x, struct sandbox *sb);
/* Returns references to all live sandboxes. The caller frees the list. */
struct sandbox **sandbox_all(struct exchange *x, size_t *count);
/* Parses a host name such as "49999-ID.any.domain". Returns the port, or 0 if
   the name has another form. */
unsigned e2b_parse_host(const char *host, char id[HOSTED_ID_SIZE]);
/* Makes the default sandbox for clients in debug mode. */
struct sandbox *e2b_debug_sandbox(struct exchange *x);

/* ---- contexts; called with the lock held ---- */

struct context *context_find(struct sandbox *sb, const char *id);
/* Returns NULL if there are too many, or if memory is exhausted. */
struct context *context_add(struct sandbox *sb, const char *id,
			    const char *cwd);
void context_remove(struct sandbox *sb, struct context *c);

/* ---- cells ---- */

/* The inputs of a cell, lent to its hosted session. */
struct e2b_job {
	struct hosted_job hosted;
	char *code;
	char context[HOSTED_ID_SIZE];
	struct list env;
};

/* Makes a cell with the sandbox's variables and those of an object, which may
   be NULL. Takes ownership of the code, which may be NULL if memory was
   exhausted. Returns NULL if memory is exhausted or a variable is not a
   string. */
struct e2b_job *e2b_job_new(const struct sandbox *sb, const char *context,
			    char *code, const json_t *env);
void e2b_job_free(void *job);

/* ---- the control plane: control.c, fork.c and make.c ---- */

/* Describes a new sandbox to its client. */
json_t *e2b_made_json(const struct sandbox *sb);
/* Parses the member "timeout" of a request. */
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
