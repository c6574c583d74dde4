#include "client/release.h"

#include <stdio.h>

#include "client/part.h"

static void
name_keeper(const struct remit *r, bool shared, char *out, size_t size)
{
	if (r && shared)
		snprintf(out, size, "the keeper at %s", r->keeper_path);
	else if (r && r->command_path)
		snprintf(out, size, "the keeper %s", r->command_path);
	else
		snprintf(out, size, "the keeper");
}

/* The version that the keeper names in its refusal. */
static void
name_version(const struct frame *f, char *out, size_t size)
{
	json_t *doc = f->type == FRAME_RESULT
			      ? json_loadb(f->payload, f->len, 0, NULL)
			      : NULL;
	const char *version =
		json_string_value(json_object_get(doc, "remit_version"));

	snprintf(out, size, "%s", version ? version : "of another release");
	json_decref(doc);
}

static int
refuse(const struct remit *r, bool shared, const struct frame *f,
       unsigned protocol, struct remit_error *err)
{
	char keeper[256], version[32];

	name_keeper(r, shared, keeper, sizeof(keeper));
	name_version(f, version, sizeof(version));
	return fail_refused(
		err, "keeper",
		shared ? "Restart the keeper: \"systemctl --user restart "
			 "remit-keeper\", or end it and run again; or set "
			 "REMIT_KEEPER to nothing for a private one."
		       : "Install the same release of the library and of the "
			 "remit command, or set command_path.",
		"%s is Remit %s (protocol %u), this is Remit %s (protocol %d)",
		keeper, version, protocol, REMIT_VERSION, FRAME_PROTOCOL);
}

int
release_next(const struct remit *r, bool shared, struct link *l,
	     struct frame *f, struct remit_error *err)
{
	unsigned protocol;
	int failed;

	if (!link_is_foreign(l, &protocol))
		return link_next(l, f, err);
	failed = link_next(l, f, err);
	/* The refusal may come in pieces. */
	if (!failed && f->type == FRAME_NONE && !l->ended)
		return 0;
	return refuse(r, shared, f, protocol, err);
}
