#include "keeper/output/export.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/beneath.h"
#include "base/file/glob.h"
#include "base/text.h"
#include "policy/rules/path_rule.h"
#include "wire/record.h"

_Static_assert(PLAIN_PATH_SIZE >= PATH_RULE_SIZE, "a pattern fits in a path");

enum skip {
	SKIP_LINK,
	SKIP_LINKS,
	SKIP_SPECIAL,
	SKIP_DIRECTORY,
	SKIP_MOUNT,
	SKIP_NAME,
	SKIP_HEAD,
	SKIP_LONG,
	SKIP_FILE_BYTES,
	SKIP_BYTES,
	SKIP_FILES,
	SKIP_DEPTH,
	SKIP_TIME,
	SKIP_UNREADABLE,
};

static const char *const reasons[] = {
	[SKIP_LINK] = "a symbolic link",
	[SKIP_LINKS] = "more than one name (hard links)",
	[SKIP_SPECIAL] = "not a regular file",
	[SKIP_DIRECTORY] = "a folder",
	[SKIP_MOUNT] = "mounted by the policy",
	[SKIP_NAME] = "the name has characters that are not allowed",
	[SKIP_HEAD] = ("it could make a git repository (a pattern that ends in "
		       "HEAD allows it)"),
	[SKIP_LONG] = "the path is too long",
	[SKIP_FILE_BYTES] = "larger than artifact_file_bytes",
	[SKIP_BYTES] = "artifact_bytes is reached",
	[SKIP_FILES] = "artifact_files is reached",
	[SKIP_DEPTH] = "deeper than artifact_depth",
	[SKIP_TIME] =
		"artifact_time is over; the remaining files were not checked",
	[SKIP_UNREADABLE] = "reading it failed",
};

static int
add_skipped(struct export *h, enum skip why)
{
	json_auto_t *path = text_to_json(h->path, strlen(h->path));
	own_mem char *text = path ? json_dumps(path, JSON_ENCODE_ANY) : NULL;

	if (!text)
		return -1;
	return buf_addf(&h->skipped, "%s{\"path\":%s,\"reason\":\"%s\"}",
			h->skipped.len ? "," : "", text, reasons[why]);
}

/* Records that the file at h->path is not exported. */
static int
export_skip(struct export *h, enum skip why, struct remit_error *err)
{
	if (h->skipped_count++ < EXPORT_SKIPPED_MAX && add_skipped(h, why) < 0)
		return fail_memory(err, "artifacts");
	return 0;
}

int
export_write_skipped(const struct export *h, struct buf *out)
{
	uint64_t more = h->skipped_count > EXPORT_SKIPPED_MAX
				? h->skipped_count - EXPORT_SKIPPED_MAX
				: 0;

	if (buf_addf(out, "[%s", buf_text(&h->skipped)) < 0 ||
	    (more && buf_addf(out, ",{\"path\":\"\",\"reason\":\"%llu more\"}",
			      (unsigned long long)more) < 0))
		return -1;
	return buf_add(out, "]", 1);
}

/* ---- directories ---- */

static bool
follows_links(const struct export *h)
{
	return !plan_keeps(h->plan, MECH(OPENAT2));
}

static bool
has_caps(const struct export *h)
{
	return plan_keeps(h->plan, MECH(EXPORT_CAP));
}

static int
open_here(const struct export *h, const char *name, uint64_t flags)
{
	int directory = dirfd(h->directories[h->depth - 1].dir);

	if (follows_links(h))
		return openat(directory, name,
			      (int)flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return beneath_open(directory, name, flags);
}

static int
push_directory(struct export *h, int fd, struct remit_error *err)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		own_fd_close(&fd);
		return export_skip(h, SKIP_UNREADABLE, err);
	}
	h->directories[h->depth++] =
		(struct export_directory){ dir, strlen(h->path) };
	return 0;
}

static void
pop_directory(struct export *h)
{
	closedir(h->directories[--h->depth].dir);
	h->over = h->depth == 0;
}

static bool
any_pattern(const struct export *h, bool (*test)(const char *, const char *))
{
	for (size_t i = 0; i < h->patterns.count; i++)
		if (test(h->patterns.items[i], h->path))
			return true;
	return false;
}

/* From outside the jail only the empty mount point is visible. */
static bool
is_mount(const struct export *h)
{
	for (size_t i = 0; i < h->plan->mount_count; i++) {
		const char *rest = path_rule_inside(h->plan->policy,
						    h->plan->mounts[i].jail);

		if (rest && *rest == '/' && !strcmp(rest + 1, h->path))
			return true;
	}
	return false;
}

static int
visit_directory(struct export *h, const char *name, struct remit_error *err)
{
	if (!any_pattern(h, glob_leads_into))
		return any_pattern(h, glob_matches)
			       ? export_skip(h, SKIP_DIRECTORY, err)
			       : 0;
	if (is_mount(h))
		return export_skip(h, SKIP_MOUNT, err);
	if (!plain_name(name))
		return export_skip(h, SKIP_NAME, err);
	if (h->depth >=
	    (has_caps(h) ? h->plan->policy->artifact_depth : EXPORT_DEPTH_MAX))
		return export_skip(h, SKIP_DEPTH, err);
	return push_directory(h, open_here(h, name, O_RDONLY | O_DIRECTORY),
			      err);
}

/* ---- files ---- */

static void
close_file(struct export *h)
{
	own_fd_close(&h->file);
	h->file = -1;
}

/* Records for the audit that a file was sent. The keeper does not know whether
   it arrived. */
static void
add_to_given(struct export *h, uint64_t size)
{
	json_auto_t *path = text_to_json(h->path, strlen(h->path));
	own_mem char *text = path ? json_dumps(path, JSON_ENCODE_ANY) : NULL;

	if (!text || buf_addf(&h->given, "%s{\"path\":%s,\"size_bytes\":%llu}",
			      h->given.len ? "," : "", text,
			      (unsigned long long)size) < 0)
		return;
}

static int
begin_file(struct export *h, int *fd, uint64_t size, struct link *client,
	   struct remit_error *err)
{
	own(buf) struct buf head = BUF_INIT(frame_rules[FRAME_ARTIFACT].max);
	const struct file_head head_fields = { h->path, size };

	if (file_head_write(&head, &head_fields) < 0)
		return fail_memory(err, "artifacts");
	add_to_given(h, size);
	h->count++;
	h->total_bytes += size;
	h->left_bytes = size;
	if (size)
		h->file = take_fd(fd);
	return link_send(client, FRAME_ARTIFACT, head.data, head.len, err);
}

static bool
names_head(const char *pattern, const char *path)
{
	const char *slash = strrchr(pattern, '/');

	return !strcmp(slash ? slash + 1 : pattern, "HEAD") &&
	       glob_matches(pattern, path);
}

/*
 * In a directory with HEAD, objects and refs, git obeys the config file, and
 * many shells run git in every directory they enter (protected.h). So HEAD is
 * exported only if a pattern names it. A pattern with a wildcard does not match
 * .git either; a pattern with a dot is the caller's explicit decision.
 */
static bool
plants_head(const struct export *h, const char *name)
{
	return !strcmp(name, "HEAD") && h->path[0] != '.' &&
	       !strstr(h->path, "/.") && !any_pattern(h, names_head);
}

static int
visit_file(struct export *h, const char *name, struct link *client,
	   struct remit_error *err)
{
	const struct policy *p = h->plan->policy;
	own_fd int fd = -1;
	struct stat st;
	uint64_t size;

	if (!plain_name(name))
		return export_skip(h, SKIP_NAME, err);
	if (plants_head(h, name))
		return export_skip(h, SKIP_HEAD, err);
	if (has_caps(h) && h->count >= p->artifact_files)
		return export_skip(h, SKIP_FILES, err);
	if (is_mount(h))
		return export_skip(h, SKIP_MOUNT, err);
	fd = open_here(h, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return export_skip(
			h, errno == ELOOP ? SKIP_LINK : SKIP_UNREADABLE, err);
	if (!S_ISREG(st.st_mode))
		return export_skip(h, SKIP_SPECIAL, err);
	if (st.st_nlink != 1)
		return export_skip(h, SKIP_LINKS, err);
	size = (uint64_t)st.st_size;
	if (has_caps(h) && size > p->artifact_file_bytes)
		return export_skip(h, SKIP_FILE_BYTES, err);
	if (has_caps(h) && size > p->artifact_bytes - h->total_bytes)
		return export_skip(h, SKIP_BYTES, err);
	return begin_file(h, &fd, size, client, err);
}

static int
send_piece(struct export *h, struct link *client, struct remit_error *err)
{
	char piece[FRAME_PIECE];
	size_t want = h->left_bytes < sizeof(piece) ? (size_t)h->left_bytes
						    : sizeof(piece);
	ssize_t n = read(h->file, piece, want);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		close_file(h);
		return export_skip(h, SKIP_UNREADABLE, err);
	}
	h->left_bytes -= (uint64_t)n;
	if (!h->left_bytes)
		close_file(h);
	return link_send(client, FRAME_ARTIFACT_DATA, piece, (size_t)n, err);
}

/* ---- the walk ---- */

/* Appends a name to the path of its directory. */
static int
set_path(struct export *h, const char *name)
{
	size_t at = h->directories[h->depth - 1].path_len;
	int n = snprintf(h->path + at, sizeof(h->path) - at, "%s%s",
			 at ? "/" : "", name);

	return (size_t)n < sizeof(h->path) - at ? 0 : -1;
}

static int
visit_entry(struct export *h, const struct dirent *e, struct link *client,
	    struct remit_error *err)
{
	if (beneath_is_dots(e->d_name))
		return 0;
	if (set_path(h, e->d_name) < 0)
		return export_skip(h, SKIP_LONG, err);
	if (e->d_type == DT_DIR)
		return visit_directory(h, e->d_name, err);
	if (!any_pattern(h, glob_matches))
		return 0;
	if (e->d_type == DT_LNK && !follows_links(h))
		return export_skip(h, SKIP_LINK, err);
	if (e->d_type != DT_REG && e->d_type != DT_LNK)
		return export_skip(h, SKIP_SPECIAL, err);
	return visit_file(h, e->d_name, client, err);
}

int
export_step(struct export *h, struct link *client, struct remit_error *err)
{
	const struct dirent *e;

	if (h->over)
		return 0;
	if (h->file >= 0)
		return send_piece(h, client, err);
	e = readdir(h->directories[h->depth - 1].dir);
	if (e)
		return visit_entry(h, e, client, err);
	pop_directory(h);
	return 0;
}

int
export_stop(struct export *h, struct remit_error *err)
{
	if (h->over)
		return 0;
	close_file(h);
	h->over = true;
	return export_skip(h, SKIP_TIME, err);
}

int
export_open(struct export *h, const struct plan *plan, int workspace,
	    struct remit_error *err)
{
	const struct list *l = &plan->policy->artifact_export_paths;
	own_fd int fd = workspace;
	char pattern[PATH_RULE_SIZE];

	h->plan = plan;
	for (size_t i = 0; i < l->count; i++)
		if (path_rule_workspace(plan->policy, l->items[i], pattern,
					"artifact_export_paths", err) < 0)
			return -1;
		else if (list_add(&h->patterns, pattern) < 0)
			return fail_memory(err, "artifacts");
	if (push_directory(h, take_fd(&fd), err) < 0)
		return -1;
	h->over = h->depth == 0;
	return 0;
}

void
export_free(struct export *h)
{
	while (h->depth)
		pop_directory(h);
	close_file(h);
	list_free(&h->patterns);
	buf_free(&h->skipped);
	buf_free(&h->given);
}
