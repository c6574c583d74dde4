#include "cli/report/run_displays.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/io.h"

#define PLAIN "text/plain"

/* The suffix of files by MIME type. A part of another type is named by its
   index, such as "part2.bin". */
static const struct ending {
	const char *mime, *end;
} endings[] = {
	{ PLAIN, "txt" },
	{ "text/html", "html" },
	{ "text/markdown", "md" },
	{ "text/latex", "tex" },
	{ "image/png", "png" },
	{ "image/jpeg", "jpg" },
	{ "image/gif", "gif" },
	{ "image/svg+xml", "svg" },
	{ "application/pdf", "pdf" },
	{ "application/json", "json" },
	{ "application/javascript", "js" },
	{ "application/vnd.remit.chart+json", "chart.json" },
};

int
run_displays_open(struct run_displays *r, const char *path,
		  struct remit_error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail_sys(err, REMIT_E_INPUT, "--displays: make %s",
				path);
	r->path = path;
	r->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->directory < 0)
		return fail_sys(err, REMIT_E_INPUT, "--displays: open %s",
				path);
	return 0;
}

static void
name_file(char *out, size_t size, const char *stem,
	  const struct remit_display *d, size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(endings); k++)
		if (!strcmp(d->parts[i].mime, endings[k].mime)) {
			snprintf(out, size, "%s.%s", stem, endings[k].end);
			return;
		}
	snprintf(out, size, "%s.part%zu.bin", stem, i + 1);
}

static int
write_file(int directory, const char *name, const struct remit_part *p)
{
	own_fd int fd = openat(
		directory, name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : io_write_all(fd, p->bytes, p->len);
}

/* Lines beyond the buffer's cap are dropped; the files exist nevertheless. */
static void
add_note(struct run_displays *r, const char *name, int failed)
{
	int why = errno;

	if (buf_addf(&r->lines, "remit: %s/%s%s%s\n", r->path, name,
		     failed ? ": not written: " : "",
		     failed ? strerror(why) : "") < 0)
		return;
}

static void
write_files(struct run_displays *r, const struct remit_display *d)
{
	char stem[32] = "value", name[64];

	if (!d->is_value)
		snprintf(stem, sizeof(stem), "display-%zu", r->count);
	for (size_t i = 0; i < d->part_count; i++) {
		/* If a display has another form, skip the plain text. */
		if (!strcmp(d->parts[i].mime, PLAIN) && d->part_count > 1)
			continue;
		name_file(name, sizeof(name), stem, d, i);
		add_note(r, name, write_file(r->directory, name, &d->parts[i]));
	}
}

void
run_displays_add(struct run_displays *r, const struct remit_display *d)
{
	if (!d->is_value)
		r->count++;
	for (size_t i = 0; d->is_value && i < d->part_count; i++)
		if (!strcmp(d->parts[i].mime, PLAIN))
			r->has_value = buf_add(&r->value, d->parts[i].bytes,
					       d->parts[i].len) == 0;
	if (r->directory >= 0)
		write_files(r, d);
}

void
run_displays_reset(struct run_displays *r)
{
	buf_drop(&r->value, r->value.len);
	buf_drop(&r->lines, r->lines.len);
	r->has_value = false;
}

void
run_displays_explain(const struct run_displays *r, const json_t *result)
{
	json_int_t lost = json_integer_value(
		json_object_get(result, "displays_left_out"));

	fputs(buf_text(&r->lines), stderr);
	if (lost)
		fprintf(stderr,
			"remit: displays left out: %lld (--display-max)\n",
			(long long)lost);
	if (r->count && r->directory < 0 && isatty(2))
		fprintf(stderr,
			"remit: displays: %zu (--displays DIR writes them to "
			"files)\n",
			r->count);
}

void
run_displays_free(struct run_displays *r)
{
	own_fd_close(&r->directory);
	buf_free(&r->value);
	buf_free(&r->lines);
}
