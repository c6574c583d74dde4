#include "keeper/session/inputs.h"

#include <string.h>

#include "base/error.h"
#include "policy/rules/path_rule.h"
#include "wire/record.h"

#define PAGE 4096
/* The inodes that a jail creates first: three directories and their parent, and
   matplotlib's directory with its font list. */
#define OWN_INODES 6

static int
inputs_add_frame(struct inputs *in, enum frame_type type, const char *payload,
		 size_t len, struct remit_error *err)
{
	unsigned char header[FRAME_HEADER];

	frame_header(header, type, (uint32_t)len);
	if (buf_add(&in->frames, header, sizeof(header)) < 0 ||
	    buf_add(&in->frames, payload, len) < 0)
		return fail_memory(err, "input files");
	return 0;
}

/* Returns true if the paths are equal, or one is a directory above the
   other. */
static bool
paths_collide(const char *a, const char *b)
{
	size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return !strncmp(a, b, n) && (!a[n] || a[n] == '/') &&
	       (!b[n] || b[n] == '/');
}

static int
check_path(const struct inputs *in, const char *path, struct remit_error *err)
{
	char one[QUOTE_SIZE], other[QUOTE_SIZE];

	if (in->paths.count >= INPUTS_MAX)
		return fail(err, REMIT_E_INPUT, "more than %d input files",
			    INPUTS_MAX);
	for (size_t i = 0; i < in->paths.count; i++)
		if (!strcmp(in->paths.items[i], path))
			return fail(err, REMIT_E_INPUT,
				    "two input files are named %s",
				    quote(one, path));
		else if (paths_collide(in->paths.items[i], path))
			return fail(err, REMIT_E_INPUT,
				    "an input file cannot also be a folder: %s "
				    "and %s",
				    quote(one, in->paths.items[i]),
				    quote(other, path));
	return 0;
}

static int
check_size(const struct inputs *in, uint64_t size, uint64_t max_bytes,
	   struct remit_error *err)
{
	if (in->missing)
		return fail(err, REMIT_E_PROTOCOL, "an incomplete input file");
	if (size > max_bytes || in->total_bytes > max_bytes - size)
		return fail(err, REMIT_E_INPUT,
			    "the input files are longer than input_bytes "
			    "allows (%llu bytes)",
			    (unsigned long long)max_bytes);
	return 0;
}

int
inputs_begin(struct inputs *in, const struct policy *policy,
	     const char *payload, size_t len, uint64_t max_bytes,
	     struct remit_error *err)
{
	own(buf) struct buf records = BUF_INIT(frame_rules[FRAME_FILE].max);
	char path[PATH_RULE_SIZE];
	struct file_head h;

	if (file_head_read(&h, payload, len, err) < 0 ||
	    check_size(in, h.size_bytes, max_bytes, err) < 0 ||
	    path_rule_workspace(policy, h.path, path, "an input file", err) <
		    0 ||
	    check_path(in, path, err) < 0)
		return -1;
	h.path = path;
	if (file_head_write(&records, &h) < 0 || list_add(&in->paths, path) < 0)
		return fail_memory(err, "input files");
	in->missing = h.size_bytes;
	in->total_bytes += h.size_bytes;
	in->pages_bytes += (h.size_bytes + PAGE - 1) / PAGE * PAGE;
	if (h.size_bytes > in->largest_bytes)
		in->largest_bytes = h.size_bytes;
	return inputs_add_frame(in, FRAME_FILE, records.data, records.len, err);
}

int
inputs_add(struct inputs *in, const char *bytes, size_t len,
	   struct remit_error *err)
{
	if (!len || len > in->missing)
		return fail(err, REMIT_E_PROTOCOL,
			    "unexpected bytes of an input file");
	in->missing -= len;
	return inputs_add_frame(in, FRAME_FILE_DATA, bytes, len, err);
}

/* An upper bound: a directory with several files is counted for each of
   them. */
static uint64_t
count_inodes(const struct inputs *in)
{
	uint64_t n = OWN_INODES;

	for (size_t i = 0; i < in->paths.count; i++) {
		const char *path = in->paths.items[i];

		n++;
		for (const char *c = path; *c; c++)
			n += *c == '/';
	}
	return n;
}

static int
fail_limit(const char *field, unsigned long long has, unsigned long long needs,
	   struct remit_error *err)
{
	return fail_refused(
		err, field, "Raise the limit, or send smaller or fewer files.",
		"the input files need %llu, but %s is %llu", needs, field, has);
}

int
inputs_check(const struct inputs *in, const struct plan *plan,
	     struct remit_error *err)
{
	const struct plan_limits *l = &plan->limits;

	if (!in->paths.count)
		return 0;
	if (in->missing)
		return fail(err, REMIT_E_PROTOCOL, "an incomplete input file");
	if (!tiers[plan->tier].jailed)
		return fail_refused(
			err, "tier", "Use the tier local.",
			"the tier \"%s\" has no workspace for input files",
			tiers[plan->tier].name);
	if (l->file_bytes && in->largest_bytes > l->file_bytes)
		return fail_limit("file_bytes", l->file_bytes,
				  in->largest_bytes, err);
	if (l->tmpfs_bytes && in->pages_bytes > l->tmpfs_bytes)
		return fail_limit("disk_bytes", l->tmpfs_bytes, in->pages_bytes,
				  err);
	if (l->tmpfs_inodes && count_inodes(in) > l->tmpfs_inodes)
		return fail_limit("files", l->tmpfs_inodes, count_inodes(in),
				  err);
	return 0;
}

int
inputs_send(struct inputs *in, struct link *jail, struct remit_error *err)
{
	/* The usual cap covers the code; raise it for the files. */
	if (in->frames.len)
		jail->out.cap += in->frames.len;
	if (buf_add(&jail->out, buf_text(&in->frames), in->frames.len) < 0)
		return fail_memory(err, "input files");
	buf_free(&in->frames);
	return 0;
}

void
inputs_free(struct inputs *in)
{
	buf_free(&in->frames);
	list_free(&in->paths);
}
