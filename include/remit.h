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

struct remit_job {
	const char *code;
	size_t code_len;
	const char *name; /* shown in tracebacks; NULL: "main.py" */
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
	/* Polled while the run lasts if >= 0: when it becomes readable the
	   program gets SIGINT, and two seconds later it is killed. */
	int interrupt_fd;
	/* Called while the run lasts, at least ten times a second and after
	   each signal that this thread got, or NULL. Not 0: as if
	   interrupt_fd had become readable. For hosts whose signal handlers
	   only leave a mark, such as interpreters. */
	int (*on_wait)(void *user);
	void *user;
};

/* A job with every member at its default. */
#define REMIT_JOB_INIT                             \
	{                                          \
		.stdin_fd = -1, .interrupt_fd = -1 \
	}

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
