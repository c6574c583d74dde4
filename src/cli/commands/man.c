/*
 * man: fills in the source of a man page from the tables of commands and policy
 * fields. Only the build uses it. @SYNOPSIS@ a line for each command @USAGE
 * run@ the usage of one command @OPTIONS run@ its options @FIELDS@ the fields
 * of a policy
 */
#include <stdio.h>
#include <string.h>

#include "base/file/path.h"
#include "cli/cli.h"

#define PAGE_MAX ((size_t)1024 * 1024)

static int
add_synopsis(struct buf *out)
{
	for (const struct command *const *c = commands; *c; c++) {
		const struct command *const *verb = (*c)->verbs;

		if ((*c)->hidden)
			continue;
		if (!verb && (options_man_usage(&(*c)->options, out) < 0 ||
			      buf_addf(out, "++\n") < 0))
			return -1;
		for (; verb && *verb; verb++)
			if (options_man_usage(&(*verb)->options, out) < 0 ||
			    buf_addf(out, "++\n") < 0)
				return -1;
	}
	return 0;
}

static int
add_usage(const struct command *c, struct buf *out)
{
	if (options_man_usage(&c->options, out) < 0)
		return -1;
	return buf_addf(out, "\n");
}

/* Add the text for a mark such as "@OPTIONS run@", given without its last
   "@". */
static int
expand_mark(const char *mark, struct buf *out, struct remit_error *err)
{
	const char *name = strchr(mark, ' ');
	const struct command *c = name ? cli_find(name + 1) : NULL;
	int failed;

	if (!strcmp(mark, "@SYNOPSIS"))
		failed = add_synopsis(out);
	else if (!strcmp(mark, "@FIELDS"))
		failed = flags_man(out);
	else if (c && !strncmp(mark, "@USAGE ", 7))
		failed = add_usage(c, out);
	else if (c && !strncmp(mark, "@OPTIONS ", 9))
		failed = options_man(&c->options, out);
	else
		return fail(err, REMIT_E_INPUT, "unknown mark %.60s@", mark);
	return failed ? fail_memory(err, mark) : 0;
}

static int
fill_in(char *page, struct buf *out, struct remit_error *err)
{
	for (char *line = strsep(&page, "\n"); line && page;
	     line = strsep(&page, "\n")) {
		size_t n = strlen(line);
		int failed = 0;

		if (n > 1 && line[0] == '@' && line[n - 1] == '@') {
			line[n - 1] = '\0';
			failed = expand_mark(line, out, err);
		} else if (buf_addf(out, "%s\n", line) < 0) {
			failed = fail_memory(err, "man page");
		}
		if (failed)
			return -1;
	}
	return 0;
}

struct wanted {
	const char *path;
};

static int
man_command(int argc, char **argv)
{
	own(buf) struct buf page = BUF_INIT(PAGE_MAX),
			    text = BUF_INIT(PAGE_MAX);
	struct wanted w = { 0 };
	struct remit_error err;

	if (cli_parse(&command_man, &w, argc, argv, &err) < 0)
		return cli_error(&err);
	if (!w.path) {
		fail(&err, REMIT_E_INPUT,
		     "no file is given: use remit man FILE");
		return cli_error(&err);
	}
	if (path_read_file(&page, w.path, &err) < 0 ||
	    (page.len && fill_in(page.data, &text, &err) < 0))
		return cli_error(&err);
	fputs(buf_text(&text), stdout);
	return 0;
}

static const struct option man_rows[] = {
	{
		.kind = OPTION_PATH,
		.value = "FILE",
		.hidden = true,
		OPTION_AT(struct wanted, path),
	},
	{ 0 },
};

const struct command command_man = {
	.options = {
		.name = "man",
		.usage = "FILE",
		.summary = "fill in the source of a man page",
		.tables = { { .rows = man_rows } },
	},
	.hidden = true,
	.run = man_command,
};
