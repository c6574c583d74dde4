#include "cli/batch/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"

#define MARKER ".remit-unfinished"
/* The name of the directory for an overlong id begins with this many bytes of
   the id, and ends with its fingerprint. */
#define LONG_PREFIX 120
#define WALK_FILES  32

/* ---- the name ---- */

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

static bool
is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* Encode all but plain characters as %XX. The first digit of a text that looks
   like a number is encoded too, and so is a dot or dash at the beginning. */
static void
encode_name(const char *text, struct buf *out)
{
	bool hide_first = is_number(text);

	for (size_t i = 0; text[i]; i++) {
		bool plain = is_letter(text[i]) ||
			     (i && (text[i] == '.' || text[i] == '-'));
		int failed = plain && !(hide_first && !i)
				     ? buf_add(out, &text[i], 1)
				     : buf_addf(out, "%%%02X",
						(unsigned char)text[i]);

		if (failed)
			return; /* cannot happen: the longest id fits */
	}
}

static void
name_text(const char *text, char out[BATCH_DIRECTORY_NAME])
{
	own(buf) struct buf whole = BUF_INIT(8 * 1024);
	char sum[SHA256_TEXT];

	encode_name(text, &whole);
	if (whole.len < BATCH_DIRECTORY_NAME) {
		snprintf(out, BATCH_DIRECTORY_NAME, "%s",
			 whole.len ? whole.data : "%");
		return;
	}
	/* The name of a long id contains "%%", which no other name does. */
	sha256_text(text, strlen(text), sum);
	snprintf(out, BATCH_DIRECTORY_NAME, "%.*s%%%%%s", LONG_PREFIX,
		 whole.data, sum);
}

int
batch_directory_name(const char *id, char out[BATCH_DIRECTORY_NAME])
{
	json_auto_t *value = json_loads(id, JSON_DECODE_ANY, NULL);

	if (json_is_string(value))
		name_text(json_string_value(value), out);
	else if (json_is_integer(value))
		/* "n" is not a digit of %XX, so the name is unique. */
		snprintf(out, BATCH_DIRECTORY_NAME, "%s%s",
			 *id == '-' ? "%n" : "", id + (*id == '-'));
	else
		return -1;
	return 0;
}

/* ---- the directory ---- */

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	const char *name = path + at->base;

	(void)st;
	if (!at->level || (at->level == 1 && !strcmp(name, MARKER)))
		return 0;
	return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static int
make_marker(int directory)
{
	own_fd int fd = openat(directory, MARKER,
			       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : 0;
}

static bool
is_empty(const char *path)
{
	DIR *dir = opendir(path);
	size_t names = 0;

	while (dir && readdir(dir))
		names++;
	if (dir)
		closedir(dir);
	return names == 2; /* "." and ".." */
}

int
batch_directory_again(const char *path, struct remit_error *err)
{
	own_fd int directory =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: open %s", path);
	if (faccessat(directory, MARKER, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (nftw(path, remove_one, WALK_FILES,
		 FTW_PHYS | FTW_DEPTH | FTW_MOUNT) != 0)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: empty %s",
				path);
	return 0;
}

static int
open_directory(const char *path, struct remit_error *err)
{
	bool is_new = mkdir(path, 0700) == 0;
	own_fd int directory =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: open %s", path);
	if (!is_new && !is_empty(path))
		return batch_directory_again(path, err);
	if (make_marker(directory) < 0)
		return fail_sys(err, REMIT_E_INPUT, "artifacts: write into %s",
				path);
	return 0;
}

int
batch_directory_begin(const char *top, const char *id, char **out,
		      struct remit_error *err)
{
	char name[BATCH_DIRECTORY_NAME];
	own_mem char *path = NULL;

	if (batch_directory_name(id, name) < 0 ||
	    asprintf(&path, "%s/%s", top, name) < 0)
		return fail_memory(err, "artifacts");
	if (open_directory(path, err) < 0)
		return -1;
	*out = take_ptr(&path);
	return 0;
}

void
batch_directory_end(const char *path)
{
	char marker[PATH_MAX + sizeof(MARKER) + 1];

	snprintf(marker, sizeof(marker), "%s/" MARKER, path);
	unlink(marker);
	rmdir(path); /* only if it is empty */
}
