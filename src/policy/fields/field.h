/*
 * field: the table of policy fields. The JSON reader, the command line flags,
 * --help, the man page section, the matrix and the plan's list of promises are
 * all derived from it.
 */
#ifndef REMIT_FIELD_H
#define REMIT_FIELD_H

#include <stddef.h>

#include "base/buf.h"
#include "policy/mechanism.h"
#include "policy/policy.h"

enum field_type {
	FIELD_BOOL,   /* bool */
	FIELD_BYTES,  /* uint64_t; "512M", 536870912 */
	FIELD_TIME,   /* uint64_t of ms; "1.5s", "200ms", 30 (seconds) */
	FIELD_COUNT,  /* uint64_t */
	FIELD_CHOICE, /* uint64_t index into `choices` */
	FIELD_SWITCH, /* the same; "false" and "true" are among them */
	FIELD_TEXT,   /* char *; a name, an absolute path or a URL */
	FIELD_LIST,   /* struct list; the flag may be repeated */
	FIELD_PATHS,  /* struct list of absolute paths */
	FIELD_MOUNTS, /* struct mount_list; HOST:JAIL[:MODE] */
	FIELD_ENV,    /* struct list of NAME=VALUE; JSON object */
};

enum field_id {
	F_TIER,
	F_PYTHON,
	F_FILESYSTEM_READ_ROOTS,
	F_FILESYSTEM_WRITE_ROOTS,
	F_MOUNTS,
	F_COMMIT,
	F_COMMIT_NAMES,
	F_WORKSPACE,
	F_WORKSPACE_ALIASES,
	F_NETWORK_ACCESS,
	F_NETWORK_ALLOW,
	F_NETWORK_ASK,
	F_NETWORK_PROXY,
	F_CREDENTIALS,
	F_PACKAGE_INSTALLATION,
	F_PACKAGES,
	F_PACKAGE_DIRECT,
	F_PACKAGE_INDEX,
	F_PACKAGE_HOSTS,
	F_PACKAGE_LINKS,
	F_PACKAGE_OFFLINE,
	F_PACKAGE_BUILD,
	F_PACKAGE_BYTES,
	F_PACKAGE_TIME,
	F_SUBPROCESS_EXECUTION,
	F_WORKSPACE_EXECUTION,
	F_ENV_VAR_ACCESS,
	F_ENV,
	F_TIMEOUT,
	F_CPU_SECONDS,
	F_CPU_FALLBACK,
	F_CPUS,
	F_MEMORY_BYTES,
	F_MEMORY_FALLBACK,
	F_PROCESSES,
	F_DISK_BYTES,
	F_FILES,
	F_FILE_BYTES,
	F_OPEN_FILES,
	F_STDOUT_MAX_BYTES,
	F_STDERR_MAX_BYTES,
	F_OUTPUT_CEILING,
	F_CODE_BYTES,
	F_STDIN_BYTES,
	F_INPUT_BYTES,
	F_VALUE_BYTES,
	F_DISPLAY_BYTES,
	F_DISPLAY_MODE,
	F_ARTIFACT_EXPORT_PATHS,
	F_ARTIFACT_FILE_BYTES,
	F_ARTIFACT_BYTES,
	F_ARTIFACT_FILES,
	F_ARTIFACT_DEPTH,
	F_ARTIFACT_TIME,
	F_VALIDATOR,
	F_ALLOWED_IMPORTS,
	F_BLOCKED_IMPORTS,
	F_ALLOWED_BUILTINS,
	F_BLOCKED_BUILTINS,
	F_ALLOWED_OS_ATTRS,
	F_ALLOWED_NODES,
	F_TOOL_CALLS,
	F_TOOL_BYTES,
	F_TOOL_CONCURRENCY,
	F_TOOL_WAIT,
	F_SESSION_IDLE,
	F_BRANCHES,
	F_PRELOAD,
	FIELD_TOTAL,
};

struct field {
	const char *name;	/* in JSON and results */
	const char *short_name; /* --short_name, Python keyword */
	const char *alias;	/* a second flag, or NULL */
	enum field_type type;
	size_t offset;		    /* in struct policy */
	uint64_t min, max;	    /* of numbers, inclusive */
	const char *const *choices; /* NULL-terminated, or NULL */
	bool may_be_unlimited;	    /* the word "unlimited" is accepted */
	bool commas; /* FIELD_LIST: the flag's value is split at commas */
	/* FIELD_LIST: converts an entry that is a JSON object to text; NULL if
	   objects are not accepted. */
	int (*object_text)(const json_t *object, const char *place,
			   struct buf *out, struct remit_error *err);
	/* FIELD_TEXT, FIELD_PATHS: checks a path in the jail and tidies it;
	   NULL: the rule of the type. */
	int (*path_rule)(const char *text, char *out, const char *place,
			 struct remit_error *err);
	bool setting; /* promises nothing, so results have no row for it */
	const char *fallback;	/* default, as a flag's text ("" is empty) */
	const char *value_name; /* in --help: "SIZE", "DIR", ... */
	const char *sentence;	/* one sentence for --help and man page */
	uint64_t
		kept[TIER_COUNT]; /* MECH() bits that may enforce it, by tier */
};

extern const struct field fields[FIELD_TOTAL];

/* Some of the fields: bit i is row i of the table. */
struct field_set {
	uint64_t bits[(FIELD_TOTAL + 63) / 64];
};

static inline void
field_set_add(struct field_set *set, const struct field *f)
{
	set->bits[(f - fields) / 64] |= UINT64_C(1) << (f - fields) % 64;
}

static inline void
field_set_remove(struct field_set *set, const struct field *f)
{
	set->bits[(f - fields) / 64] &= ~(UINT64_C(1) << (f - fields) % 64);
}

static inline bool
field_set_has(const struct field_set *set, const struct field *f)
{
	return set->bits[(f - fields) / 64] >> (f - fields) % 64 & 1;
}

/* Finds a field by its name, short name or alias; '-' and '_' are equal.
   Returns NULL if there is none. In JSON only the exact name is accepted. */
const struct field *field_find(const char *name);
/* Returns the known name that is most similar to an unknown one, or NULL. */
const char *field_nearest(const char *name);

/*
 * Sets a field from the text of a flag. For a list this adds one entry; for env
 * it replaces a variable of the same name. Relative paths start at the current
 * directory. Messages begin with the flag: "--memory: ...".
 */
int field_set_text(struct policy *p, const struct field *f, const char *text,
		   struct remit_error *err) must_check;
/*
 * Sets a field from a JSON value. A list replaces the old list. Messages begin
 * with the place: "memory_bytes: ...", "mounts[1].mode: ...".
 */
int field_set_json(struct policy *p, const struct field *f, json_t *value,
		   struct remit_error *err) must_check;
/* Returns the value as JSON (limits as numbers in the field's JSON unit). */
json_t *field_to_json(const struct policy *p, const struct field *f);
/* Writes the value for people: "512 MiB", "1.5 s", "off", "2 entries",
   "none". */
void field_show(const struct policy *p, const struct field *f, char *out,
		size_t size);
/* Returns the whole table as a JSON array, for generators; NULL if out of
   memory. */
json_t *field_table_to_json(void);
/* Whether the value is the default of the table. */
bool field_is_default(const struct policy *p, const struct field *f);

/* Whether the field can be on or off, and perhaps have more values. */
static inline bool
field_is_switch(const struct field *f)
{
	return f->type == FIELD_BOOL || f->type == FIELD_SWITCH;
}

/* Returns the index of a word among the field's choices, or -1. */
int field_find_choice(const struct field *f, const char *word);
/* Writes the values of a FIELD_SWITCH for messages, with `mark` around those
   that are texts in JSON: true, false, "loopback" or "host". */
void field_switch_words(const struct field *f, const char *mark, char *out,
			size_t size);

#define FIELD_PTR(p, f, type) ((type *)((char *)(p) + (f)->offset))

/* ---- checks of values of each type, from flags and from JSON ----
 *
 * `place` names the value in messages: "memory_bytes", "tools[3]", "--env".
 */

#define FIELD_MAX_ENTRIES 256
#define FIELD_MAX_TEXT	  (64 * 1024)

/* Large enough for "artifact_export_paths[255].max_bytes" and for "env[]" with
   a quoted name. */
#define FIELD_PLACE_SIZE 96

/* Parses a number with its unit, or the word "unlimited" if the field allows
   it. */
int field_check_number(const struct field *f, const char *text, uint64_t *out,
		       const char *place, struct remit_error *err) must_check;
int field_check_choice(const struct field *f, const char *text, uint64_t *out,
		       const char *place, struct remit_error *err) must_check;
int field_check_mode(const char *text, enum mount_mode *out, const char *place,
		     struct remit_error *err) must_check;
/* Checks that a text is not empty, not longer than FIELD_MAX_TEXT, and
   UTF-8. */
int field_check_text(const char *text, const char *place,
		     struct remit_error *err) must_check;
/* Checks that a text is UTF-8: JSON could not carry it to the keeper
   otherwise. */
int field_check_utf8(const char *text, const char *place,
		     struct remit_error *err) must_check;
/* Checks that a name consists of letters, digits and _, and does not start with
   a digit. */
int field_check_env_name(const char *name, size_t len, const char *place,
			 struct remit_error *err) must_check;
/* Checks that a list of `count` entries may get one more. */
int field_check_space(size_t count, const char *place,
		      struct remit_error *err) must_check;

/* Sets NAME=VALUE, and replaces an older value of the same name. */
int field_put_env(struct list *env, const char *name, size_t name_len,
		  const char *value, const char *place,
		  struct remit_error *err) must_check;

#endif
