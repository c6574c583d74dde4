/*
 * e2b_absent: replies to paths of E2B's API that this server does not have, in
 * the form that E2B's clients parse, with the reason. It also lists the
 * templates.
 */
#include <string.h>

#include "serve/e2b/part.h"
#include "serve/e2b/policy.h"

static void
get_template(struct exchange *x)
{
	const char *name = exchange_param(x, "alias");
	struct snapshot_info info;

	if (e2b_is_template(name) ||
	    e2b_find_stored(x, SNAPSHOT_TEMPLATE, name, &info))
		reply_json(x, 200,
			   json_pack("{s:s, s:b}", "templateID", name, "public",
				     0));
	else
		e2b_fail(x, 404, "there is no template %.60s", name);
}

/* ---- refusals, sent before the body of the request is read ---- */

static bool
refuse_template(struct exchange *x)
{
	e2b_fail(x, 404,
		 "templates cannot be built here: the only ones are "
		 "code-interpreter-v1, the server's own interpreter and "
		 "packages, and snapshots of sandboxes");
	return false;
}

static bool
refuse_volume(struct exchange *x)
{
	e2b_fail(x, 404,
		 "there are no volumes here; the server's policy can give "
		 "folders (--mount)");
	return false;
}

static bool
refuse_secret(struct exchange *x)
{
	e2b_fail(x, 404,
		 "secrets are not stored here; network.rules of a sandbox can "
		 "have headers that its code does not see");
	return false;
}

static bool
refuse_path(struct exchange *x)
{
	e2b_fail(x, 404, "this server does not have this part of E2B's API");
	return false;
}

static bool
refuse_in_sandbox(struct exchange *x)
{
	return e2b_admits(x) && refuse_path(x);
}

static void
serve_nothing(struct exchange *x)
{
	refuse_path(x);
}

#define ABSENT(path, refuse)      \
	{ .method = "*",          \
	  .pattern = (path),      \
	  .serve = serve_nothing, \
	  .admits = (refuse),     \
	  .fail = e2b_fail_text }
#define ABSENT_BELOW(path, refuse) \
	ABSENT(path, refuse), ABSENT(path "/{path...}", refuse)
/* In a sandbox, whose token the request must have. */
#define ABSENT_INSIDE(path)            \
	{ .method = "*",               \
	  .pattern = (path),           \
	  .serve = serve_nothing,      \
	  .admits = refuse_in_sandbox, \
	  .fail = e2b_fail_text,       \
	  .is_open = true }

const struct route e2b_absent_routes[] = {
	{
		.method = "GET",
		.pattern = "/templates/aliases/{alias}",
		.serve = get_template,
		.fail = e2b_fail_text,
	},
	ABSENT_BELOW("/templates", refuse_template),
	ABSENT_BELOW("/v2/templates", refuse_template),
	ABSENT_BELOW("/v3/templates", refuse_template),
	ABSENT("/default-templates", refuse_template),
	ABSENT_BELOW("/volumes", refuse_volume),
	ABSENT_BELOW("/secrets", refuse_secret),
	ABSENT_BELOW("/teams", refuse_path),
	ABSENT_BELOW("/sandboxes", refuse_path),
	ABSENT_BELOW("/v2/sandboxes", refuse_path),
	ABSENT_INSIDE("/contexts/{path...}"),
	ABSENT_INSIDE("/envs"),
	ABSENT_INSIDE("/init"),
	ABSENT_INSIDE("/filesystem.Filesystem/{path...}"),
	ABSENT_INSIDE("/process.Process/{path...}"),
	{ 0 },
};
