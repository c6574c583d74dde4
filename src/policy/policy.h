/*
 * policy: what code may do, as a flat set of fields.
 *
 * A struct policy is always complete: policy_init() gives every field its
 * default, and presets, files and flags then change fields by the rows of the
 * field table (field.h). Whether the host can enforce a field is decided by
 * plan_build().
 */
#ifndef REMIT_POLICY_H
#define REMIT_POLICY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

/* The value of the word "unlimited". Zero is never a limit. */
#define POLICY_UNLIMITED UINT64_MAX

/*
 * How strong the wall is. Tiers that are not built yet have rows, too, so that
 * the matrix can show them and a policy that uses one is refused by name.
 */
enum tier {
	TIER_STATIC,
	TIER_UNSAFE,
	TIER_LANDLOCK,
	TIER_LOCAL,
	TIER_CONTAINER,
	TIER_WASM,
	TIER_VM,
	TIER_COUNT,
};

struct tier_info {
	const char *name;
	const char *alias;    /* accepted too, or NULL */
	const char *sentence; /* a description */
	bool built;
	bool jailed; /* code runs in a jail, or (static) is parsed in one */
	bool bare;   /* the jail is one process without namespaces */
};

extern const struct tier_info tiers[TIER_COUNT];

/* Finds a tier by name or alias. Returns -1 if there is none. */
int tier_find(const char *name);

enum mount_mode {
	MOUNT_RO,
	MOUNT_RW,
	MOUNT_OVERLAY,
	MOUNT_DIRECT,
};

extern const char *const mount_mode_names[]; /* NULL-terminated */

/* When changes in directories of mode rw are written to the host. */
enum commit_when {
	COMMIT_OK, /* if the program ended well */
	COMMIT_ALWAYS,
	COMMIT_NEVER,
};

/* Which hosts sockets can reach. */
enum network_access {
	NETWORK_NONE,	  /* none but the hosts of network_allow */
	NETWORK_LOOPBACK, /* these, and the jail itself */
	NETWORK_PUBLIC,	  /* any public host */
	NETWORK_HOST,	  /* the host's own network */
};

/* What is displayed, in the order of what costs more. */
enum display_mode {
	DISPLAYS_NONE,	   /* nothing; figures are not drawn */
	DISPLAYS_EXPLICIT, /* what the code shows */
	DISPLAYS_ALL,	   /* also figures that are open at the end */
};

/* Which lists the validator uses where the policy sets none. */
enum validator_mode {
	VALIDATOR_OFF,
	VALIDATOR_RELAXED,
	VALIDATOR_STRICT,
};

struct mount_rule {
	char *host; /* absolute path outside */
	char *jail; /* absolute path inside */
	enum mount_mode mode;
	uint64_t max_bytes; /* limit of changes; 0: the disk_bytes of the policy
			     */
};

struct mount_list {
	struct mount_rule *items;
	size_t count;
};

struct policy {
	uint64_t tier; /* enum tier */
	char *python;

	struct list filesystem_read_roots;
	struct list filesystem_write_roots;
	struct mount_list mounts;
	uint64_t commit; /* enum commit_when */
	struct list commit_names;
	char *workspace; /* where it appears in the jail */
	struct list workspace_aliases;

	uint64_t network_access;   /* enum network_access */
	struct list network_allow; /* see host_rule.h */
	bool network_ask;
	bool network_proxy;
	struct list credentials; /* see credential.h: no value in it */
	bool package_installation;
	struct list packages;	    /* see package_rule.h */
	struct list package_direct; /* likewise */
	char *package_index;	    /* PACKAGE_INDEX_DEFAULT, or an address */
	struct list package_hosts;  /* see host_rule.h */
	struct list package_links;
	bool package_offline;
	bool package_build;
	uint64_t package_bytes;
	uint64_t package_time_ms;
	bool subprocess_execution;
	bool workspace_execution;
	bool env_var_access;
	struct list env; /* "NAME=VALUE" */

	uint64_t timeout_ms;
	uint64_t cpu_ms;
	uint64_t cpu_fallback; /* 0: none, 1: per_process */
	uint64_t cpus;
	uint64_t memory_bytes;
	uint64_t memory_fallback; /* 0: none, 1: per_process */
	uint64_t processes;
	uint64_t disk_bytes;
	uint64_t files;
	uint64_t file_bytes;
	uint64_t open_files;
	uint64_t stdout_max_bytes;
	uint64_t stderr_max_bytes;
	uint64_t output_ceiling; /* times each cap */
	uint64_t code_bytes;
	uint64_t stdin_bytes;
	uint64_t input_bytes;
	uint64_t value_bytes;
	uint64_t display_bytes;
	uint64_t display_mode; /* enum display_mode */

	struct list artifact_export_paths;
	uint64_t artifact_file_bytes;
	uint64_t artifact_bytes;
	uint64_t artifact_files;
	uint64_t artifact_depth;
	uint64_t artifact_time_ms;
	uint64_t validator; /* enum validator_mode */
	struct list allowed_imports;
	struct list blocked_imports;
	struct list allowed_builtins;
	struct list blocked_builtins;
	struct list allowed_os_attrs;
	struct list allowed_nodes;
	uint64_t tool_calls;
	uint64_t tool_bytes;
	uint64_t tool_concurrency;
	uint64_t tool_wait_ms;
	uint64_t session_idle_ms;
	uint64_t branches;
	struct list preload;
};

/* Fills in the defaults of all fields. Returns -1 with errno ENOMEM. */
int policy_init(struct policy *p) must_check;
/* Copies a policy. *to is overwritten without freeing it. Returns -1 with errno
   ENOMEM. */
int policy_copy(struct policy *to, const struct policy *from) must_check;
void policy_free(struct policy *p);

/* Applies a preset: overwrites every field that it sets. */
int policy_preset(struct policy *p, const char *name,
		  struct remit_error *err) must_check;
/* The names of the presets, NULL-terminated, and a description of each. */
extern const char *const policy_preset_names[];
const char *policy_preset_sentence(const char *name);

/*
 * Applies a policy document to *p. If anything in it is wrong, *p is unchanged.
 * `source` is the name in errors ("policy.json", "job"): messages read
 * "policy.json:7: memory_bytes: ...". The key "preset" is applied before all
 * others, in any position.
 */
int policy_parse(struct policy *p, const char *text, size_t len,
		 const char *source, struct remit_error *err) must_check;

/* Applies the document in a regular file of at most 1 MiB. */
int policy_read_file(struct policy *p, const char *path,
		     struct remit_error *err) must_check;

/*
 * Returns all fields in table order, as a JSON object from which policy_parse()
 * makes an equal policy; NULL if out of memory.
 * Dump it with JSON_REAL_PRECISION(15), or 0.1 s is written as
 * 0.10000000000000001.
 */
json_t *policy_to_json(const struct policy *p);

/* Returns how much memory the client of a run needs for its result, before it
   is written as JSON. */
uint64_t policy_result_bytes(const struct policy *p);

int mount_list_add(struct mount_list *m, const char *host, const char *jail,
		   enum mount_mode mode, uint64_t max_bytes) must_check;
void mount_list_free(struct mount_list *m);

#endif
