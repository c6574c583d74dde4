#include "cli/run_options.h"

#include <string.h>

#include "base/file/path.h"

/* Parse LOCAL or LOCAL:JAILPATH. If LOCAL contains a colon, only the second
   form works. */
static int
add_file_option(void *target, const struct option *row, const char *text,
		struct remit_error *err)
{
	struct run_options *o = target;
	struct remit_file *all =
		reallocarray(o->files, o->file_count + 1, sizeof(*all));
	const char *colon = strrchr(text, ':');
	char *host_path;

	(void)row;
	if (!all)
		return fail_memory(err, "--file");
	o->files = all;
	host_path =
		strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	if (!host_path)
		return fail_memory(err, "--file");
	all[o->file_count++] = (struct remit_file){
		.host_path = host_path,
		.path = colon ? colon + 1 : path_name(text),
	};
	if (*host_path && *all[o->file_count - 1].path)
		return 0;
	return fail(err, REMIT_E_INPUT,
		    "--file: write LOCAL or LOCAL:JAILPATH");
}

#define AT(member) OPTION_AT(struct run_options, member)

const struct option run_option_rows[] = {
	{
		.value = "FILE",
		.kind = OPTION_TEXT,
		.ends = true,
		.hidden = true,
		AT(script),
	},
	{
		.letter = 'c',
		.kind = OPTION_TEXT,
		.value = "CODE",
		.example = "'print(6 * 7)'",
		.help = "run this code instead of a file",
		.ends = true,
		AT(code),
	},
	{
		.name = "json",
		.kind = OPTION_FLAG,
		.help = "print only the result, as one JSON object",
		.detail = "The object is on one line.",
		AT(json),
	},
	{
		.name = "value",
		.kind = OPTION_FLAG,
		.help = "print the value of the last expression after the "
			"output",
		.detail = "An interactive interpreter does the same. With "
			  "*--json* the object already has the value.",
		AT(value),
	},
	{
		.name = "raw",
		.kind = OPTION_FLAG,
		.help = "pass terminal control codes through",
		AT(raw),
	},
	{
		.name = "ask",
		.kind = OPTION_FLAG,
		.help = "ask at the terminal whether to allow what was denied, "
			"then run the program again",
		.detail = "If an option would allow what the program was "
			  "denied, Remit asks at the terminal (_/dev/tty_). "
			  "The answers are *o* (once), *a* (always: also write "
			  "the permission to the file of *--policy*) and *n* "
			  "(no). Three answers that Remit does not understand "
			  "also mean no. Then the program runs again, until "
			  "nothing new is denied or nothing was allowed, at "
			  "most 16 times. If standard input is a terminal, you "
			  "type the input again; a file is read again; a pipe "
			  "is first read to its end, up to stdin_bytes. The "
			  "option excludes *--json* and *--raw*, and needs a "
			  "terminal.\n\nIf network_allow names hosts, Remit "
			  "asks for other hosts while the program waits "
			  "(network_ask). There is then a further answer, *r*, "
			  "for this run.",
		AT(ask),
	},
	{
		.name = "dry-run",
		.kind = OPTION_FLAG,
		.help = "list the changes to folders of the host, but write "
			"none",
		.detail = "The policy must have a folder that the program may "
			  "change, such as with *--write*.",
		AT(dry_run),
	},
	{
		.name = "file",
		.kind = OPTION_CALL,
		.value = "LOCAL[:PATH]",
		.help = "put a copy of a file into the workspace, at PATH",
		.detail = "_LOCAL_ is a regular file; Remit copies it before "
			  "the program starts. _PATH_ is relative to the "
			  "workspace, or absolute and below it. Without "
			  "_PATH_ the copy has the last part of the name.",
		.set = add_file_option,
	},
	{
		.name = "artifacts",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write the files that --export names into this folder",
		.detail = "Remit writes them after the run, however it ended, "
			  "and creates the folder if it is missing. It never "
			  "changes files that already exist in the folder. The "
			  "option needs *--export*, and *--export* needs it.",
		AT(artifacts),
	},
	{
		.name = "displays",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write what the program displays to files in this "
			"folder",
		.detail =
			"The files are _display-1.png_, _display-1.svg_ and so "
			"on, and _value.html_ for other forms of the program's "
			"value. Remit creates the folder if it is missing, and "
			"never changes files that already exist in it. To "
			"switch displays off, use *--display-mode none*.",
		AT(displays),
	},
	{
		.name = "audit",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "audit.jsonl",
		.help = "append a line about the run to this file",
		.detail = "The line is on disk before the result is shown; the "
			  "section *AUDIT* describes it. If the file cannot be "
			  "written, nothing runs.",
		AT(audit),
	},
	{ 0 },
};

static bool
has_write_root(const struct policy *p)
{
	for (size_t i = 0; i < p->mounts.count; i++)
		if (p->mounts.items[i].mode == MOUNT_RW)
			return true;
	return p->filesystem_write_roots.count > 0;
}

int
run_options_program(const struct run_options *o, struct remit_error *err)
{
	if (o->code || o->script)
		return 0;
	return fail(err, REMIT_E_INPUT,
		    "no program is given: use remit run FILE, remit run - or "
		    "remit run -c CODE");
}

int
run_options_apply(const struct run_options *o, struct policy *p,
		  struct remit_error *err)
{
	if (!o->dry_run)
		return 0;
	if (!has_write_root(p))
		return fail(err, REMIT_E_INPUT,
			    "--dry-run needs a folder that the program may "
			    "change: add --write DIR");
	p->commit = COMMIT_NEVER;
	return 0;
}

int
run_options_check(const struct run_options *o, const struct policy *p,
		  struct remit_error *err)
{
	bool exports = p->artifact_export_paths.count > 0;

	if (o->ask && o->json)
		return fail(err, REMIT_E_INPUT,
			    "--ask is for people and --json for programs: use "
			    "only one of them");
	if (o->value && o->json)
		return fail(err, REMIT_E_INPUT,
			    "--json already includes the value: use --json or "
			    "--value, not both");
	if (o->ask && o->raw)
		return fail(err, REMIT_E_INPUT,
			    "--raw lets the program overwrite questions on the "
			    "terminal: use --raw or --ask, not both");
	if (exports && !o->artifacts)
		return fail(err, REMIT_E_INPUT,
			    "--export needs a folder for the files: add "
			    "--artifacts DIR");
	if (o->artifacts && !exports)
		return fail(err, REMIT_E_INPUT,
			    "--artifacts needs the names of the files that may "
			    "leave the jail: add --export PATTERN");
	return 0;
}

void
run_options_free(struct run_options *o)
{
	for (size_t i = 0; i < o->file_count; i++)
		free((char *)o->files[i].host_path);
	free(o->files);
	tool_options_free(&o->tools);
	flags_free(&o->flags);
}
