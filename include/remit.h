/*
 * remit.h: run Python that a language model wrote, strictly within its remit.
 *
 * A policy is a document of fields that says what a program may do. A field is
 * a promise: the kernel enforces it, or the run is refused before anything
 * starts. Every result lists the mechanisms that enforced each field.
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
 *	remit_result_free(res);
 *	remit_close(r);
 *
 * Errors: a function that takes a struct remit_error returns 0, or -1 with
 * *err filled in. Outputs are written only on success. The library never
 * prints, never exits and never changes a signal handler.
 *
 * Threads: all functions may be called from any thread, and many threads may
 * use one struct remit at the same time.
 *
 * Processes: a struct remit belongs to the process that opened it. After a
 * fork(2) the child may only call remit_close(), which does not affect the
 * parent.
 *
 * Memory: arguments need to be valid only until the function returns, but the
 * names and descriptions of a session's tools until the session and all its
 * branches are freed. Strings are UTF-8, and end in a NUL unless a length is
 * given.
 */
#ifndef REMIT_H
#define REMIT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REMIT_API __attribute__((visibility("default")))

/* ---- errors ---- */

/* The kind of an error: what the caller can do about it. */
enum remit_code {
	REMIT_OK,
	REMIT_E_INPUT,	  /* the policy, job or arguments are wrong: fix them */
	REMIT_E_REFUSED,  /* this host cannot enforce the policy: see remedy */
	REMIT_E_BUSY,	  /* too much at once: try again later */
	REMIT_E_GONE,	  /* the keeper or the caller went away */
	REMIT_E_KERNEL,	  /* a system call failed */
	REMIT_E_MEMORY,	  /* out of memory */
	REMIT_E_PROTOCOL, /* the peer broke the protocol */
	REMIT_E_INTERNAL, /* a defect in Remit */
	REMIT_E_ELSEWHERE, /* refused by a shared keeper; a private one can */
	REMIT_E_INSTALL,   /* a package could not be installed */
};

/* A plain value: nothing to free. */
struct remit_error {
	enum remit_code code;
	int sys_errno;	    /* errno of the failed system call, or 0 */
	char where[48];	    /* the policy field or jail step, or "" */
	char message[1024]; /* what was tried, on what, why it failed */
	char remedy[512];   /* what to do about it, or "" */
};

/* Returns the name of an error code: "input", "refused", ... */
REMIT_API const char *remit_code_name(enum remit_code code);

/* ---- opening ---- */

struct remit;
struct remit_result;

struct remit_options {
	/* The socket of a shared keeper. If NULL, the library uses
	   REMIT_KEEPER if that is set, else $XDG_RUNTIME_DIR/remit/keeper.sock
	   if a keeper answers there, else a private keeper that lives as long
	   as this struct remit. */
	const char *keeper_path;
	/* If not 0, always start a private keeper. */
	int private_keeper;
	/* Path of the remit command, which is also the keeper's program. If
	   NULL, the one that was installed with this library. */
	const char *command_path;
};

/* Finds or starts a keeper. `opt` may be NULL: all defaults. */
REMIT_API int remit_open(struct remit **out, const struct remit_options *opt,
			 struct remit_error *err);
/* Closes `r`, and ends its keeper if that is private. Close all sessions
   first. */
REMIT_API void remit_close(struct remit *r);

/* Returns the version of the library: "1.2.3". */
REMIT_API const char *remit_version(void);

/* ---- jobs ---- */

enum remit_stream { REMIT_STDOUT = 1, REMIT_STDERR = 2 };

/* A file that is put into the workspace before the code starts. */
struct remit_file {
	/* Its path in the jail: relative to the policy's workspace, or absolute
	   and below it. */
	const char *path;
	/* Its contents: those of this regular file of the caller, or `bytes`
	   if this is NULL. */
	const char *host_path;
	const char *bytes;
	size_t len;
};

/* One form of a displayed object, such as text/plain or image/png. */
struct remit_part {
	const char *mime;
	const char *bytes; /* text is UTF-8 */
	size_t len;
};

/* An object that the code displayed, or the value of its last expression: the
   same object in several forms. */
struct remit_display {
	int is_value; /* not 0: the value of the last expression */
	const struct remit_part *parts;
	size_t part_count;
};

/* The answer to a question (see on_question). */
enum remit_answer {
	REMIT_DENY,
	REMIT_ALLOW_ONCE,
	REMIT_ALLOW_RUN, /* and do not ask again in this run */
	/* Like REMIT_ALLOW_RUN. The frontend that asks should also remember
	   the answer for later runs, if it can. */
	REMIT_ALLOW_ALWAYS,
};

/* A request of the code that the policy neither allows nor refuses. */
struct remit_question {
	const char *kind;    /* "tool" or "host" */
	const char *subject; /* the name of the tool, or HOST:PORT */
	/* The arguments of the tool call as JSON, or NULL for other kinds. The
	   code chose this text: it has any length, and must be escaped before
	   it is shown on a terminal. */
	const char *detail;
};

/* ---- tools ---- */

/* When on_question must allow a tool call. */
enum remit_approval {
	REMIT_APPROVAL_NEVER,
	REMIT_APPROVAL_ALWAYS, /* before each call */
	REMIT_APPROVAL_FIRST,  /* before the first call of a run */
};

/* A tool call that has not been answered. */
struct remit_tool_call;

/*
 * A function of the caller that the code may call: as a Python function of
 * this name, or by call_tool(). docs/guide/tools.md describes what the code
 * sees.
 */
struct remit_tool {
	const char *name;	 /* a Python identifier of at most 64 bytes */
	const char *description; /* for people and models, or NULL */
	/* A JSON Schema of the arguments, which are always one JSON object. If
	   NULL, any object is accepted. A schema with a keyword that Remit does
	   not check is refused. */
	const char *schema_json;
	enum remit_approval approval;
	/*
	 * Called in the thread that waits for the run, one call at a time, with
	 * arguments that match the schema. Every call must be answered exactly
	 * once by remit_tool_reply() or remit_tool_fail(), either before this
	 * function returns or later from any thread. The run's output and its
	 * other calls wait until this function returns, so pass long work to
	 * another thread. `arguments_json` is valid until it returns.
	 */
	void (*call)(void *user, struct remit_tool_call *call,
		     const char *arguments_json, size_t len);
	void *user;
};

/* Returns the name of the tool. */
REMIT_API const char *remit_tool_call_name(const struct remit_tool_call *call);
/*
 * Returns a descriptor that becomes readable when the run has ended and the
 * answer is no longer needed. The call must be answered nevertheless; that
 * closes the descriptor.
 */
REMIT_API int remit_tool_call_over_fd(const struct remit_tool_call *call);
/*
 * Answer a call with one JSON value, or with a message that the code receives
 * as a ToolError. A reply that is not valid JSON is delivered as a ToolError,
 * too. Both functions free the call. An answer after the end of the run has no
 * effect.
 */
REMIT_API void remit_tool_reply(struct remit_tool_call *call, const char *json,
				size_t len);
REMIT_API void remit_tool_fail(struct remit_tool_call *call,
			       const char *message);

/* A program and its inputs: a run, or one cell of a session. Initialise it with
   REMIT_JOB_INIT. */
struct remit_job {
	const char *code;
	size_t code_len;
	/* The program's name in tracebacks. If NULL, "main.py". The name of a
	   file in the policy's workspace, such as "/workspace/a.py", also puts
	   its directory on the import path. */
	const char *name;
	const char *stdin_bytes;
	size_t stdin_len;
	/* If >= 0, read while the run lasts and passed to the program after
	   stdin_bytes. */
	int stdin_fd;
	const char *const *argv; /* sys.argv[1:], NULL-terminated, or NULL */
	const char *policy_json; /* NULL: the default policy */
	const struct remit_file *files;
	size_t file_count;
	/* The directory that receives the files which the policy's
	   artifact_export_paths match; created if missing. Existing files are
	   never changed: see artifacts_skipped in the result. If NULL, no file
	   leaves the jail. */
	const char *artifacts_dir;
	/* Called with each piece of output as it arrives, or NULL. */
	void (*on_output)(void *user, enum remit_stream stream,
			  const char *bytes, size_t len);
	/* Called with each display as it arrives, in order with the output,
	   and at the end with the value; or NULL. */
	void (*on_display)(void *user, const struct remit_display *d);
	/* The tools that the code may call. Other runs do not see them. */
	const struct remit_tool *tools;
	size_t tool_count;
	/* Called in the thread that waits for the run, before an action that
	   needs an answer. If NULL, the answer is REMIT_DENY. */
	enum remit_answer (*on_question)(void *user,
					 const struct remit_question *q);
	/* Called with each line of output of the package installation that
	   precedes the run, or NULL. The text is untrusted: escape it before it
	   is shown on a terminal. */
	void (*on_progress)(void *user, const char *line, size_t len);
	/* If >= 0, polled while the run lasts. When it becomes readable the
	   program gets SIGINT, and it is killed two seconds later. */
	int interrupt_fd;
	/* Called while the run lasts, at least ten times a second and after
	   each signal that this thread received, or NULL. If it returns a value
	   other than 0, the effect is that of a readable interrupt_fd. For
	   hosts such as interpreters, whose signal handlers only set a flag. */
	int (*on_wait)(void *user);
	/* Cells only. If not 0, a person types the code: incomplete code is not
	   run ("incomplete" in the result's session), the value of an
	   expression is printed, and stdin_fd is read only when the code reads
	   sys.stdin. */
	int interactive;
	/* Cells only. The name of the namespace that the cell runs in; NULL:
	   "main". All namespaces of a session share one interpreter, its
	   imported modules and its files. Each has its own variables and its
	   own current directory. If `fresh` is not 0, the variables of the
	   namespace are deleted first. */
	const char *context;
	int fresh;
	/* Cells only. Environment variables while the cell runs, "NAME=VALUE",
	   NULL-terminated, or NULL. Their old values are restored afterwards.
	 */
	const char *const *env;
	/* If not 0, a shorter limit than the policy's `timeout`. A longer one
	   has no effect. */
	unsigned long long timeout_ms;
	/* A name that groups runs for fair scheduling, or NULL. All programs
	   of one tenant together get the same share of processor time as all
	   programs of another tenant, or as one program without a tenant; this
	   needs the capability cgroup_share (see `remit doctor`). A tenant may
	   run at most two package installations of a keeper at a time. */
	const char *tenant;
	void *user; /* passed to all callbacks of this job */
};

/* A job with every member at its default. */
#define REMIT_JOB_INIT { .stdin_fd = -1, .interrupt_fd = -1 }

/*
 * Run one program in a fresh jail and wait until it ends. Returns 0 with a
 * result also if the program fails, is refused or is killed: the result's
 * status says which. Returns -1 only if there is no result at all.
 */
REMIT_API int remit_run(struct remit *r, const struct remit_job *job,
			struct remit_result **out, struct remit_error *err);

/* ---- sessions ---- */

/*
 * A session is one jail with one interpreter that runs many cells. Variables,
 * imports and files persist from cell to cell. Each cell has its own timeout,
 * cpu_seconds and output caps; memory, processes and disk are shared by the
 * whole session.
 *
 * A cell that exceeds its time gets SIGINT; if it has not stopped two seconds
 * later, its jail is killed. Then the state in the result's "session" is
 * "ended", also for every later cell, until remit_session_reset(). A session
 * that is idle for session_idle ends as well.
 *
 * A session runs one cell at a time: a second thread gets REMIT_E_BUSY. Close
 * or drop all sessions before remit_close().
 */
struct remit_session;

/*
 * The value of a credential whose policy entry ends in "given:NAME". Only the
 * network proxy receives it; no result, plan or log contains it. At most eight
 * secrets of at most 4095 bytes each.
 */
struct remit_secret {
	const char *name;
	const char *value;
};

struct remit_session_options {
	const char *policy_json; /* NULL: the default policy */
	/* As in struct remit_job. Files are exported when the session is
	   closed, or when its jail has ended. */
	const char *artifacts_dir;
	/* The tools that all cells may call. on_question is a member of each
	   cell's job. */
	const struct remit_tool *tools;
	size_t tool_count;
	/* If not 0, the session may have branches: see remit_session_fork(). */
	int forkable;
	const struct remit_secret *secrets;
	size_t secret_count;
	/* As in struct remit_job; also used when packages are installed. */
	const char *tenant;
};

/* Starts a session. `opt` may be NULL: all defaults. If the policy is refused,
   returns -1 with the field and the remedy in *err. */
REMIT_API int remit_session_open(struct remit *r,
				 const struct remit_session_options *opt,
				 struct remit_session **out,
				 struct remit_error *err);
/* Runs one cell and waits until it ends. The job's policy_json, artifacts_dir
   and tools must be NULL. Its files replace existing files of the same name.
   interrupt_fd sends SIGINT to the cell as for runs, but the cell is not
   killed afterwards. */
REMIT_API int remit_session_run(struct remit_session *s,
				const struct remit_job *job,
				struct remit_result **out,
				struct remit_error *err);
/* Returns the id by which remit_status() lists the session. It is valid until
   the session is freed. */
REMIT_API const char *remit_session_id(const struct remit_session *s);
/* Raises KeyboardInterrupt in the running cell, if there is one. May be called
   from any thread and from a signal handler. */
REMIT_API void remit_session_interrupt(struct remit_session *s);
/* Ends the jail at once, without commit or export. May be called from any
   thread. The call that is waiting for the session, and every later one, fails
   with REMIT_E_GONE. The session must still be freed with
   remit_session_drop(). */
REMIT_API void remit_session_kill(struct remit_session *s);
/*
 * Write the changes that cells have made in directories of mode rw to the host
 * now, instead of when the session is closed. The result has changes,
 * changes_skipped and committed. Threads that a cell left running are paused
 * meanwhile. Refused if the policy allows subprocesses.
 */
REMIT_API int remit_session_commit(struct remit_session *s,
				   struct remit_result **out,
				   struct remit_error *err);
/* Replaces the jail with a fresh one. Everything in the old jail is lost, and
   its uncommitted changes are discarded. */
REMIT_API int remit_session_reset(struct remit_session *s,
				  struct remit_error *err);
/*
 * Change which hosts the code may connect to, between two cells. `policy_json`
 * is a policy with no other fields than network_allow and network_access; one
 * that is left out stays as it is. New connections and look-ups of names are
 * judged by the new list when the function has returned, and connections that
 * it does not allow are closed. The list also applies after
 * remit_session_reset().
 *
 * Fails with REMIT_E_REFUSED, and changes nothing, if the session began without
 * hosts, if the list needs a port or an address that the first list did not
 * have, or if the policy has credentials, network_ask or entries with limits.
 */
REMIT_API int remit_session_network(struct remit_session *s,
				    const char *policy_json,
				    struct remit_error *err);
/*
 * Create a branch: an independent copy of the session as it is between two
 * cells, with its variables, files and current directory. Later changes in one
 * are not visible in the other, and random generators are seeded again. A
 * branch is an ordinary session with its own limits, and may have branches
 * itself. The policy's `branches` limits the number of branches of a session,
 * including those of its branches. `artifacts_dir` is that of the branch.
 *
 * Fails with REMIT_E_REFUSED if the session was not opened as forkable, or if
 * both sessions would share something: another thread, an open file, shared
 * memory, or tasks of an event loop. The session itself continues.
 */
REMIT_API int remit_session_fork(struct remit_session *s,
				 const char *artifacts_dir,
				 struct remit_session **out,
				 struct remit_error *err);

/* Ends the session properly: runs Python's exit handlers, commits directories
   of mode rw and exports artifacts. Frees the session even on failure, unless a
   cell is running (REMIT_E_BUSY). */
REMIT_API int remit_session_close(struct remit_session *s,
				  struct remit_result **out,
				  struct remit_error *err);
/* Ends the session at once, without commit or export, and frees it. */
REMIT_API void remit_session_drop(struct remit_session *s);

/* ---- files of a session ---- */

/*
 * Operations on files of a session, between two cells. The session's own
 * process performs them inside the jail, so an operation that is forbidden for
 * the code fails here as well, and a hostile program can give wrong answers
 * about its own files only. A path consists of bytes, and is absolute or
 * relative to the policy's workspace.
 */
enum remit_file_op {
	REMIT_FILE_READ = 1, /* `length` bytes from `offset` on */
	REMIT_FILE_WRITE,    /* replace or append; creates parent directories */
	REMIT_FILE_LIST,     /* a directory, down to `depth` levels */
	REMIT_FILE_STAT,
	REMIT_FILE_MAKE, /* a directory and its parents; EEXIST if it exists */
	REMIT_FILE_MOVE, /* to `to`, replacing what is there */
	REMIT_FILE_REMOVE, /* a directory with everything below it */
	REMIT_FILE_LINK,   /* a symbolic link with the text `to`; EEXIST */
	REMIT_FILE_SET,	   /* `mode` and `modified_ns`; not of a link */
};

/* The limits of one answer: bytes, entries, levels. */
#define REMIT_FILE_READ_MAX  ((size_t)64 * 1024 * 1024)
#define REMIT_FILE_LIST_MAX  10000
#define REMIT_FILE_DEPTH_MAX 64

struct remit_file_task {
	enum remit_file_op op;
	const char *path;
	const char *to; /* MOVE: the new path; LINK: what the link contains */
	/* WRITE: the contents, at most the policy's input_bytes. */
	const char *bytes;
	size_t len;
	int append; /* WRITE: if not 0, append instead of replacing */
	/* WRITE: if not 0, the bytes are compressed (gzip); the session's
	   process decompresses them. */
	int gunzip;
	/* READ: the first byte, and how many. A `length` of 0 means as many as
	   possible. */
	unsigned long long offset;
	size_t length;
	unsigned depth; /* LIST: levels to descend; 0 means 1 */
	/* SET: the permission bits, and a time since 1970. */
	unsigned mode;
	long long modified_ns;
};

enum remit_file_type {
	REMIT_FILE_IS_REGULAR = 1,
	REMIT_FILE_IS_FOLDER,
	REMIT_FILE_IS_LINK,
	REMIT_FILE_IS_OTHER,
};

struct remit_file_entry {
	const char *path; /* absolute, as the code sees it */
	enum remit_file_type type;
	unsigned mode; /* permission bits */
	unsigned long long size;
	long long modified_ns; /* since 1970 */
	const char *target;    /* of a symbolic link, else NULL */
	/* What a symbolic link leads to, absolute, through all further links;
	   NULL if it leads nowhere, or the entry is not a link. */
	const char *resolved;
	enum remit_file_type resolved_type; /* 0 without `resolved` */
	unsigned resolved_mode;
	/* Together they identify a file as long as it exists, also under
	   another name. */
	unsigned long long device, inode;
};

struct remit_file_answer {
	const char *bytes; /* READ: the bytes, and a NUL after them */
	size_t len;
	/* LIST: the entries, sorted by name. READ, WRITE, STAT and MAKE: one
	   entry, for the file itself. */
	const struct remit_file_entry *entries;
	size_t entry_count;
	int truncated; /* LIST: more than REMIT_FILE_LIST_MAX entries exist */
};

/*
 * Perform one operation. Returns -1 with REMIT_E_INPUT and sys_errno (ENOENT,
 * EACCES, ENOSPC, ...) if the operation failed in the jail, and with
 * REMIT_E_BUSY while a cell runs. A session that does not answer within 30
 * seconds is ended. Free *out with remit_file_answer_free().
 */
REMIT_API int remit_session_file(struct remit_session *s,
				 const struct remit_file_task *task,
				 struct remit_file_answer **out,
				 struct remit_error *err);
REMIT_API void remit_file_answer_free(struct remit_file_answer *a);

/* ---- information ---- */

/*
 * Write instructions for the prompt of a model that writes code for this
 * policy and these tools. They are derived from the plan, so they state only
 * what is true on this host. Set `session` to not 0 if the programs will be
 * cells of a session. Free *text with free(). Returns -1 also if the policy is
 * refused.
 */
REMIT_API int remit_instructions(struct remit *r, const char *policy_json,
				 const struct remit_tool *tools,
				 size_t tool_count, int session, char **text,
				 struct remit_error *err);

/* Describes what the keeper is doing (pools, zygotes, sessions, memory,
   latency) as one JSON object. Free *json with free(). */
REMIT_API int remit_status(struct remit *r, char **json,
			   struct remit_error *err);

/* ---- results ---- */

/* The pointers that these functions return are valid until
   remit_result_free(). */

/* Returns how the run ended: "ok", "error", "timeout", ...; remit(1) lists all
   statuses. */
REMIT_API const char *remit_result_status(const struct remit_result *res);
/* Returns the exit code that `remit run` would have; remit(1) has the table. */
REMIT_API int remit_result_exit_code(const struct remit_result *res);
/* Returns the whole result as one JSON object. */
REMIT_API const char *remit_result_json(const struct remit_result *res);
/* Returns the program's output, with a NUL after the last byte. `len` may be
   NULL. */
REMIT_API const char *remit_result_output(const struct remit_result *res,
					  enum remit_stream stream,
					  size_t *len);
REMIT_API void remit_result_free(struct remit_result *res);

#ifdef __cplusplus
}
#endif

#endif
