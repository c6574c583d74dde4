#include "cli/report/findings.h"

#include "cli/report/line_text.h"

/* Characters of foreign text in a line. */
#define SHOWN 1000

static void
say(FILE *to, const char *before, const char *text)
{
	own(buf) struct buf shown = BUF_INIT(64 * 1024);

	if (text && *text && line_text_message(&shown, text, SHOWN) == 0)
		fprintf(to, "%s%s", before, buf_text(&shown));
}

static void
say_number(FILE *to, const json_t *number)
{
	if (json_is_integer(number))
		fprintf(to, ":%d", (int)json_integer_value(number));
}

void
findings_show(FILE *to, const char *name, const json_t *findings)
{
	json_t *row;
	size_t i;

	json_array_foreach(findings, i, row)
	{
		say(to, "", name);
		say_number(to, json_object_get(row, "line"));
		say_number(to, json_object_get(row, "column"));
		say(to, ": ", json_string_value(json_object_get(row, "value")));
		say(to, "\n    ",
		    json_string_value(json_object_get(row, "hint")));
		fputc('\n', to);
	}
}
