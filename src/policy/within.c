#include "policy/within.h"

#include <string.h>

#include "base/file/path.h"
#include "policy/fields/field.h"

/* The direction in which a field allows more. */
enum direction {
	DIR_UNSET,  /* no row below: the values must be equal */
	DIR_UP,	    /* a larger number or a later choice allows more */
	DIR_DOWN,   /* an earlier choice allows more */
	DIR_SAME,   /* the values must be equal */
	DIR_PART,   /* each entry allows more */
	DIR_LIMITS, /* each entry allows less */
	DIR_ALLOWS, /* like PART, but an empty list allows everything */
	DIR_PLACE, /* like ANY, if no directory of the larger policy is in it */
	DIR_ANY,   /* it allows nothing beyond what the client has */
};

/* Whether a key without a policy may set the field freely. A field without a
   row may not. */
enum harm {
	NEEDS_POLICY, /* it gives access to the host or to other clients */
	HARMLESS,
};

static const struct {
	enum direction direction;
	enum harm harm;
} rules[FIELD_TOTAL] = {
	[F_TIER] = { DIR_SAME, NEEDS_POLICY },
	[F_PYTHON] = { DIR_SAME, NEEDS_POLICY },
	[F_FILESYSTEM_READ_ROOTS] = { DIR_PART, NEEDS_POLICY },
	[F_FILESYSTEM_WRITE_ROOTS] = { DIR_PART, NEEDS_POLICY },
	[F_MOUNTS] = { DIR_PART, NEEDS_POLICY },
	[F_COMMIT] = { DIR_SAME, NEEDS_POLICY },
	[F_COMMIT_NAMES] = { DIR_PART, NEEDS_POLICY },
	/* Free as far as DIR_PLACE goes: the server's own options may name
	   directories, for all keys. */
	[F_WORKSPACE] = { DIR_PLACE, NEEDS_POLICY },
	[F_WORKSPACE_ALIASES] = { DIR_PLACE, NEEDS_POLICY },
	[F_NETWORK_ACCESS] = { DIR_UP, NEEDS_POLICY },
	[F_NETWORK_ALLOW] = { DIR_PART, HARMLESS },
	[F_NETWORK_ASK] = { DIR_UP, HARMLESS },
	[F_NETWORK_PROXY] = { DIR_UP, HARMLESS },
	[F_CREDENTIALS] = { DIR_PART, NEEDS_POLICY },
	[F_PACKAGE_INSTALLATION] = { DIR_UP, HARMLESS },
	[F_PACKAGES] = { DIR_PART, HARMLESS },
	[F_PACKAGE_DIRECT] = { DIR_PART, NEEDS_POLICY },
	[F_PACKAGE_INDEX] = { DIR_SAME, NEEDS_POLICY },
	[F_PACKAGE_HOSTS] = { DIR_PART, NEEDS_POLICY },
	[F_PACKAGE_LINKS] = { DIR_PART, NEEDS_POLICY },
	[F_PACKAGE_OFFLINE] = { DIR_DOWN, HARMLESS },
	[F_PACKAGE_BUILD] = { DIR_UP, HARMLESS },
	[F_PACKAGE_BYTES] = { DIR_UP, HARMLESS },
	[F_PACKAGE_TIME] = { DIR_UP, HARMLESS },
	[F_SUBPROCESS_EXECUTION] = { DIR_UP, HARMLESS },
	/* The kernel then parses programs that the code made. */
	[F_WORKSPACE_EXECUTION] = { DIR_UP, NEEDS_POLICY },
	[F_ENV_VAR_ACCESS] = { DIR_UP, NEEDS_POLICY },
	[F_ENV] = { DIR_ANY, HARMLESS },
	[F_TIMEOUT] = { DIR_UP, HARMLESS },
	[F_CPU_SECONDS] = { DIR_UP, HARMLESS },
	[F_CPU_FALLBACK] = { DIR_UP, HARMLESS },
	[F_CPUS] = { DIR_UP, HARMLESS },
	[F_MEMORY_BYTES] = { DIR_UP, HARMLESS },
	[F_MEMORY_FALLBACK] = { DIR_UP, HARMLESS },
	[F_PROCESSES] = { DIR_UP, HARMLESS },
	[F_DISK_BYTES] = { DIR_UP, HARMLESS },
	[F_FILES] = { DIR_UP, HARMLESS },
	[F_FILE_BYTES] = { DIR_UP, HARMLESS },
	[F_OPEN_FILES] = { DIR_UP, HARMLESS },
	[F_STDOUT_MAX_BYTES] = { DIR_UP, HARMLESS },
	[F_STDERR_MAX_BYTES] = { DIR_UP, HARMLESS },
	[F_OUTPUT_CEILING] = { DIR_UP, HARMLESS },
	[F_CODE_BYTES] = { DIR_UP, HARMLESS },
	[F_STDIN_BYTES] = { DIR_UP, HARMLESS },
	[F_INPUT_BYTES] = { DIR_UP, HARMLESS },
	[F_VALUE_BYTES] = { DIR_UP, HARMLESS },
	[F_DISPLAY_BYTES] = { DIR_UP, HARMLESS },
	[F_DISPLAY_MODE] = { DIR_UP, HARMLESS },
	[F_ARTIFACT_EXPORT_PATHS] = { DIR_ANY, HARMLESS },
	[F_ARTIFACT_FILE_BYTES] = { DIR_UP, HARMLESS },
	[F_ARTIFACT_BYTES] = { DIR_UP, HARMLESS },
	[F_ARTIFACT_FILES] = { DIR_UP, HARMLESS },
	[F_ARTIFACT_DEPTH] = { DIR_UP, HARMLESS },
	[F_ARTIFACT_TIME] = { DIR_UP, HARMLESS },
	[F_VALIDATOR] = { DIR_DOWN, HARMLESS },
	[F_ALLOWED_IMPORTS] = { DIR_ALLOWS, HARMLESS },
	[F_BLOCKED_IMPORTS] = { DIR_LIMITS, HARMLESS },
	[F_ALLOWED_BUILTINS] = { DIR_ALLOWS, HARMLESS },
	[F_BLOCKED_BUILTINS] = { DIR_LIMITS, HARMLESS },
	[F_ALLOWED_OS_ATTRS] = { DIR_ALLOWS, HARMLESS },
	[F_ALLOWED_NODES] = { DIR_ALLOWS, HARMLESS },
	[F_TOOL_CALLS] = { DIR_UP, HARMLESS },
	[F_TOOL_BYTES] = { DIR_UP, HARMLESS },
	[F_TOOL_CONCURRENCY] = { DIR_UP, HARMLESS },
	[F_TOOL_WAIT] = { DIR_UP, HARMLESS },
	[F_SESSION_IDLE] = { DIR_UP, HARMLESS },
	[F_BRANCHES] = { DIR_UP, HARMLESS },
	[F_PRELOAD] = { DIR_PART, HARMLESS },
};

struct field_set
policy_within_harmless(void)
{
	struct field_set set = { 0 };

	for (int i = 0; i < FIELD_TOTAL; i++)
		if (rules[i].harm == HARMLESS)
			field_set_add(&set, &fields[i]);
	return set;
}

/* Compares JSON values, so that one function serves texts, lists, mounts and
   objects. */
static bool
has_entry(const json_t *list, const json_t *entry)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (json_equal(item, entry))
			return true;
	}
	return false;
}

static bool
is_part(const json_t *small, const json_t *large)
{
	const json_t *item;
	size_t i;

	json_array_foreach(small, i, item)
	{
		if (!has_entry(large, item))
			return false;
	}
	return true;
}

static uint64_t
field_number(const struct policy *p, const struct field *f)
{
	const char *at = (const char *)p + f->offset;

	if (f->type == FIELD_BOOL)
		return *(const bool *)(const void *)at;
	return *(const uint64_t *)(const void *)at;
}

/* Whether the policy mounts a directory of the host at this path or below. */
static bool
has_mount_in(const struct policy *p, const char *path)
{
	const struct list *roots[] = { &p->filesystem_read_roots,
				       &p->filesystem_write_roots };

	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		for (size_t k = 0; k < roots[i]->count; k++)
			if (path_lies_in(roots[i]->items[k], path))
				return true;
	for (size_t i = 0; i < p->mounts.count; i++)
		if (path_lies_in(p->mounts.items[i].jail, path))
			return true;
	return false;
}

/* What is mounted in a workspace is protected by the mount alone, and no more
   by Landlock (see note_mount_alone()). A client must not choose that. */
static bool
is_free_place(const struct policy *most, const json_t *place)
{
	const json_t *item;
	size_t i;

	if (json_is_string(place))
		return !has_mount_in(most, json_string_value(place));
	json_array_foreach(place, i, item)
	{
		if (has_mount_in(most, json_string_value(item)))
			return false;
	}
	return true;
}

static bool
is_within(const struct policy *want, const struct policy *most,
	  const struct field *f)
{
	json_auto_t *small = field_to_json(want, f);
	json_auto_t *large = field_to_json(most, f);

	if (!small || !large)
		return false;
	switch (rules[f - fields].direction) {
	case DIR_ANY:
		return true;
	case DIR_UP:
		return field_number(want, f) <= field_number(most, f);
	case DIR_PLACE:
		return json_equal(small, large) || is_free_place(most, small);
	case DIR_DOWN:
		return field_number(want, f) >= field_number(most, f);
	case DIR_SAME:
		return json_equal(small, large);
	case DIR_PART:
		return is_part(small, large);
	case DIR_LIMITS:
		return is_part(large, small);
	case DIR_ALLOWS:
		return !json_array_size(large) ||
		       (json_array_size(small) && is_part(small, large));
	case DIR_UNSET:
		break;
	}
	return json_equal(small, large);
}

int
policy_within(const struct policy *want, const struct policy *most,
	      const struct field_set *free, struct remit_error *err)
{
	for (int i = 0; i < FIELD_TOTAL; i++) {
		char asked[64], allowed[64];

		if (field_set_has(free, &fields[i]) ||
		    is_within(want, most, &fields[i]))
			continue;
		field_show(want, &fields[i], asked, sizeof(asked));
		field_show(most, &fields[i], allowed, sizeof(allowed));
		return fail_refused(
			err, fields[i].name,
			"Request no more than that, or have the server's "
			"administrator change the policy of the key.",
			"%s is requested, but this key allows at most %s",
			asked, allowed);
	}
	return 0;
}
