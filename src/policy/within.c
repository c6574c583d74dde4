#include "policy/within.h"

#include <string.h>

#include "policy/fields/field.h"

/* In which direction a field allows more. */
enum direction {
	DIR_UNSET,  /* no row below: the values must be equal */
	DIR_UP,	    /* a larger number or a later choice allows more */
	DIR_DOWN,   /* an earlier choice allows more */
	DIR_SAME,   /* the values must be equal */
	DIR_PART,   /* each entry allows more */
	DIR_LIMITS, /* each entry allows less */
	DIR_ALLOWS, /* like PART, but an empty list allows everything */
	DIR_ANY,    /* it allows nothing beyond what the client has */
};

static const enum direction directions[FIELD_TOTAL] = {
	[F_TIER] = DIR_SAME,
	[F_PYTHON] = DIR_SAME,
	[F_FILESYSTEM_READ_ROOTS] = DIR_PART,
	[F_FILESYSTEM_WRITE_ROOTS] = DIR_PART,
	[F_MOUNTS] = DIR_PART,
	[F_COMMIT] = DIR_SAME,
	[F_COMMIT_NAMES] = DIR_PART,
	[F_NETWORK_ACCESS] = DIR_UP,
	[F_NETWORK_ALLOW] = DIR_PART,
	[F_NETWORK_ASK] = DIR_UP,
	[F_NETWORK_PROXY] = DIR_UP,
	[F_CREDENTIALS] = DIR_PART,
	[F_PACKAGE_INSTALLATION] = DIR_UP,
	[F_PACKAGES] = DIR_PART,
	[F_PACKAGE_DIRECT] = DIR_PART,
	[F_PACKAGE_INDEX] = DIR_SAME,
	[F_PACKAGE_HOSTS] = DIR_PART,
	[F_PACKAGE_LINKS] = DIR_PART,
	[F_PACKAGE_OFFLINE] = DIR_DOWN,
	[F_PACKAGE_BUILD] = DIR_UP,
	[F_PACKAGE_BYTES] = DIR_UP,
	[F_PACKAGE_TIME] = DIR_UP,
	[F_SUBPROCESS_EXECUTION] = DIR_UP,
	[F_ENV_VAR_ACCESS] = DIR_UP,
	[F_ENV] = DIR_ANY,
	[F_TIMEOUT] = DIR_UP,
	[F_CPU_SECONDS] = DIR_UP,
	[F_CPU_FALLBACK] = DIR_UP,
	[F_CPUS] = DIR_UP,
	[F_MEMORY_BYTES] = DIR_UP,
	[F_MEMORY_FALLBACK] = DIR_UP,
	[F_PROCESSES] = DIR_UP,
	[F_DISK_BYTES] = DIR_UP,
	[F_FILES] = DIR_UP,
	[F_FILE_BYTES] = DIR_UP,
	[F_OPEN_FILES] = DIR_UP,
	[F_STDOUT_MAX_BYTES] = DIR_UP,
	[F_STDERR_MAX_BYTES] = DIR_UP,
	[F_OUTPUT_CEILING] = DIR_UP,
	[F_CODE_BYTES] = DIR_UP,
	[F_STDIN_BYTES] = DIR_UP,
	[F_INPUT_BYTES] = DIR_UP,
	[F_VALUE_BYTES] = DIR_UP,
	[F_DISPLAY_BYTES] = DIR_UP,
	[F_ARTIFACT_EXPORT_PATHS] = DIR_ANY,
	[F_ARTIFACT_FILE_BYTES] = DIR_UP,
	[F_ARTIFACT_BYTES] = DIR_UP,
	[F_ARTIFACT_FILES] = DIR_UP,
	[F_ARTIFACT_DEPTH] = DIR_UP,
	[F_ARTIFACT_TIME] = DIR_UP,
	[F_VALIDATOR] = DIR_DOWN,
	[F_ALLOWED_IMPORTS] = DIR_ALLOWS,
	[F_BLOCKED_IMPORTS] = DIR_LIMITS,
	[F_ALLOWED_BUILTINS] = DIR_ALLOWS,
	[F_BLOCKED_BUILTINS] = DIR_LIMITS,
	[F_ALLOWED_OS_ATTRS] = DIR_ALLOWS,
	[F_ALLOWED_NODES] = DIR_ALLOWS,
	[F_TOOL_CALLS] = DIR_UP,
	[F_TOOL_BYTES] = DIR_UP,
	[F_TOOL_CONCURRENCY] = DIR_UP,
	[F_TOOL_WAIT] = DIR_UP,
	[F_SESSION_IDLE] = DIR_UP,
	[F_BRANCHES] = DIR_UP,
	[F_PRELOAD] = DIR_PART,
};

#define BIT(id) (UINT64_C(1) << (id))

const uint64_t policy_within_harmless =
	~(BIT(F_TIER) | BIT(F_PYTHON) | BIT(F_FILESYSTEM_READ_ROOTS) |
	  BIT(F_FILESYSTEM_WRITE_ROOTS) | BIT(F_MOUNTS) | BIT(F_COMMIT) |
	  BIT(F_COMMIT_NAMES) | BIT(F_NETWORK_ACCESS) | BIT(F_CREDENTIALS) |
	  BIT(F_PACKAGE_INDEX) | BIT(F_PACKAGE_HOSTS) | BIT(F_PACKAGE_LINKS) |
	  BIT(F_PACKAGE_DIRECT) | BIT(F_ENV_VAR_ACCESS));

_Static_assert(FIELD_TOTAL <= 64, "a field has a bit of a uint64_t");

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

static bool
is_within(const struct policy *want, const struct policy *most,
	  const struct field *f)
{
	json_auto_t *small = field_to_json(want, f);
	json_auto_t *large = field_to_json(most, f);

	if (!small || !large)
		return false;
	switch (directions[f - fields]) {
	case DIR_ANY:
		return true;
	case DIR_UP:
		return field_number(want, f) <= field_number(most, f);
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
	      uint64_t free, struct remit_error *err)
{
	for (int i = 0; i < FIELD_TOTAL; i++) {
		char asked[64], allowed[64];

		if (free & BIT(i) || is_within(want, most, &fields[i]))
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
