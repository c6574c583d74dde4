/*
 * probe_cache: what was learned about the host, kept as long as nothing it
 * depends on has changed. A wrong entry cannot open the jail: every step must
 * still succeed in every run.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/digest.h"
#include "base/file/path.h"
#include "base/proc.h"
#include "jail/attest.h"
#include "jail/cgroup/home.h"
#include "jail/probe/probe.h"
#include "policy/mechanism.h"

#define CACHE_AGE_S (7 * 24 * 3600)

static void
hash_text_file(struct hash *h, const char *path)
{
	own_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	hash_text(h, text);
}

/* The filters and capabilities that were imposed on this process. */
static void
hash_status(struct hash *h)
{
	static const char *const keys[] = { "CapBnd", "CapEff", "NoNewPrivs",
					    "Seccomp", "Seccomp_filters" };
	char status[PROC_STATUS_SIZE];

	if (proc_status(getpid(), status) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *at = proc_status_line(status, keys[i]);
		char value[32] = "";

		if (at)
			snprintf(value, sizeof(value), "%.*s",
				 (int)strcspn(at, "\n"), at);
		hash_text(h, value);
	}
}

static void
hash_identity(struct hash *h, const char *path, bool changes)
{
	struct stat st = { 0 };

	if (stat(path, &st) < 0)
		return;
	hash_number(h, (uint64_t)st.st_ino);
	hash_number(h, (uint64_t)st.st_dev);
	/* The times of a namespace change when it is looked up. */
	if (changes) {
		hash_number(h, (uint64_t)st.st_mtim.tv_sec);
		hash_number(h, (uint64_t)st.st_mtim.tv_nsec);
	}
}

/* Only the number of inherited filters can be seen, not their content. Try what
   they are most likely to forbid. */
static bool
can_make_user_namespace(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0);
	return pid > 0 && proc_wait(pid, &status) == 0 && status == 0;
}

/* Moves this process to a leaf cgroup (cgroup_leaf_enter()). Returns the name
   of the cache file for what this process can enforce there: a new string, or
   NULL if there is no cache. */
static char *
host_cache_file(enum cgroup_leaf *leaf)
{
	own_mem char *cache = NULL;
	struct hash h = HASH_INIT;
	struct utsname u = { 0 };
	struct remit_error err;
	char *file;

	uname(&u);
	hash_text(&h, u.release);
	hash_text_file(&h, "/proc/sys/kernel/random/boot_id");
	/* Read this before cgroup_leaf_enter() moves the process to a leaf,
	   whose name is different each time. */
	hash_text_file(&h, "/proc/self/cgroup");
	*leaf = cgroup_leaf_enter();
	hash_number(&h, *leaf);
	hash_text_file(&h, "/proc/self/attr/current");
	hash_status(&h);
	hash_number(&h, geteuid());
	if (attest_own_filters())
		hash_number(&h, can_make_user_namespace());
	hash_identity(&h, "/proc/self/exe", true);
	hash_identity(&h, "/proc/self/ns/user", false);
	hash_identity(&h, "/proc/self/ns/mnt", false);
	if (path_cache_dir(&cache, &err) < 0 ||
	    asprintf(&file, "%s/host-%016llx.json", cache,
		     (unsigned long long)h.value) < 0)
		return NULL;
	return file;
}

/* Remove the cached answers of earlier boots and of other builds. */
static void
remove_old_answers(const char *file)
{
	char directory[PATH_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(directory, sizeof(directory), "%s", file);
	*strrchr(directory, '/') = '\0';
	d = opendir(directory);
	while (d && (e = readdir(d))) {
		struct stat st;

		if (!strncmp(e->d_name, "host-", 5) &&
		    fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
		    st.st_mtime < time(NULL) - CACHE_AGE_S)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

static int
read_cached_host(struct host *out, const char *file)
{
	own(buf) struct buf text = BUF_INIT(64 * 1024);
	struct remit_error err;
	json_t *doc;
	int failed;

	if (access(file, R_OK) < 0 || path_read_file(&text, file, &err) < 0)
		return -1;
	doc = json_loadb(buf_text(&text), text.len, 0, NULL);
	failed = doc ? host_from_json(out, doc, &err) : -1;
	json_decref(doc);
	return failed;
}

/* Best effort: if the cache cannot be written, the next start probes again. */
static void
write_cached_host(const struct host *h, const char *file)
{
	json_t *doc = host_to_json(h);
	own_mem char *text = doc ? json_dumps(doc, JSON_INDENT(1)) : NULL;
	struct remit_error err;

	json_decref(doc);
	remove_old_answers(file);
	if (text && path_write_file(file, text, strlen(text), &err) < 0)
		errno = 0;
}

/*
 * Mechanisms that a test build leaves out, to prove that each test can fail. A
 * release build cannot do this: there the function is empty.
 */
#ifdef REMIT_HOLES

/* Example: REMIT_HOLES="landlock,seccomp", with the names of
   policy/mechanism.c. */
static void
apply_holes(struct host *h)
{
	const char *text = getenv("REMIT_HOLES");
	char names[512], *save = NULL;

	snprintf(names, sizeof(names), "%s", text ? text : "");
	for (char *name = strtok_r(names, ",", &save); name;
	     name = strtok_r(NULL, ",", &save)) {
		int m = mechanism_find(name);

		if (m >= 0)
			h->left_out |= UINT64_C(1) << m;
	}
}

#else

static void
apply_holes(struct host *h)
{
	(void)h;
}

#endif

int
probe_host_cached(struct host *out, const char *runtime_dir,
		  struct remit_error *err)
{
	enum cgroup_leaf leaf;
	own_mem char *file = host_cache_file(&leaf);

	if (!file || read_cached_host(out, file) < 0) {
		if (probe_host(out, runtime_dir, err) < 0)
			return -1;
		if (file)
			write_cached_host(out, file);
	}
	out->scope_is_late = leaf == CGROUP_LEAF_LATE;
	apply_holes(out);
	return 0;
}
