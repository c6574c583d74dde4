#include "policy/policy.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "policy/fields/field.h"

const char *const mount_mode_names[] = {
	[MOUNT_RO] = "ro",
	[MOUNT_RW] = "rw",
	[MOUNT_OVERLAY] = "overlay",
	[MOUNT_DIRECT] = "direct",
	NULL,
};

enum preset {
	PRESET_STRICT,
	PRESET_DEFAULT,
	PRESET_SCIENTIFIC,
	PRESET_LANDLOCK,
};

const char *const policy_preset_names[] = {
	[PRESET_STRICT] = "strict",
	[PRESET_DEFAULT] = "default",
	[PRESET_SCIENTIFIC] = "scientific",
	[PRESET_LANDLOCK] = "landlock",
	NULL,
};

static const char *const preset_sentences[] = {
	[PRESET_STRICT] = "small limits, for short answers",
	[PRESET_DEFAULT] = "the default of every field",
	[PRESET_SCIENTIFIC] = "larger limits, and memory_fallback is accepted",
	[PRESET_LANDLOCK] =
		"the tier landlock, without the limits that it cannot enforce",
};

static const struct preset_row {
	enum preset preset;
	enum field_id field;
	const char *text;
} preset_rows[] = {
	{ PRESET_STRICT, F_MEMORY_BYTES, "256M" },
	{ PRESET_STRICT, F_TIMEOUT, "10s" },
	{ PRESET_STRICT, F_CPU_SECONDS, "10s" },
	{ PRESET_STRICT, F_CPUS, "1" },
	{ PRESET_STRICT, F_PROCESSES, "16" },
	{ PRESET_STRICT, F_DISK_BYTES, "32M" },
	{ PRESET_STRICT, F_FILES, "1000" },
	{ PRESET_STRICT, F_OPEN_FILES, "64" },
	{ PRESET_STRICT, F_STDOUT_MAX_BYTES, "256K" },
	{ PRESET_STRICT, F_STDERR_MAX_BYTES, "256K" },
	{ PRESET_SCIENTIFIC, F_MEMORY_BYTES, "2G" },
	{ PRESET_SCIENTIFIC, F_TIMEOUT, "120s" },
	{ PRESET_SCIENTIFIC, F_CPU_SECONDS, "240s" },
	{ PRESET_SCIENTIFIC, F_CPUS, "4" },
	{ PRESET_SCIENTIFIC, F_PROCESSES, "128" },
	{ PRESET_SCIENTIFIC, F_DISK_BYTES, "1G" },
	{ PRESET_SCIENTIFIC, F_FILE_BYTES, "1G" },
	{ PRESET_SCIENTIFIC, F_OPEN_FILES, "512" },
	/* Without a memory cgroup, the exact limit leaves too little address
	   space for the libraries. */
	{ PRESET_SCIENTIFIC, F_MEMORY_FALLBACK, "per_process" },
	{ PRESET_LANDLOCK, F_TIER, "landlock" },
	{ PRESET_LANDLOCK, F_PROCESSES, "unlimited" },
	{ PRESET_LANDLOCK, F_DISK_BYTES, "unlimited" },
	{ PRESET_LANDLOCK, F_FILES, "unlimited" },
	{ PRESET_LANDLOCK, F_MEMORY_FALLBACK, "per_process" },
};

int
policy_init(struct policy *p)
{
	struct policy fresh = { 0 };
	struct remit_error err;

	for (int i = 0; i < FIELD_TOTAL; i++) {
		const struct field *f = &fields[i];

		/* An empty list has no entry to add. */
		if (!*f->fallback)
			continue;
		if (field_set_text(&fresh, f, f->fallback, &err) < 0) {
			policy_free(&fresh);
			errno = ENOMEM;
			return -1;
		}
	}
	*p = fresh;
	return 0;
}

static void
free_field(struct policy *p, const struct field *f)
{
	switch (f->type) {
	case FIELD_TEXT:
		free(*FIELD_PTR(p, f, char *));
		break;
	case FIELD_LIST:
	case FIELD_PATHS:
	case FIELD_ENV:
		list_free(FIELD_PTR(p, f, struct list));
		break;
	case FIELD_MOUNTS:
		mount_list_free(FIELD_PTR(p, f, struct mount_list));
		break;
	default:
		break;
	}
}

void
policy_free(struct policy *p)
{
	for (int i = 0; i < FIELD_TOTAL; i++)
		free_field(p, &fields[i]);
	*p = (struct policy){ 0 };
}

static int
copy_text(char **to, const char *from)
{
	*to = strdup(from);
	return *to ? 0 : -1;
}

static int
copy_mounts(struct mount_list *to, const struct mount_list *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct mount_rule *m = &from->items[i];

		if (mount_list_add(to, m->host, m->jail, m->mode,
				   m->max_bytes) < 0)
			return -1;
	}
	return 0;
}

static int
copy_field(struct policy *to, const struct policy *from, const struct field *f)
{
	switch (f->type) {
	case FIELD_BOOL:
		*FIELD_PTR(to, f, bool) = *FIELD_PTR(from, f, const bool);
		return 0;
	case FIELD_BYTES:
	case FIELD_TIME:
	case FIELD_COUNT:
	case FIELD_CHOICE:
	case FIELD_SWITCH:
		*FIELD_PTR(to, f, uint64_t) =
			*FIELD_PTR(from, f, const uint64_t);
		return 0;
	case FIELD_TEXT:
		return copy_text(FIELD_PTR(to, f, char *),
				 *FIELD_PTR(from, f, char *const));
	case FIELD_LIST:
	case FIELD_PATHS:
	case FIELD_ENV:
		return list_copy(FIELD_PTR(to, f, struct list),
				 FIELD_PTR(from, f, const struct list));
	case FIELD_MOUNTS:
		return copy_mounts(FIELD_PTR(to, f, struct mount_list),
				   FIELD_PTR(from, f, const struct mount_list));
	}
	return 0;
}

int
policy_copy(struct policy *to, const struct policy *from)
{
	struct policy fresh = { 0 };

	for (int i = 0; i < FIELD_TOTAL; i++) {
		if (copy_field(&fresh, from, &fields[i]) < 0) {
			policy_free(&fresh);
			errno = ENOMEM;
			return -1;
		}
	}
	*to = fresh;
	return 0;
}

static int
find_preset(const char *name)
{
	for (int i = 0; policy_preset_names[i]; i++)
		if (!strcmp(policy_preset_names[i], name))
			return i;
	return -1;
}

const char *
policy_preset_sentence(const char *name)
{
	int i = find_preset(name);

	return i < 0 ? NULL : preset_sentences[i];
}

int
policy_preset(struct policy *p, const char *name, struct remit_error *err)
{
	int wanted = find_preset(name);
	char shown[QUOTE_SIZE];

	if (wanted < 0)
		return fail(err, REMIT_E_INPUT,
			    "preset: %s is not one of strict, default, "
			    "scientific, landlock",
			    quote(shown, name));
	for (size_t i = 0; i < ARRAY_LEN(preset_rows); i++) {
		const struct preset_row *r = &preset_rows[i];

		if (r->preset == (enum preset)wanted &&
		    field_set_text(p, &fields[r->field], r->text, err) < 0)
			return -1;
	}
	return 0;
}

static void
free_rule(struct mount_rule *m)
{
	free(m->host);
	free(m->jail);
}

/* Output is kept as bytes, in a buffer that may be half empty, and as text, in
   which an invalid byte becomes three bytes and is added in base64 as well.
   Values and displays are kept as bytes and as JSON, in which a control
   character takes six bytes. */
uint64_t
policy_result_bytes(const struct policy *p)
{
	uint64_t output = number_add(p->stdout_max_bytes, p->stderr_max_bytes);
	bool displays = p->display_mode != DISPLAYS_NONE;
	uint64_t shown =
		number_add(p->value_bytes, displays ? p->display_bytes : 0);

	return number_add(number_mul(output, 6), number_mul(shown, 8));
}

int
mount_list_add(struct mount_list *m, const char *host, const char *jail,
	       enum mount_mode mode, uint64_t max_bytes)
{
	struct mount_rule rule = {
		.host = strdup(host),
		.jail = strdup(jail),
		.mode = mode,
		.max_bytes = max_bytes,
	};
	struct mount_rule *items;

	items = realloc(m->items, (m->count + 1) * sizeof(*items));
	if (items)
		m->items = items;
	if (!items || !rule.host || !rule.jail) {
		free_rule(&rule);
		errno = ENOMEM;
		return -1;
	}
	m->items[m->count++] = rule;
	return 0;
}

void
mount_list_free(struct mount_list *m)
{
	for (size_t i = 0; i < m->count; i++)
		free_rule(&m->items[i]);
	free(m->items);
	*m = (struct mount_list){ 0 };
}

/* ---- tiers ---- */

const struct tier_info tiers[TIER_COUNT] = {
	[TIER_STATIC] = {
		.name = "static",
		.sentence = "syntax and imports are checked in a jail; nothing runs",
		.built = true,
		.jailed = true,
	},
	[TIER_UNSAFE] = {
		.name = "unsafe",
		.alias = "local_unsafe",
		.sentence = "a plain subprocess with a timeout and output caps, without a wall",
		.built = true,
	},
	[TIER_LANDLOCK] = {
		.name = "landlock",
		.sentence = "Landlock, seccomp and rlimits without "
			    "namespaces, for containers",
		.built = true,
		.jailed = true,
		.bare = true,
	},
	[TIER_LOCAL] = {
		.name = "local",
		.sentence = "namespaces, Landlock, seccomp, rlimits and "
			    "cgroups on this kernel",
		.built = true,
		.jailed = true,
	},
	[TIER_CONTAINER] = {
		.name = "container",
		.sentence = "the local jail inside an OCI container",
	},
	[TIER_WASM] = {
		.name = "wasm",
		.sentence = "CPython compiled to WebAssembly, in the jail of the tier local with far fewer system calls",
		.built = true,
		.jailed = true,
	},
	[TIER_VM] = {
		.name = "vm",
		.sentence = "a virtual machine with its own kernel",
	},
};

int
tier_find(const char *name)
{
	for (int i = 0; i < TIER_COUNT; i++) {
		if (!strcmp(tiers[i].name, name))
			return i;
		if (tiers[i].alias && !strcmp(tiers[i].alias, name))
			return i;
	}
	return -1;
}
