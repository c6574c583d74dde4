#include "cli/mcp_install.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"

const char *const mcp_install_clients[] = {
	"claude",
	"cursor",
	"vscode",
	NULL,
};

/* In the order of their names. */
static const struct {
	const char *file;  /* where it goes */
	const char *outer; /* the member that has all servers */
	bool has_type;	   /* it wants to be told the transport */
} clients[] = {
	{ "claude_desktop_config.json of Claude Desktop, or .mcp.json in a "
	  "project for Claude Code",
	  "mcpServers", false },
	{ "~/.cursor/mcp.json, or .cursor/mcp.json in a project", "mcpServers",
	  false },
	{ ".vscode/mcp.json in a project", "servers", true },
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
		else if (strncmp(argv[i], "--install=", 10) != 0)
			failed |= json_array_append_new(list,
							json_string(argv[i]));
	}
	if (!failed)
		return list;
	json_decref(list);
	return NULL;
}

int
mcp_install_print(unsigned client, int argc, char **argv,
		  struct remit_error *err)
{
	own_mem char *directory = NULL, *text = NULL, *command = NULL;
	json_auto_t *args = arguments(argc, argv);
	json_auto_t *doc = NULL;
	unsigned i = client - 1;

	if (!args)
		return fail(err, REMIT_E_INPUT,
			    "--install: an option is not UTF-8");
	if (path_own_dir(&directory, err) < 0)
		return -1;
	if (asprintf(&command, "%s/remit", directory) < 0)
		command = NULL;
	doc = json_pack("{s:{s:{s:s*, s:s*, s:O}}}", clients[i].outer, "remit",
			"type", clients[i].has_type ? "stdio" : NULL, "command",
			command, "args", args);
	text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	if (!text || !command)
		return fail_sys(err, REMIT_E_MEMORY, "configuration");
	fprintf(stderr, "remit: this goes into %s\n", clients[i].file);
	puts(text);
	return 0;
}
