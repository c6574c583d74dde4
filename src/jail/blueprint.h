/*
 * blueprint: everything that pid 1 and pid 2 of a jail need, made ready by the
 * keeper. After the clone they only carry it out: they parse nothing and
 * allocate nothing.
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

/* No zero: a shared mapping of it is memory that RLIMIT_AS does not count. */
#define BLUEPRINT_DEVICES 3

/* The jail's ends lie above the numbers they will get inside. */
#define BLUEPRINT_FIRST_FD 16

struct blueprint_mount {
	int fd; /* detached and read-only already; bare: the path itself */
	const char *jail;
	bool is_directory;
	bool runtime;
	uint32_t number;    /* in the plan, from 1 on; 0: none of it */
	bool overlaid;	    /* it gets an overlay of the jail's own */
	bool writable;	    /* by Landlock's rules */
	uint64_t max_bytes; /* as in the plan */
	int write_root;	    /* likewise */
};

enum blueprint_kind {
	BLUEPRINT_COLD,		 /* the jail starts an interpreter of its own */
	BLUEPRINT_WARM,		 /* a zygote's child will join it */
	BLUEPRINT_ZYGOTE,	 /* not a jail for code: a root for a zygote */
	BLUEPRINT_ROOT_TEMPLATE, /* a root for jails to come */
	BLUEPRINT_CLONE,	 /* warm, with a root template's root */
	BLUEPRINT_BRANCH, /* for a copy of the code of the jail around it */
	BLUEPRINT_BARE,	  /* no namespaces: one process in the host's root */
};

/* What is mounted in a root, but for what can be written. */
struct contents {
	struct blueprint_mount *mounts;
	size_t mount_count;
	int devices[BLUEPRINT_DEVICES];
	int etc;	 /* the directory, in a root template's; else -1 */
	char *font_file; /* name of the font list in JAIL_FONTS, or NULL */
};

#define CONTENTS_INIT { .devices = { -1, -1, -1 }, .etc = -1 }

struct root_template;

struct blueprint {
	const struct plan *plan;
	struct contents own;
	const struct contents *contents; /* own, or the root template's */
	const struct root_template *root_template; /* of a clone, else NULL */
	/* Everything the jail's first process may hold, ascending. */
	int *keep;
	size_t keep_count;
	/* Files of the version 1 groups to join, or -1. */
	int groups[CGROUP_CONTROLLERS];
	/* the jail's ends */
	int channel, lifeline, in, out, err;
	int egress;		    /* to the proxy, or -1 */
	struct listeners listeners; /* what it is to be sent */
	int proc;		    /* the host's /proc */
	int root;		    /* the new root, once it is mounted */
	int writable[WORKSPACE_DIRECTORIES]; /* bare: what the code may write */
	int ruleset;			     /* Landlock's, once it is made */
	int workspace; /* for the keeper, if files are to leave; else -1 */
	int scratch;   /* the writable file system, until overlays are made */
	int slot;      /* of a branch: its writable file system */
	int slots[PLAN_BRANCHES_MAX];	  /* for branches that may come */
	int hosts[PLAN_WRITE_ROOTS_MAX];  /* directories of mode rw, */
	int uppers[PLAN_WRITE_ROOTS_MAX]; /* and what was written */
	struct lock_params params;
	char *const *argv;
	const char *runtime_dir; /* on the host */
	bool by_root;
	bool probe; /* lock down without an interpreter, then wait */
	enum blueprint_kind kind;
	struct hash roots; /* which directories of the policy's were opened */
};

extern const char *const blueprint_device_names[BLUEPRINT_DEVICES];

/*
 * Open every host directory of the plan once, and make detached read-only
 * mounts of them (for a jail of host user `uid`, if by_root). The keeper must
 * stand on its own ground (ground.h).
 */
int blueprint_resolve(struct blueprint *b, uint32_t uid,
		      struct remit_error *err) must_check;
/* List what the jail's first process needs: after all ends are open. */
int blueprint_list_kept(struct blueprint *b,
			struct remit_error *err) must_check;
/* In that process: close everything else, first of all. A copy of another
   jail's lifeline would keep that jail alive without its keeper. */
void blueprint_close_others(const struct blueprint *b);
void blueprint_free(struct blueprint *b);

void contents_free(struct contents *c);

/* The stage of pid 1. 0, or -1 with errno and the step in *step. */
int build_run(struct blueprint *b, uint32_t *step, uint32_t *detail);

#endif
