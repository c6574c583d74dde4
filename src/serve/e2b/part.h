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
#include "hosted/snapshot/store.h"
#include "serve/auth/keys.h"
#include "serve/e2b/e2b.h"
#include "serve/e2b/request.h"
#include "serve/e2b/usage.h"
#include "serve/exchange.h"
#include "serve/server.h"

#define SANDBOX_CONTEXTS_MAX 64
#define SANDBOX_DEBUG_ID     "debug_sandbox_id"

struct context {
	struct context *next;
	char id[HOSTED_ID_SIZE]; /* also names its namespace */
	char *cwd;
	enum e2b_language language;
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
	/* The snapshot that the sandbox was made from, or "". */
	char template[SNAPSHOT_ID_SIZE];
	bool has_secrets;   /* its client gave some */
	bool pauses_at_end; /* its life ends with a pause */
	/* copied from the sandbox's policy */
	uint64_t cpus, memory_bytes, disk_bytes, input_bytes;
	bool may_start_programs;
	const char *why_no_ports; /* NULL: its ports can be reached */
	bool has_public_ports;	  /* its client wants no token for them */
	/* ---- protected by the lock of struct e2b ---- */
	bool has_network;
	/* Members of the request that made the sandbox: with them another one
	   gets the same policy, metadata and variables. The object is never
	   changed, only replaced, when the network changes. */
	json_t *wishes;
	struct context *contexts;     /* oldest first; the first is "main" */
	char running[HOSTED_ID_SIZE]; /* context of the running cell */
	struct watcher *watchers;     /* whose clients poll */
	bool enforcement_sent;	      /* "enforcement" was in a result */
	bool is_pausing;
	bool is_killed;		   /* by its client: nothing of it may stay */
	bool is_stored;		   /* by a pause that is ending it */
	uint64_t ends_ms, ends_us; /* its life, if it pauses at the end */
	uint64_t port_uses;	   /* connections to its ports */
	struct usage usage;
	/* ---- protected by a separate lock, which may be taken after the
	   other ---- */
	pthread_mutex_t metadata_lock;
	struct metadata *metadata_of_files;
};

struct e2b {
	pthread_mutex_t lock;
	struct sandbox *first;
	struct watcher *streams; /* watchers whose clients stream */
	uint64_t port_uses;	 /* connections to ports of all sandboxes */
	struct usage_sampler sampler;
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
/* Returns a reference to a live sandbox, whichever key it belongs to. If there
   is none, sends what E2B's proxies send for a port of a missing sandbox. */
struct sandbox *e2b_find_live(struct exchange *x, const char *id);
/* Whether this is the sandbox's token. Takes the same time for each wrong
   one. */
bool sandbox_has_token(const struct sandbox *sb, struct http_text given);
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
/* Returns whether a pause has stored the sandbox already. */
bool sandbox_kill(struct exchange *x, struct sandbox *sb);
/* The same without an exchange. */
void sandbox_end(struct e2b *e, struct sandbox *sb);
/* Set and get when its life ends, as hosted_set_life() and
   hosted_extend_life(). */
void sandbox_set_life(struct e2b *e, struct sandbox *sb, uint64_t life_ms);
void sandbox_extend_life(struct e2b *e, struct sandbox *sb, uint64_t life_ms);
uint64_t sandbox_ends_ms(struct e2b *e, struct sandbox *sb);
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
struct context *context_add(struct sandbox *sb, const char *id, const char *cwd,
			    enum e2b_language language);
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
/* Makes a sandbox from the files of a paused one, with its id and token.
   Replies, also if that fails. */
void e2b_resume(struct exchange *x, const struct snapshot_info *info);

/* Whether the server can store sandboxes, and this request accepts that their
   memory is not stored: its member `name` is false. Fails with the remedy if
   not. */
int e2b_check_storing(const struct server *s, const json_t *body,
		      const char *name, struct remit_error *err) must_check;
/* The paused sandboxes and snapshots of a key. The text is what was stored with
   one; NULL after a failure. */
bool e2b_find_stored(const struct exchange *x, unsigned kinds, const char *id,
		     struct snapshot_info *out);
json_t *e2b_stored_about(struct server *s, const char *owner, const char *id,
			 struct remit_error *err);
/* Describes a paused sandbox as GET /sandboxes does; NULL after a failure. */
json_t *e2b_paused_json(struct server *s, const char *owner,
			const struct snapshot_info *info);
json_t *e2b_time_json(uint64_t ms);

void e2b_post_pause(struct exchange *x);
void e2b_delete_paused(struct exchange *x);
void e2b_post_snapshot(struct exchange *x);
void e2b_put_network(struct exchange *x);
void e2b_get_snapshots(struct exchange *x);
void e2b_delete_template(struct exchange *x);

/* ---- the code interpreter's plane: execute.c and contexts.c ---- */

/* Whether the sandbox can run this language: bash needs programs. If not, sends
   an error. */
bool e2b_has_language(struct exchange *x, const struct sandbox *sb,
		      enum e2b_language language);
void e2b_get_contexts(struct exchange *x);
void e2b_post_context(struct exchange *x);
void e2b_restart_context(struct exchange *x);
void e2b_delete_context(struct exchange *x);

#endif
