#include "mcp_install.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "path.h"

static const struct {
	const char *name;
	const char *file;  /* where it goes */
	const char *outer; /* the member that has all servers */
} clients[] = {
	{ "claude",
	  "claude_desktop_config.json of Claude Desktop, or .mcp.json in a "
	  "project for Claude Code",
	  "mcpServers" },
	{ "cursor", "~/.cursor/mcp.json, or .cursor/mcp.json in a project",
	  "mcpServers" },
	{ "vscode", ".vscode/mcp.json in a project", "servers" },
};

/* NULL: one is no UTF-8, which a configuration cannot hold. */
static json_t *
arguments(int argc, char **argv)
{
	json_t *list = json_pack("[s]", "mcp");
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--install"))
			i++;
		else
			failed |= json_array_append_new(list,
							json_string(argv[i]));
	}
	if (!failed)
		return list;
	json_decref(list);
	return NULL;
}

static int
unknown(const char *client, struct remit_error *err)
{
	struct nearest n = NEAREST_INIT(client);
	const char *near;

	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		nearest_try(&n, clients[i].name, clients[i].name);
	near = nearest_answer(&n);
	return fail(
		err, REMIT_E_INPUT,
		"--install: there is no \"%.40s\"%s%s%s; claude, cursor and "
		"vscode are known",
		client, near ? " (did you mean \"" : "", near ? near : "",
		near ? "\"?)" : "");
}

int
mcp_install_print(const char *client, int argc, char **argv,
		  struct remit_error *err)
{
	own_mem char *folder = NULL, *text = NULL, *command = NULL;
	json_auto_t *args = arguments(argc, argv);
	json_auto_t *doc = NULL;
	size_t i = 0;

	while (i < ARRAY_LEN(clients) && strcmp(clients[i].name, client) != 0)
		i++;
	if (i == ARRAY_LEN(clients))
		return unknown(client, err);
	if (!args)
		return fail(err, REMIT_E_INPUT,
			    "--install: an option is not UTF-8");
	if (path_own_dir(&folder, err) < 0)
		return -1;
	if (asprintf(&command, "%s/remit", folder) < 0)
		command = NULL;
	doc = json_pack("{s:{s:{s:s*, s:s*, s:O}}}", clients[i].outer, "remit",
			"type", strcmp(client, "vscode") ? NULL : "stdio",
			"command", command, "args", args);
	text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	if (!text || !command)
		return fail_sys(err, REMIT_E_MEMORY, "configuration");
	fprintf(stderr, "remit: this goes into %s\n", clients[i].file);
	puts(text);
	return 0;
}
