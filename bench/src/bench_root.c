#include "bench_root.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/path.h"

/* Two blocks of zeros end a tar file, and tar writes them in tens. */
#define EMPTY_TAR_BYTES 10240

/* System paths that the interpreter needs besides its own directories. On
   Debian, BLAS is a link into /etc/alternatives. */
static const char *const system_paths[] = {
	"/usr",
	"/bin",
	"/lib",
	"/lib64",
	"/etc/alternatives",
	"/etc/ld.so.cache",
};

static bool
is_inside(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (!path[n] || path[n] == '/');
}

static bool
is_seen(const struct bench_root *r, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(system_paths); i++)
		if (is_inside(path, system_paths[i]))
			return true;
	for (size_t i = 0; i < r->binds.count; i++)
		if (is_inside(path, r->binds.items[i]))
			return true;
	return is_inside(path, "/etc");
}

static int
list_path(struct bench_root *r, const char *path)
{
	return is_seen(r, path) ? 0 : list_add(&r->binds, path);
}

static int
list_paths(struct bench_root *r, const struct interpreter *python)
{
	for (size_t i = 0; i < ARRAY_LEN(system_paths); i++) {
		const char *path = system_paths[i];
		struct stat st;

		if (lstat(path, &st) == 0 &&
		    list_add(S_ISLNK(st.st_mode) ? &r->links : &r->binds,
			     path) < 0)
			return -1;
	}
	if (list_path(r, python->prefix) < 0)
		return -1;
	for (size_t i = 0; i < python->mounts.count; i++)
		if (list_path(r, python->mounts.items[i]) < 0)
			return -1;
	return 0;
}

static int
make_links(const struct bench_root *r, struct remit_error *err)
{
	char path[PATH_MAX], target[PATH_MAX];

	if (mkdir(r->path, 0755) < 0)
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", r->path);
	for (size_t i = 0; i < r->links.count; i++) {
		ssize_t n =
			readlink(r->links.items[i], target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		snprintf(path, sizeof(path), "%s%s", r->path,
			 r->links.items[i]);
		if (symlink(target, path) < 0)
			return fail_sys(err, REMIT_E_KERNEL, "symlink %s",
					path);
	}
	return 0;
}

int
bench_root_make(struct bench_root *r, const char *directory,
		const struct interpreter *python, struct remit_error *err)
{
	static const char zeros[EMPTY_TAR_BYTES];

	snprintf(r->path, sizeof(r->path), "%s/root", directory);
	snprintf(r->empty_tar, sizeof(r->empty_tar), "%s/empty.tar", directory);
	if (list_paths(r, python) < 0)
		return fail_memory(err, "paths");
	if (make_links(r, err) < 0)
		return -1;
	return path_write_file(r->empty_tar, zeros, sizeof(zeros), err);
}

void
bench_root_free(struct bench_root *r)
{
	list_free(&r->binds);
	list_free(&r->links);
}

static json_t *
mounts_json(const struct bench_root *r)
{
	json_t *mounts = json_pack(
		"[{s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}]",
		"destination", "/proc", "type", "proc", "source", "proc",
		"destination", "/dev", "type", "tmpfs", "source", "tmpfs",
		"destination", "/tmp", "type", "tmpfs", "source", "tmpfs");

	for (size_t i = 0; i < r->binds.count; i++)
		json_array_append_new(
			mounts, json_pack("{s:s, s:s, s:s, s:[s, s]}",
					  "destination", r->binds.items[i],
					  "source", r->binds.items[i], "type",
					  "bind", "options", "rbind", "ro"));
	return mounts;
}

/* Without root, map the user, as rootless containers do. */
static json_t *
linux_json(void)
{
	json_t *doc =
		json_pack("{s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]}",
			  "namespaces", "type", "pid", "type", "mount", "type",
			  "ipc", "type", "uts", "type", "network");

	if (geteuid() == 0)
		return doc;
	json_array_append_new(json_object_get(doc, "namespaces"),
			      json_pack("{s:s}", "type", "user"));
	json_object_set_new(doc, "uidMappings",
			    json_pack("[{s:i, s:I, s:i}]", "containerID", 0,
				      "hostID", (json_int_t)geteuid(), "size",
				      1));
	json_object_set_new(doc, "gidMappings",
			    json_pack("[{s:i, s:I, s:i}]", "containerID", 0,
				      "hostID", (json_int_t)getegid(), "size",
				      1));
	return doc;
}

int
bench_root_bundle(const struct bench_root *r, const char *directory,
		  const char *python, const char *code, char **out,
		  struct remit_error *err)
{
	own_mem char *text = NULL, *bundle = NULL;
	char path[PATH_MAX];
	json_t *doc = json_pack(
		"{s:s, s:{s:b, s:b, s:{s:i, s:i}, s:[s, s, s, s], s:[s], s:s},"
		" s:{s:s, s:b}, s:o, s:o}",
		"ociVersion", "1.0.0", "process", "terminal", 0,
		"noNewPrivileges", 1, "user", "uid", 0, "gid", 0, "args",
		python, "-I", "-c", code, "env", "PATH=/usr/bin:/bin", "cwd",
		"/", "root", "path", r->path, "readonly", 1, "mounts",
		mounts_json(r), "linux", linux_json());

	text = doc ? json_dumps(doc, 0) : NULL;
	json_decref(doc);
	if (!text || asprintf(&bundle, "%s/bundle-XXXXXX", directory) < 0)
		return fail_memory(err, "config.json");
	if (!mkdtemp(bundle))
		return fail_sys(err, REMIT_E_KERNEL, "mkdir %s", bundle);
	snprintf(path, sizeof(path), "%s/config.json", bundle);
	if (path_write_file(path, text, strlen(text), err) < 0)
		return -1;
	*out = take_ptr(&bundle);
	return 0;
}
