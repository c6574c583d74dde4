/*
 * gen_assets: writes the table of the web page's files as C, when Remit is
 *built.
 *
 *	gen_assets DIRECTORY DIRECTORY/FILE...
 *
 * The table does not contain the bytes: the assembler includes them from the
 * files. The tag in the table changes with the bytes, so that a changed file is
 * compiled again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/own.h"

static const struct {
	const char *ending;
	const char *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".svg", "image/svg+xml" },
};

static const char *
type_of(const char *path)
{
	const char *ending = strrchr(path, '.');

	for (size_t i = 0; ending && i < ARRAY_LEN(types); i++)
		if (!strcmp(ending, types[i].ending))
			return types[i].type;
	return NULL;
}

/* Measures a file. Its tag is half of the SHA-256 of its bytes. */
static int
asset_measure(const char *file, size_t *len, char tag[SHA256_TEXT])
{
	FILE *in = fopen(file, "rb");
	struct sha256 sum = SHA256_INIT;
	char piece[4096];
	size_t n;
	int failed;

	if (!in)
		return -1;
	*len = 0;
	do {
		n = fread(piece, 1, sizeof(piece), in);
		sha256_add(&sum, piece, n);
		*len += n;
	} while (n == sizeof(piece));
	failed = ferror(in);
	fclose(in);
	sha256_end(&sum, tag);
	tag[32] = '\0';
	return failed ? -1 : 0;
}

static void
write_bytes(int i, const char *file)
{
	printf("__asm__(\".section .rodata\\n\"\n"
	       "\t\"asset_%d: .incbin \\\"%s\\\"\\n\"\n"
	       "\t\".previous\\n\");\n"
	       "extern const char asset_%d[];\n\n",
	       i, file, i);
}

static int
write_row(int i, const char *path, const char *file)
{
	char tag[SHA256_TEXT];
	size_t len;

	if (!type_of(path)) {
		fprintf(stderr,
			"gen_assets: %s: no media type for this "
			"ending\n",
			file);
		return -1;
	}
	if (asset_measure(file, &len, tag) < 0) {
		fprintf(stderr, "gen_assets: %s: cannot be read\n", file);
		return -1;
	}
	printf("\t{ \"%s\", \"%s\", \"\\\"%s\\\"\", asset_%d, %zu },\n", path,
	       type_of(path), tag, i, len);
	return 0;
}

int
main(int argc, char **argv)
{
	size_t directory = argc > 1 ? strlen(argv[1]) : 0;

	printf("/* Written by tools/gen_assets.c. */\n#include "
	       "\"serve/page.h\"\n\n");
	for (int i = 2; i < argc; i++)
		write_bytes(i, argv[i]);
	printf("const struct asset assets[] = {\n");
	for (int i = 2; i < argc; i++) {
		if (strncmp(argv[i], argv[1], directory) ||
		    argv[i][directory] != '/') {
			fprintf(stderr, "gen_assets: %s is not below %s\n",
				argv[i], argv[1]);
			return 1;
		}
		if (write_row(i, argv[i] + directory + 1, argv[i]) < 0)
			return 1;
	}
	printf("\t{ 0 },\n};\n");
	return 0;
}
