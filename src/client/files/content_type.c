#include "client/files/content_type.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "base/text.h"

static const struct {
	const char *mark;
	size_t len;
	const char *type;
} marks[] = {
	{ "\x89PNG\r\n\x1a\n", 8, "image/png" },
	{ "\xff\xd8\xff", 3, "image/jpeg" },
	{ "GIF87a", 6, "image/gif" },
	{ "GIF89a", 6, "image/gif" },
	{ "%PDF-", 5, "application/pdf" },
	{ "PK\x03\x04", 4, "application/zip" },
	{ "\x1f\x8b", 2, "application/gzip" },
	{ "SQLite format 3", 16, "application/vnd.sqlite3" },
	{ "PAR1", 4, "application/vnd.apache.parquet" },
};

/* Types of text files, by suffix. */
static const struct {
	const char *ending, *type;
} endings[] = {
	{ ".csv", "text/csv" },
	{ ".tsv", "text/tab-separated-values" },
	{ ".json", "application/json" },
	{ ".jsonl", "application/jsonl" },
	{ ".html", "text/html" },
	{ ".htm", "text/html" },
	{ ".svg", "image/svg+xml" },
	{ ".xml", "application/xml" },
	{ ".md", "text/markdown" },
	{ ".py", "text/x-python" },
	{ ".css", "text/css" },
	{ ".js", "text/javascript" },
	{ ".yaml", "application/yaml" },
	{ ".yml", "application/yaml" },
};

static const char *
by_ending(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++)
		if (!strcasecmp(dot, endings[i].ending))
			return endings[i].type;
	return "text/plain";
}

static bool
is_text(const char *first, size_t len)
{
	return !memchr(first, '\0', len) &&
	       (text_valid_prefix(first, len) == len ||
		text_is_cut(first, len));
}

const char *
content_type(const char *path, const char *first, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (len >= marks[i].len &&
		    !memcmp(first, marks[i].mark, marks[i].len))
			return marks[i].type;
	return is_text(first, len) ? by_ending(path)
				   : "application/octet-stream";
}
