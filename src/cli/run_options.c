#include "cli/run_options.h"

#include <string.h>

#include "base/file/path.h"

/* LOCAL or LOCAL:JAILPATH; a colon in LOCAL needs the second form. */
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
		.help = "after the output, print the value of the last "
			"expression",
		.detail = "This is what an interpreter does. With *--json* "
			  "the object has the value already.",
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
		.help = "ask at the terminal whether to allow what was "
			"denied, and run the program again",
		.detail =
			"If an option would allow what the program was "
			"refused, Remit asks at the terminal (_/dev/tty_). The "
			"answers are "
			"*o* once, *a* always, which also writes the "
			"permission into the file of *--policy*, and *n* no, "
			"which every other "
			"answer means in the end. Then the program runs again, "
			"until nothing new is refused or nothing was allowed, "
			"at most "
			"16 times. Standard input is typed again if it is a "
			"terminal and read again if it is a file; a pipe is "
			"first read to "
			"its end, up to stdin_bytes. The option excludes "
			"*--json* and *--raw*, and needs a terminal.\n\n"
			"If network_allow names hosts, Remit asks for other "
			"hosts while the program waits (network_ask). A "
			"further answer "
			"is then *r*, for this run.",
		AT(ask),
	},
	{
		.name = "dry-run",
		.kind = OPTION_FLAG,
		.help = "list the changes to the host, and write none",
		.detail = "Needs a folder that may be changed, such as with "
			  "*--write*.",
		AT(dry_run),
	},
	{
		.name = "file",
		.kind = OPTION_CALL,
		.value = "LOCAL[:PATH]",
		.help = "put a copy of a file into the workspace, at PATH",
		.detail = "The copy of the regular file is there before the "
			  "program starts. _PATH_ is relative to _/workspace_, "
			  "or below it; "
			  "without _PATH_ the file has the last part of its "
			  "name.",
		.set = add_file_option,
	},
	{
		.name = "artifacts",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write the files that --export names into this folder",
		.detail =
			"Remit writes them after the run, however it ended, "
			"and makes the folder if it is missing. It never "
			"changes what the "
			"folder has already. The option needs *--export*, and "
			"*--export* needs it.",
		AT(artifacts),
	},
	{
		.name = "displays",
		.kind = OPTION_PATH,
		.value = "DIR",
		.example = "./out",
		.help = "write what the program displays into this folder",
		.detail =
			"The files are _display-1.png_, _display-1.svg_ and so "
			"on, and _value.html_ for other forms of the "
			"program's "
			"value. Remit makes the folder if it is missing, and "
			"never changes what it has already.",
		AT(displays),
	},
	{
		.name = "audit",
		.kind = OPTION_PATH,
		.value = "FILE",
		.example = "audit.jsonl",
		.help = "append a line about the run to this file",
		.detail =
			"The line is on the disk before the result is shown; "
			"the section *AUDIT* has its form. If the file cannot "
			"be "
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
		    "name a program: remit run FILE, remit run - or remit run "
		    "-c CODE");
}

int
run_options_apply(const struct run_options *o, struct policy *p,
		  struct remit_error *err)
{
	if (!o->dry_run)
		return 0;
	if (!has_write_root(p))
		return fail(err, REMIT_E_INPUT,
			    "--dry-run: name a folder that may be changed: "
			    "--write DIR");
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
			    "--ask is for people and --json for programs: "
			    "choose one");
	if (o->value && o->json)
		return fail(err, REMIT_E_INPUT,
			    "--json has the value already: choose it or "
			    "--value");
	if (o->ask && o->raw)
		return fail(err, REMIT_E_INPUT,
			    "--raw lets the program draw over questions: "
			    "choose it or --ask");
	if (exports && !o->artifacts)
		return fail(err, REMIT_E_INPUT,
			    "--export needs a folder for the files: "
			    "--artifacts DIR");
	if (o->artifacts && !exports)
		return fail(err, REMIT_E_INPUT,
			    "--artifacts: name the files that may leave the "
			    "jail: --export PATTERN");
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
