/*
 * remit.h: run Python that a language model wrote, strictly within its remit.
 *
 * A policy field is a promise: the kernel keeps it, or the run is refused
 * before anything starts. Every result says which mechanism kept each field.
 *
 *	struct remit *r;
 *	struct remit_result *res;
 *	struct remit_error err;
 *	struct remit_job job = REMIT_JOB_INIT;
 *
 *	job.code = "print(6 * 7)";
 *	job.code_len = strlen(job.code);
 *	if (remit_open(&r, NULL, &err) < 0 ||
 *	    remit_run(r, &job, &res, &err) < 0)
 *		return report(err.message);
 *	puts(remit_result_json(res));
 *
 * Every function returns 0, or -1 with *err filled. Outputs are written only
 * on success. The library never prints, never exits and changes no signal
 * handler. All functions may be called from any thread; one struct remit may
 * serve many threads at once. It belongs to the process that opened it: after
 * a fork the child may only remit_close() it, which leaves the parent's alone.
 */
#ifndef REMIT_H
#define REMIT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REMIT_API __attribute__((visibility("default")))

/* What the caller can do about an error. */
enum remit_code {
	REMIT_OK,
	REMIT_E_INPUT,	  /* the policy, job or arguments are wrong: fix them */
	REMIT_E_REFUSED,  /* the policy cannot be kept here: see the remedy */
	REMIT_E_BUSY,	  /* too much at once: try again later */
	REMIT_E_GONE,	  /* the keeper or the caller went away */
	REMIT_E_KERNEL,	  /* a system call failed */
	REMIT_E_MEMORY,	  /* no memory */
	REMIT_E_PROTOCOL, /* the other side broke the protocol */
	REMIT_E_INTERNAL, /* a defect in Remit */
	REMIT_E_ELSEWHERE, /* refused by a shared keeper: a private one can */
	REMIT_E_INSTALL,   /* a package could not be installed */
};

/* A plain value: nothing to free. */
struct remit_error {
	enum remit_code code;
	int sys_errno;	    /* 0 if no system call was involved */
	char where[48];	    /* the policy field or jail step, or "" */
	char message[1024]; /* what was tried, on what, why it failed */
	char remedy[512];   /* what to do about it, or "" */
};

/* The name of an error code: "input", "refused", ... */
REMIT_API const char *remit_code_name(enum remit_code code);

struct remit;
struct remit_result;

struct remit_options {
	/* A shared keeper's socket. NULL: REMIT_KEEPER if that is set, else
	   $XDG_RUNTIME_DIR/remit/keeper.sock if a keeper answers there, else
	   a private keeper that lives as long as this struct remit. */
	const char *keeper_path;
	/* Not 0: a private keeper in any case. */
	int private_keeper;
	/* The remit command, which is also the keeper. NULL: the one
	   installed with this library. */
	const char *command_path;
};

enum remit_stream { REMIT_STDOUT = 1, REMIT_STDERR = 2 };

/* A file that the code finds in its workspace when it starts. */
struct remit_file {
	/* Where: relative to /workspace, or absolute and below it. */
	const char *path;
	/* What: a regular file of the caller, or else these bytes. */
	const char *host_path;
	const char *bytes;
	size_t len;
};

/* One form of what the code shows: text/plain, image/png, ... */
struct remit_part {
	const char *mime;
	const char *bytes; /* text is UTF-8 */
	size_t len;
};

/* The value of the code's last expression, or something it displayed: the same
   thing in several forms. */
struct remit_display {
	int is_value;
	const struct remit_part *parts;
	size_t part_count;
};

/* What a person says to a question. */
enum remit_answer {
	REMIT_DENY,
	REMIT_ALLOW_ONCE,
	REMIT_ALLOW_RUN,    /* for the rest of this run */
	REMIT_ALLOW_ALWAYS, /* the asker is to remember it, if it can */
};

/* Something the code wants that nobody has allowed or refused yet. */
struct remit_question {
	const char *kind;    /* "tool" or "host" */
	const char *subject; /* the tool's name; host:port */
	/* The tool's arguments as JSON, of any length and from the code: not
	   safe for a terminal as it is. NULL: there is no more to say. */
	const char *detail;
};

/* When a call of a tool must be allowed by on_question. */
enum remit_approval {
	REMIT_APPROVAL_NEVER,
	REMIT_APPROVAL_ALWAYS, /* each call */
	REMIT_APPROVAL_FIRST,  /* the first; its answer is for the whole run */
};

/* A call that waits for its answer. */
struct remit_tool_call;

/*
 * Something of the caller's that the code may call, as a function of this name
 * and by call_tool(). docs/guide/tools.md tells how it looks from inside.
 */
struct remit_tool {
	const char *name;	 /* a Python identifier of at most 64 bytes */
	const char *description; /* for people and models, or NULL */
	/* A JSON Schema of the arguments, which are always an object; NULL: any
	   object. A keyword that is not checked is refused, not ignored. */
	const char *schema_json;
	enum remit_approval approval;
	/*
	 * Called by the thread that waits for the run, one call after the
	 * other, with arguments that the schema allows. It answers by
	 * remit_tool_reply() or remit_tool_fail(), exactly once: now, or later
	 * from any thread. Until it returns, the run's output and its other
	 * calls wait; what takes long is handed to a thread.
	 */
	void (*call)(void *user, struct remit_tool_call *call,
		     const char *arguments_json, size_t len);
	void *user;
};

/* The tool's name. */
REMIT_API const char *remit_tool_call_name(const struct remit_tool_call *call);
/*
 * Readable as soon as nobody waits for the answer any more (the run has ended).
 * The call must be answered all the same; then the descriptor is closed.
 */
REMIT_API int remit_tool_call_over_fd(const struct remit_tool_call *call);
/*
 * Answer a call, with one JSON value or with a message that becomes a
 * ToolError. The call is gone afterwards. What is no JSON becomes a ToolError
 * too. After the end of the run an answer has no effect.
 */
REMIT_API void remit_tool_reply(struct remit_tool_call *call, const char *json,
				size_t len);
REMIT_API void remit_tool_fail(struct remit_tool_call *call,
			       const char *message);

struct remit_job {
	const char *code;
	size_t code_len;
	/* Shown in tracebacks; NULL: "main.py". One that begins with
	   "/workspace/" is as if it lay there: modules beside it can be
	   imported. */
	const char *name;
	const char *stdin_bytes;
	size_t stdin_len;
	/* Read and passed on behind stdin_bytes as the run lasts, if >= 0. */
	int stdin_fd;
	const char *const *argv; /* sys.argv[1:], NULL-terminated, or NULL */
	const char *policy_json; /* NULL: the default policy */
	const struct remit_file *files;
	size_t file_count;
	/* A folder for the files that the policy's artifact_export_paths
	   name; NULL: none leaves the jail. It is made if it is missing. What
	   is there already is never changed: see artifacts_skipped. */
	const char *artifacts_dir;
	/* Called with each piece of output as it arrives, or NULL. */
	void (*on_output)(void *user, enum remit_stream stream,
			  const char *bytes, size_t len);
	/* Called with each display as it arrives, in order with the output,
	   and with the value; or NULL. */
	void (*on_display)(void *user, const struct remit_display *d);
	/* What the code may call; it is told to no other run. */
	const struct remit_tool *tools;
	size_t tool_count;
	/* Asked by the thread that waits for the run, before anything is done
	   that needs an answer. NULL: the answer is REMIT_DENY. */
	enum remit_answer (*on_question)(void *user,
					 const struct remit_question *q);
	/* Called with each line about packages that are being installed before
	   the run, or NULL. The text is foreign: it may hold anything. */
	void (*on_progress)(void *user, const char *line, size_t len);
	/* Polled while the run lasts if >= 0: when it becomes readable the
	   program gets SIGINT, and two seconds later it is killed. */
	int interrupt_fd;
	/* Called while the run lasts, at least ten times a second and after
	   each signal that this thread got, or NULL. Not 0: as if
	   interrupt_fd had become readable. For hosts whose signal handlers
	   only leave a mark, such as interpreters. */
	int (*on_wait)(void *user);
	/* Of a cell: somebody types it. Code that is not complete is not run
	   (the result's session says so), the value of an expression is
	   printed, and stdin_fd is read only when sys.stdin is. */
	int interactive;
	/* Of a cell: the namespace that it runs in, by name; NULL: "main". All
	   are of one interpreter: files and imports are the session's, the
	   working folder is each one's own. `fresh`, if not 0: what was in it
	   is forgotten first. */
	const char *context;
	int fresh;
	/* Of a cell: "NAME=VALUE", NULL-terminated, or NULL: variables of the
	   environment while it runs; what they were before, they are after. */
	const char *const *env;
	/* Not 0: less time than the policy's `timeout`, which it cannot
	   exceed. */
	unsigned long long timeout_ms;
	/* Programs of one tenant together get as much processor time as one
	   program of another tenant, or as one without a tenant, where the
	   capability cgroup_share exists (see `remit doctor`), and two of a
	   keeper's installers at most. NULL: none. */
	const char *tenant;
	void *user;
};

/* A job with every member at its default. */
#define REMIT_JOB_INIT { .stdin_fd = -1, .interrupt_fd = -1 }

REMIT_API int remit_open(struct remit **out, const struct remit_options *opt,
			 struct remit_error *err);
REMIT_API void remit_close(struct remit *r);

/*
 * Run one program in a fresh jail and wait for its end. A program that fails,
 * is refused or is killed is a result, not an error: -1 means that there is
 * no result at all.
 */
REMIT_API int remit_run(struct remit *r, const struct remit_job *job,
			struct remit_result **out, struct remit_error *err);

/*
 * A session: one jail with one interpreter for many cells. Variables, imports
 * and files live on from cell to cell. Each cell has its own timeout,
 * cpu_seconds and output caps; memory, processes and disk are the session's.
 * A cell that is over its time gets SIGINT, and two seconds later its jail is
 * killed: then the result's "session" says "ended", and so does every further
 * cell until remit_session_reset(). An idle session ends after session_idle.
 *
 * One cell at a time: a second thread gets REMIT_E_BUSY. Sessions are closed
 * or dropped before their struct remit.
 */
struct remit_session;

/*
 * What a credential of the policy whose value is "given:NAME" has for one: it
 * goes to the proxy, and is in no result, plan or log. At most eight, of at
 * most 4095 bytes each.
 */
struct remit_secret {
	const char *name;
	const char *value;
};

struct remit_session_options {
	const char *policy_json; /* NULL: the default policy */
	/* As in struct remit_job: files leave when the session is closed, or
	   when its jail was ended. */
	const char *artifacts_dir;
	/* What all cells may call; on_question is each cell's own. */
	const struct remit_tool *tools;
	size_t tool_count;
	/* It may have branches: see remit_session_fork(). */
	int forkable;
	const struct remit_secret *secrets;
	size_t secret_count;
	/* As in struct remit_job, for the installation of its packages. */
	const char *tenant;
};

/* -1 also if the policy is refused: err has the field and the remedy. */
REMIT_API int remit_session_open(struct remit *r,
				 const struct remit_session_options *opt,
				 struct remit_session **out,
				 struct remit_error *err);
/* One cell. The job's policy_json and artifacts_dir must be NULL, and it has no
   tools of its own. Its files
   replace those of the same name. interrupt_fd is as for runs, but nobody is
   killed. */
REMIT_API int remit_session_run(struct remit_session *s,
				const struct remit_job *job,
				struct remit_result **out,
				struct remit_error *err);
/* From any thread or signal handler: KeyboardInterrupt for the cell that runs,
   if one does. */
REMIT_API void remit_session_interrupt(struct remit_session *s);
/* From any thread: its jail ends at once, as by remit_session_drop(). The call
   that waits for it, and every later one, fails with REMIT_E_GONE. It is to be
   dropped all the same. */
REMIT_API void remit_session_kill(struct remit_session *s);
/*
 * Write now what the cells so far have changed in folders of mode rw, instead
 * of at the end: the result has changes, changes_skipped and committed. Threads
 * that a cell left running stand still meanwhile. Refused if the policy allows
 * processes.
 */
REMIT_API int remit_session_commit(struct remit_session *s,
				   struct remit_result **out,
				   struct remit_error *err);
/* A fresh jail; nothing of the old one is left, and nothing more is
   committed. */
REMIT_API int remit_session_reset(struct remit_session *s,
				  struct remit_error *err);
/*
 * A branch: an independent copy of the session as it is between two cells,
 * with its variables, its files and its working folder. What one does from then
 * on the other does not see; random generators are seeded anew. A branch is a
 * session like any other, with limits of its own, and may have branches. The
 * policy's `branches` bounds how many a session and all its branches have.
 *
 * Refused (REMIT_E_REFUSED) if the session was not opened forkable, or if both
 * would share something: another thread, an open file, shared memory, tasks of
 * an event loop. The session goes on then.
 */
REMIT_API int remit_session_fork(struct remit_session *s,
				 const char *artifacts_dir,
				 struct remit_session **out,
				 struct remit_error *err);
/*
 * Files of a session, between two cells. The work is done inside the jail, by
 * its own process: what the code may not do is an error here too, and a program
 * that lies can lie about its own files and nothing else. Names are of bytes:
 * relative to /workspace, or absolute.
 */
enum remit_file_op {
	REMIT_FILE_READ = 1, /* `length` bytes from `offset` on */
	REMIT_FILE_WRITE,    /* makes the folders above; replaces or appends */
	REMIT_FILE_LIST,     /* a folder, `depth` levels of it */
	REMIT_FILE_STAT,
	REMIT_FILE_MAKE,   /* a folder and those above; EEXIST if it is there */
	REMIT_FILE_MOVE,   /* to `to`, and in place of what is there */
	REMIT_FILE_REMOVE, /* with all that is below */
};

/* The most that one answer holds: bytes, entries, levels. */
#define REMIT_FILE_READ_MAX  ((size_t)64 * 1024 * 1024)
#define REMIT_FILE_LIST_MAX  10000
#define REMIT_FILE_DEPTH_MAX 64

struct remit_file_task {
	enum remit_file_op op;
	const char *path;
	const char *to; /* of a move */
	/* Of a write: no more than the policy's input_bytes. */
	const char *bytes;
	size_t len;
	int append;
	/* Of a read. `length` 0: as much as may be. */
	unsigned long long offset;
	size_t length;
	unsigned depth; /* of a list; 0 is 1 */
};

enum remit_file_type {
	REMIT_FILE_IS_REGULAR = 1,
	REMIT_FILE_IS_FOLDER,
	REMIT_FILE_IS_LINK,
	REMIT_FILE_IS_OTHER,
};

struct remit_file_entry {
	const char *path; /* absolute, as the code names it */
	enum remit_file_type type;
	unsigned mode; /* permissions */
	unsigned long long size;
	long long modified_ns; /* since 1970 */
	const char *target;    /* of a link, else NULL */
};

struct remit_file_answer {
	const char *bytes; /* of a read, NUL-terminated behind the last */
	size_t len;
	/* Of a list, by name; of a read, write, stat or make the one. */
	const struct remit_file_entry *entries;
	size_t entry_count;
	int truncated; /* there are more than REMIT_FILE_LIST_MAX */
};

/*
 * -1 with REMIT_E_INPUT and sys_errno (ENOENT, EACCES, ENOSPC, ...) if the jail
 * would not do it, and with REMIT_E_BUSY while a cell runs. A session that does
 * not answer in 30 seconds is ended, as by a cell that does not stop.
 */
REMIT_API int remit_session_file(struct remit_session *s,
				 const struct remit_file_task *task,
				 struct remit_file_answer **out,
				 struct remit_error *err);
REMIT_API void remit_file_answer_free(struct remit_file_answer *a);

/* End it properly: what Python does at its end is done, folders of mode rw are
   committed, artifacts are written. Frees the session, whatever comes of it,
   unless a cell is running (REMIT_E_BUSY). */
REMIT_API int remit_session_close(struct remit_session *s,
				  struct remit_result **out,
				  struct remit_error *err);
/* End it at once: nothing is committed and nothing exported. */
REMIT_API void remit_session_drop(struct remit_session *s);

/*
 * What a model should be told that writes code for this policy and these tools:
 * text for its prompt, made from the plan, so that it says nothing that is not
 * so here. `session`: not 0 if its programs will be cells of a session. free()
 * the text. -1 also if the policy is refused.
 */
REMIT_API int remit_instructions(struct remit *r, const char *policy_json,
				 const struct remit_tool *tools,
				 size_t tool_count, int session, char **text,
				 struct remit_error *err);

/* What the keeper is doing (pools, zygotes, sessions, memory, latency), as one
   JSON object; free() it. */
REMIT_API int remit_status(struct remit *r, char **json,
			   struct remit_error *err);

/* "ok", "error", "timeout", ...: remit(1) lists them. */
REMIT_API const char *remit_result_status(const struct remit_result *res);
/* The exit code that `remit run` would give: remit(1) has the table. */
REMIT_API int remit_result_exit_code(const struct remit_result *res);
/* The whole result as one JSON object, valid until remit_result_free(). */
REMIT_API const char *remit_result_json(const struct remit_result *res);
/* What the program wrote, NUL-terminated behind the last byte. */
REMIT_API const char *remit_result_output(const struct remit_result *res,
					  enum remit_stream stream,
					  size_t *len);
REMIT_API void remit_result_free(struct remit_result *res);

REMIT_API const char *remit_version(void);

#ifdef __cplusplus
}
#endif

#endif
