#include "policy/fields/mounts.h"

#include "policy/json_value.h"
#include "policy/rules/path_rule.h"

/* A mount as it is read, before it is copied into the list. */
struct draft {
	char host[PATH_RULE_SIZE];
	char jail[PATH_RULE_SIZE];
	enum mount_mode mode;
	uint64_t max_bytes;
};

static int
read_host(struct draft *d, const json_t *value, const char *place,
	  struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	return path_rule_host(text, d->host, place, err);
}

static int
read_jail(struct draft *d, const json_t *value, const char *place,
	  struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	return path_rule_jail(text, d->jail, place, err);
}

static int
read_mode(struct draft *d, const json_t *value, const char *place,
	  struct remit_error *err)
{
	const char *text;

	if (json_value_string(value, &text, place, err) < 0)
		return -1;
	return field_check_mode(text, &d->mode, place, err);
}

static int
read_max_bytes(struct draft *d, const json_t *value, const char *place,
	       struct remit_error *err)
{
	/* Of its kind, but always a cap. */
	struct field disk = fields[F_DISK_BYTES];
	char room[JSON_VALUE_NUMBER_SIZE];
	const char *text;

	disk.may_be_unlimited = false;
	if (json_value_number(&disk, value, &text, room, place, err) < 0)
		return -1;
	return field_check_number(&disk, text, &d->max_bytes, place, err);
}

static const struct member {
	const char *name;
	bool needed;
	int (*read)(struct draft *d, const json_t *value, const char *place,
		    struct remit_error *err);
} members[] = {
	{ .name = "host", .needed = true, .read = read_host },
	{ .name = "jail", .needed = true, .read = read_jail },
	{ .name = "mode", .read = read_mode },
	{ .name = "max_bytes", .read = read_max_bytes },
};

static int
read_mount(const struct field *f, size_t index, const json_t *value,
	   struct draft *d, struct remit_error *err)
{
	static const char *const known[] = { "host", "jail", "mode",
					     "max_bytes", NULL };
	char place[FIELD_PLACE_SIZE];

	json_value_place(place, f, index, "");
	if (!json_is_object(value))
		return json_value_wrong_type(value, "an object", place, err);
	if (json_value_members(value, known,
			       "a mount has host, jail, mode and max_bytes",
			       place, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct member *m = &members[i];
		json_t *part = json_object_get(value, m->name);

		json_value_place(place, f, index, m->name);
		if (!part && m->needed)
			return fail(err, REMIT_E_INPUT, "%s: is missing",
				    place);
		if (part && m->read(d, part, place, err) < 0)
			return -1;
	}
	return 0;
}

int
field_mounts_set(struct policy *p, const struct field *f, json_t *value,
		 struct remit_error *err)
{
	own(mount_list) struct mount_list fresh = { 0 };
	struct mount_list *to = FIELD_PTR(p, f, struct mount_list);
	json_t *entry;
	size_t i;

	if (json_value_array(f, value, err) < 0)
		return -1;
	json_array_foreach(value, i, entry)
	{
		struct draft d = { .mode = MOUNT_RO };

		if (read_mount(f, i, entry, &d, err) < 0)
			return -1;
		if (mount_list_add(&fresh, d.host, d.jail, d.mode,
				   d.max_bytes) < 0)
			return field_no_memory(f->name, err);
	}
	mount_list_free(to);
	*to = fresh;
	fresh = (struct mount_list){ 0 };
	return 0;
}
