#include "mcp/version.h"

#include <string.h>

#include "base/own.h"

/* The newest first. */
static const struct mcp_version versions[] = {
	{
		.name = "2026-07-28",
		.stateless = true,
		.structured = true,
		.annotations = true,
	},
	{ .name = "2025-11-25", .structured = true, .annotations = true },
	{ .name = "2025-06-18", .structured = true, .annotations = true },
	{ .name = "2025-03-26", .annotations = true },
	{ .name = "2024-11-05" },
	{ .name = "2024-10-07" },
};

const struct mcp_version *
mcp_version_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (!strcmp(versions[i].name, name))
			return &versions[i];
	return NULL;
}

const struct mcp_version *
mcp_version_agree(const char *wanted)
{
	const struct mcp_version *v = mcp_version_find(wanted);
	size_t i = 0;

	if (v && !v->stateless)
		return v;
	while (versions[i].stateless)
		i++;
	return &versions[i];
}

json_t *
mcp_version_stateless(void)
{
	json_t *names = json_array();

	for (size_t i = 0; versions[i].stateless; i++)
		json_array_append_new(names, json_string(versions[i].name));
	return names;
}
