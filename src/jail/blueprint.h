/*
 * blueprint: everything that pid 1 and pid 2 of a jail need, prepared by the
 * keeper. After the clone these processes only carry it out: they parse nothing
 * and allocate nothing.
 */
#ifndef REMIT_BLUEPRINT_H
#define REMIT_BLUEPRINT_H

#include <sched.h>

#include "base/digest.h"
#include "jail/cgroup/home.h"
#include "jail/inside.h"
#include "jail/listeners.h"
#include "jail/lock_params.h"
#include "jail/mount/workspace.h"
#include "policy/plan/plan.h"

/* The last is /dev/zero. RLIMIT_AS does not count a shared mapping of it, so
   jails with that limit do not get the device. */
#define BLUEPRINT_DEVICES 4

/* Descriptors for the jail get numbers from here on, above those they will have
   inside, so that moving them into place overwrites none. */
#define BLUEPRINT_FIRST_FD 16

struct blueprint_mount {
	int fd; /* a detached mount, set up already; bare: the path itself */
	const char *jail;
	bool is_directory;
	bool runtime;
	uint32_t number;    /* in the plan, counted from 1; 0: none */
	bool overlaid;	    /* the code writes to an overlay over it */
	bool writable;	    /* Landlock allows writing */
	uint64_t max_bytes; /* from the plan */
	int write_root;	    /* from the plan */
};

enum blueprint_kind {
	BLUEPRINT_COLD,		 /* starts an interpreter in the jail */
	BLUEPRINT_WARM,		 /* a zygote's child will join the jail */
	BLUEPRINT_ZYGOTE,	 /* the root of a zygote */
	BLUEPRINT_ROOT_TEMPLATE, /* a root that later jails are cloned from */
	BLUEPRINT_CLONE,  /* like WARM, with the root of a root template */
	BLUEPRINT_BRANCH, /* nested in a session's jail, for its copy */
	BLUEPRINT_BARE,	  /* no namespaces: one process in the host's root */
};

/* What is mounted in a root, except the writable directories. */
struct contents {
	struct blueprint_mount *mounts;
	size_t mount_count;
	int devices[BLUEPRINT_DEVICES]; /* -1: not in this jail */
	int etc;	 /* /etc, if this belongs to a root template; else -1 */
	char *font_file; /* file name of the font list in JAIL_FONTS, or NULL */
};

#define CONTENTS_INIT { .devices = { -1, -1, -1, -1 }, .etc = -1 }

struct root_template;

struct blueprint {
	const struct plan *plan;
	struct contents own;
	const struct contents *contents; /* &own, or the root template's */
	const struct root_template *root_template; /* of a clone; else NULL */
	/* The descriptors that the jail's first process keeps, in ascending
	   order. */
	int *keep;
	size_t keep_count;
	/* Files of the cgroups (version 1) to join, or -1. */
	int groups[CGROUP_CONTROLLERS];
	/* the jail's ends of its channels and pipes */
	int channel, lifeline, in, out, err;
	int egress;		    /* the socket to the proxy, or -1 */
	struct listeners listeners; /* what to send to the proxy */
	int proc;		    /* the host's /proc */
	int root;		    /* the new root, once it is mounted */
	int writable[WORKSPACE_DIRECTORIES]; /* bare: what the code may write */
	int ruleset;   /* the Landlock ruleset, once it exists */
	int workspace; /* for the keeper, if files may be exported or watched;
			  else -1 */
	int scratch;   /* the writable file system, until the overlays exist */
	int slot;      /* a branch's writable file system */
	int slots[PLAN_BRANCHES_MAX];	  /* the same for future branches */
	int hosts[PLAN_WRITE_ROOTS_MAX];  /* on the host, of mode rw */
	int uppers[PLAN_WRITE_ROOTS_MAX]; /* upper directories of these */
	struct lock_params params;
	char *const *argv;
	const char *runtime_dir; /* path on the host */
	bool by_root;
	bool probe; /* lock down without an interpreter, then wait */
	enum blueprint_kind kind;
	struct hash roots; /* identifies the opened directories of the policy */
};

extern const char *const blueprint_device_names[BLUEPRINT_DEVICES];

/* Refuses a plan with a path that does not lead to a folder or file now. */
int blueprint_check_paths(const struct plan *p,
			  struct remit_error *err) must_check;
/*
 * Open every host directory of the plan once and make a detached mount of each.
 * If by_root, map its owner to host user `uid`, the jail's. Call ground_enter()
 * first.
 */
int blueprint_resolve(struct blueprint *b, uint32_t uid,
		      struct remit_error *err) must_check;
/* List the descriptors that the jail's first process keeps. Call it when all of
   them are open. */
int blueprint_list_kept(struct blueprint *b,
			struct remit_error *err) must_check;
/* Called first of all in that process: closes every other descriptor. A copy of
   another jail's lifeline would keep that jail alive after its keeper has
   died. */
void blueprint_close_others(const struct blueprint *b);
void blueprint_free(struct blueprint *b);

/* Makes a detached, private, read-only mount of a directory without the mounts
   below it. */
int blueprint_detach(int directory, struct remit_error *err) must_check;

void contents_free(struct contents *c);

/* Carry out the steps of pid 1. Returns 0, or -1 with errno and the failed step
   in *step. */
int build_run(struct blueprint *b, uint32_t *step, uint32_t *detail);

#endif
